import type { McpAgentResource } from "../config/agent/agent-definition.js";
import { configError } from "../errors/config-error.js";
import { parseServer, withServerSettings } from "../config/parse-server.js";
import type { ServerConfig } from "../config/server-config.js";
import type {
  AddressedServerDefinition,
  ResolveContext,
  ServerDefinition,
} from "../config/server-definition.js";
import { type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ServerLookup } from "./toolset-options.js";

type ResolvedServer = { readonly config: ServerConfig } | { readonly issue: ConfigIssue };

interface ServerSource {
  /** The parsed option `servers`, or the lookup function. */
  readonly servers: Readonly<Record<string, ServerConfig>> | ServerLookup | undefined;
  readonly allowInlineServers: "remote" | boolean;
}

/** Transports that `allowInlineServers: "remote"` allows: none that runs a local command. */
const REMOTE_TRANSPORTS: ReadonlySet<string> = new Set(["http", "sse", "websocket"]);

/** Finds the server of a resource: option `servers` first, then the agent definition itself, if allowed. */
export function resolveResourceServer(
  resource: McpAgentResource,
  { servers, allowInlineServers }: ServerSource,
): ResolvedServer {
  const { name, slug } = resource;
  if (typeof servers === "function") {
    const resolve = (context: ResolveContext) =>
      runLookup(resource, () => servers(resource, context), allowInlineServers);
    return { config: parseServer(name, { resolve }) };
  }
  for (const key of [slug, name]) {
    const config = servers !== undefined && Object.hasOwn(servers, key) ? servers[key] : undefined;
    if (config !== undefined) return { config: withServerSettings(config, { name }) };
  }
  if (resource.server !== undefined)
    return resolveInlineServer(resource, resource.server, allowInlineServers);
  const hint = `servers: { ${JSON.stringify(resource.slug)}: { url } }, or servers: (resource) => …`;
  return { issue: { path: pathOf(resource), message: `no server is configured for it. Add ${hint}` } };
}

/** A lookup that returns `undefined` falls back to the agent definition, if allowed. */
async function runLookup(
  resource: McpAgentResource,
  lookup: () => ReturnType<ServerLookup>,
  allowInlineServers: "remote" | boolean,
): Promise<AddressedServerDefinition> {
  const definition: AddressedServerDefinition | undefined = await lookup();
  if (definition !== undefined) return definition;
  const fallback = resolveResourceServer(resource, { servers: {}, allowInlineServers });
  if ("issue" in fallback) throw configError("The agent definition", [fallback.issue]);
  // Checked above; the dynamic server parses it together with its own defaults.
  return resource.server as unknown as AddressedServerDefinition;
}

/** Options that an agent definition may set: the address. Policies are set in option `servers`. */
const INLINE_KEYS: ReadonlySet<string> = new Set(
  "type transport url headers command args env cwd encoding functionName qualifier region endpoint".split(
    " ",
  ),
);

function resolveInlineServer(
  resource: McpAgentResource,
  server: object,
  allowed: "remote" | boolean,
): ResolvedServer {
  const path = `${pathOf(resource)}.server`;
  if (allowed === false) {
    const message =
      'servers in an agent definition are not allowed unless allowInlineServers is "remote" or true';
    return { issue: { path, message } };
  }
  const unknownKeys = Object.keys(server).filter((key) => !INLINE_KEYS.has(key));
  if (unknownKeys.length > 0) {
    const message = `${unknownKeys.join(", ")} cannot be set in an agent definition; allowed: ${[...INLINE_KEYS].join(", ")}`;
    return { issue: { path, message } };
  }
  try {
    const config = parseServer(resource.name, server as ServerDefinition);
    const { kind } = config.address;
    if (allowed === true || REMOTE_TRANSPORTS.has(kind)) return { config };
    const message = `has transport ${kind}; allowInlineServers: "remote" allows remote servers only`;
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
