import type { CatalogueWitness } from "../catalogue/catalogue-events.js";
import { McpClient } from "../client/mcp-client.js";
import type { Cancellation } from "../concurrency/cancellation.js";
import { parseServer } from "../definitions/parse-server.js";
import { publicAddress } from "../definitions/public-address.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import type { ServerKind } from "../definitions/server-spec.js";
import { ManagedServer } from "./managed-server.js";
import type { ManagedServerParts } from "./managed-server-parts.js";
import type { ManagerSettings } from "./manager-options.js";
import { createMember } from "./member.js";

/** Kinds that live in or under this process. */
const LOCAL_KINDS: ReadonlySet<ServerKind> = new Set(["stdio", "custom", "in-process"]);

interface Surroundings extends Pick<ManagedServerParts, "onChange" | "onToolsChange"> {
  readonly settings: ManagerSettings;
  readonly closed: Cancellation;
  readonly witness: CatalogueWitness;
}

/** Opens nothing. Throws kind `definition` when the definition is wrong. */
export function createManagedServer(
  name: string,
  definition: ServerDefinition,
  { settings, witness, ...surroundings }: Surroundings,
): ManagedServer {
  const { address, lazy, optional } = parseServer(name, definition);
  const { clock, catalogue, client: clientOptions, isListed } = settings;
  const client = new McpClient({ name, ...definition }, clientOptions);
  const parts = { client, address: publicAddress(name, definition), settings: catalogue, witness };
  return new ManagedServer((hooks) => createMember({ ...parts, ...hooks }), {
    ...surroundings,
    name,
    isLazy: lazy,
    isOptional: optional,
    isRemote: !LOCAL_KINDS.has(address.kind),
    isListed: isListed(name),
    clock,
  });
}
