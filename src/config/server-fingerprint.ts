import { createHash } from "node:crypto";
import { collectSecrets } from "./collect-secrets.js";
import type { ServerConfig } from "./server-config.js";
import { redactUrl } from "../errors/redaction.js";
import { isAuthGrant, type ParsedGrant } from "./auth-grant.js";
import type { JsonObject } from "../json/json.js";

/**
 * Distinguishes servers with the same name: by address and, because these may change which tools a server
 * offers, by credentials, query and environment. A hash, so that no secret can be read from it.
 */
export function serverFingerprint(config: ServerConfig): string {
  const { address } = config;
  const environment = address.kind === "stdio" ? Object.entries(address.env) : [];
  const variables = environment.map((entry) => entry.join("=")).toSorted();
  const parts = [redactedAddress(config), collectSecrets(address, undefined), variables];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/**
 * The address of a server without secrets. Distinguishes servers with the same name, and stays the same
 * when a token changes.
 */
export function redactedAddress({ address }: ServerConfig): JsonObject {
  const { kind } = address;
  switch (kind) {
    case "http":
    case "sse":
    case "websocket":
      return {
        kind,
        url: redactUrl(address.url),
        headers: Object.keys(address.headers).toSorted(),
        ...(isAuthGrant(address.auth) ? { auth: redactedGrant(address.auth) } : {}),
      };
    case "stdio": {
      const { command, args, cwd, env } = address;
      return { kind, command, args, cwd, env: Object.keys(env).toSorted() };
    }
    case "lambda": {
      const { functionName, qualifier, region, endpoint } = address;
      return { kind, functionName, qualifier, region, endpoint: redactUrl(endpoint ?? "") };
    }
    case "custom":
    case "in-process":
    case "dynamic":
      return { kind };
  }
}

/** The client and scope are included because they may change which tools a server offers. */
function redactedGrant({ grant, issuer, clientId, scope }: ParsedGrant): JsonObject {
  return { grant, issuer: redactUrl(issuer), clientId, scope };
}
