import type { CatalogueWitness } from "../catalog/catalog-events.js";
import { McpClient } from "../client/mcp-client.js";
import type { CancelScope } from "../async/cancel-scope.js";
import { parseServer } from "../config/parse-server.js";
import { publicAddress } from "../config/redacted-address.js";
import type { ServerDefinition } from "../config/server-definition.js";
import type { ServerKind } from "../config/server-config.js";
import { ManagedServer } from "./managed-server.js";
import type { ManagedServerParts } from "./managed-server-dependencies.js";
import type { ManagerSettings } from "./manager-options.js";
import { createMember } from "./server-internals.js";

/** Kinds that live in or under this process. */
const LOCAL_KINDS: ReadonlySet<ServerKind> = new Set(["stdio", "custom", "in-process"]);

interface Surroundings extends Pick<ManagedServerParts, "onChange" | "onToolsChange"> {
  readonly settings: ManagerSettings;
  readonly closed: CancelScope;
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
