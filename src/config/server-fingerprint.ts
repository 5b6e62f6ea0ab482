import { createHash } from "node:crypto";
import { parseServer } from "./parse-server.js";
import { publicAddress } from "./redacted-address.js";
import { secretsOf } from "./collect-secrets.js";
import type { ServerDefinition } from "./server-definition.js";

/**
 * Tells servers of one name apart: by where they are and, since what they offer may differ, by
 * credentials, query and environment. Nothing of it can be read back.
 */
export function definitionHash(name: string, definition: ServerDefinition): string {
  const { address } = parseServer(name, definition);
  const environment = address.kind === "stdio" ? Object.entries(address.env) : [];
  const variables = environment.map((entry) => entry.join("=")).toSorted();
  const parts = [publicAddress(name, definition), secretsOf(address, undefined), variables];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}
