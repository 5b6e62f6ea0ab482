import type { McpAgentResource } from "../config/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { parseServer } from "../config/parse-server.js";
import type { AddressedServerDefinition, ServerDefinition } from "../config/server-definition.js";
import { type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { AgentToolsOptions, ServerLookup } from "./agent-tools-options.js";

type Found = { readonly definition: ServerDefinition } | { readonly issue: ConfigIssue };

/** What an agent file may name when only addresses are allowed: nothing that runs here. */
const REMOTE_KINDS: ReadonlySet<string> = new Set(["http", "sse", "websocket"]);

/** The server of a resource: the operator's word first, the file's own where that is allowed. */
export function serverOfResource(resource: McpAgentResource, options: AgentToolsOptions): Found {
  const { servers } = options;
  if (typeof servers === "function")
    return {
      definition: { resolve: (context) => lookUp(resource, () => servers(resource, context), options) },
    };
  for (const key of [resource.slug, resource.name]) {
    const definition = servers !== undefined && Object.hasOwn(servers, key) ? servers[key] : undefined;
    if (definition !== undefined) return { definition };
  }
  if (resource.server !== undefined)
    return inlineServer(resource, resource.server, options.allowInlineServers ?? false);
  const ways = `servers: { ${JSON.stringify(resource.slug)}: { url } }, or servers: (resource) => …`;
  return { issue: { path: pathOf(resource), message: `nothing says where its server is: give ${ways}` } };
}

/** A lookup that knows nothing of a resource leaves it to the file, where that is allowed. */
async function lookUp(
  resource: McpAgentResource,
  ask: () => ReturnType<ServerLookup>,
  options: AgentToolsOptions,
): Promise<AddressedServerDefinition> {
  const found: AddressedServerDefinition | undefined = await ask();
  if (found !== undefined) return found;
  const other = serverOfResource(resource, { ...options, servers: {} });
  if ("issue" in other) throw configError("The agent definition", [other.issue]);
  return other.definition as AddressedServerDefinition;
}

/** What a file may say of a server: where it is. How it is treated is the operator's to say. */
const INLINE_KEYS: ReadonlySet<string> = new Set(
  "type transport url headers command args env cwd encoding functionName qualifier region endpoint".split(
    " ",
  ),
);

function inlineServer(resource: McpAgentResource, server: object, allowed: "remote" | boolean): Found {
  const path = `${pathOf(resource)}.server`;
  if (allowed === false) {
    const message =
      'a server in an agent definition is not used unless allowInlineServers is "remote" or true';
    return { issue: { path, message } };
  }
  const surplus = Object.keys(server).filter((key) => !INLINE_KEYS.has(key));
  if (surplus.length > 0) {
    const message = `${surplus.join(", ")} cannot stand in an agent definition; allowed are ${[...INLINE_KEYS].join(", ")}`;
    return { issue: { path, message } };
  }
  const definition = server as ServerDefinition;
  try {
    const { address } = parseServer(resource.name, definition);
    if (allowed === true || REMOTE_KINDS.has(address.kind)) return { definition };
    const message = `is of kind ${address.kind}; allowInlineServers: "remote" allows addresses only`;
    return { issue: { path, message } };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
    return { issue: { path, message: problems } };
  }
}

function pathOf({ name }: McpAgentResource): string {
  return `resource ${JSON.stringify(name)}`;
}
