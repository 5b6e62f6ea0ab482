import type { McpAgentResource } from "../definitions/agent-definition.js";
import { parseServer } from "../definitions/parse-server.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import { type DefinitionIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { AgentToolsOptions } from "./agent-tools-options.js";

type Found = { readonly definition: ServerDefinition } | { readonly issue: DefinitionIssue };

/** What an agent file may name when only addresses are allowed: nothing that runs here. */
const REMOTE_KINDS: ReadonlySet<string> = new Set(["http", "sse", "websocket"]);

/** The server of a resource: the operator's word first, the file's own where that is allowed. */
export function serverOfResource(resource: McpAgentResource, options: AgentToolsOptions): Found {
  const { servers } = options;
  if (typeof servers === "function") return { definition: { resolve: async () => servers(resource) } };
  for (const key of [resource.slug, resource.name]) {
    const definition = servers !== undefined && Object.hasOwn(servers, key) ? servers[key] : undefined;
    if (definition !== undefined) return { definition };
  }
  if (resource.server !== undefined)
    return inlineServer(resource, resource.server, options.allowInlineServers ?? false);
  const ways = `servers: { ${JSON.stringify(resource.slug)}: { url } }, or servers: (resource) => …`;
  return { issue: { path: pathOf(resource), message: `nothing says where its server is: give ${ways}` } };
}

function inlineServer(resource: McpAgentResource, server: object, allowed: "remote" | boolean): Found {
  const path = `${pathOf(resource)}.server`;
  if (allowed === false) {
    const message =
      'a server in an agent definition is not used unless allowInlineServers is "remote" or true';
    return { issue: { path, message } };
  }
  const definition = server as ServerDefinition;
  try {
    const { address } = parseServer(resource.name, definition);
    if (allowed === true || REMOTE_KINDS.has(address.kind)) return { definition };
    return {
      issue: {
        path,
        message: `is of kind ${address.kind}; allowInlineServers: "remote" allows addresses only`,
      },
    };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    const problems = error.issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ");
    return { issue: { path, message: problems } };
  }
}

function pathOf({ name }: McpAgentResource): string {
  return `resource ${JSON.stringify(name)}`;
}
