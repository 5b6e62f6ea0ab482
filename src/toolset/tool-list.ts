import { schemaHash } from "../json-schema/schema-hash.js";
import type { CallerContext } from "../client/call-options.js";
import { mapConcurrent } from "../async/semaphore.js";
import type { McpToolInfo } from "../config/list-items.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ManagedServer } from "../manager/managed-server.js";
import type { ServerSet } from "../manager/server-set.js";
import {
  type CreateToolsOptions,
  createTools,
  type ServerTools,
  warnUnmatchedRules,
} from "../tools/create-tools.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { describeValue } from "../json/describe-value.js";
import type { ToolsetCall } from "./mcp-toolset.js";
import { withResourceTools } from "./resource-tools.js";
import type { McpClient } from "../client/mcp-client.js";
import { RuleSet } from "../tools/tool-policy.js";

export type ServerToolsInput = Pick<ServerTools, "tools" | "metadata" | "refreshSchemaBeforeCall">;

/** All tools that a server lists. */
export function toListedTools(
  server: string,
  listed: readonly McpToolInfo[] | undefined,
): ServerToolsInput | undefined {
  if (listed === undefined) return undefined;
  const metadata = { slug: server, folder_path: undefined };
  return { tools: listed.map((info) => ({ info })), metadata, refreshSchemaBeforeCall: false };
}

interface ToolListDependencies {
  readonly servers: ServerSet;
  readonly create: CreateToolsOptions;
  /** Selects the tools of a server. Returns `undefined` if it must be listed first. */
  readonly toServerTools: (
    server: string,
    listed: readonly McpToolInfo[] | undefined,
  ) => ServerToolsInput | undefined;
  /** Whether servers with resources get tools to list and read them. */
  readonly resourceTools: boolean;
}

/**
 * The current tools of all servers. Rebuilt when a server connects late, changes its tools or is removed; an
 * unchanged tool stays the same object.
 */
export class ToolList {
  readonly #deps: ToolListDependencies;
  readonly #createOptions: CreateToolsOptions;
  readonly #listeners = new Set<(event: { readonly server: string }) => void>();
  /** The last known capability of each server, for the time when it has no session. */
  readonly #resourceSupport = new WeakMap<ManagedServer, boolean>();
  #all: McpTool[] = [];
  #visible: McpTool[] = [];

  constructor(deps: ToolListDependencies) {
    const logged = new Set<string>();
    const warn = (message: string) => {
      if (logged.has(message)) return;
      logged.add(message);
      deps.create.warn(message);
    };
    this.#deps = deps;
    this.#createOptions = { ...deps.create, warn };
  }

  /** Includes tools that are blocked or whose server is disconnected: calling them fails with a specific error. */
  get all(): readonly McpTool[] {
    return this.#all;
  }

  /** The tools that are offered to models. */
  get visible(): McpTool[] {
    return this.#visible;
  }

  /** Creates the tools and keeps them up to date. Throws if names collide. */
  start(): void {
    const { servers } = this.#deps;
    this.#rebuild();
    servers.events.on("toolsChanged", ({ server }) => this.update(server));
    servers.events.on("serverChanged", ({ server }) => this.update(server));
  }

  /** Finds the tool of a call by the name that models see or, if it is unique, by its name on the server. */
  find(call: ToolsetCall): McpTool {
    if (typeof call?.name !== "string") {
      throw new McpRuntimeError("invalid-config", "Missing tool name. Expected { name, args }.");
    }
    const { name, server } = call;
    if (server !== undefined && typeof server !== "string") {
      const text = `The server of a tool call must be a string, got ${describeValue(server)}.`;
      throw new McpRuntimeError("invalid-config", text, { tool: name });
    }
    const isCandidate = (tool: McpTool) => server === undefined || tool.mcp.server === server;
    const candidates = this.#visible.filter(isCandidate);
    const visibleMatches = findByName(candidates, name);
    const matches =
      visibleMatches.length > 0 ? visibleMatches : findByName(this.#all.filter(isCandidate), name);
    const [tool, another] = matches;
    if (tool === undefined)
      throw createNotFoundError(candidates, call, this.#deps.servers.serversWithoutTools);
    if (another === undefined) return tool;
    const servers = matches.map(({ mcp }) => `"${mcp.server}"`).join(", ");
    const text = `Several servers have a tool "${name}": ${servers}. Specify one: { server, name }.`;
    throw new McpRuntimeError("invalid-config", text, { tool: name });
  }

  onChange(listener: (event: { readonly server: string }) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Rebuilds the list after a change of this server. If that fails, logs it and keeps the current tools. */
  update(server: string): void {
    const { servers, create } = this.#deps;
    if (servers.closed.isCancelled) return;
    const before = this.#visible;
    try {
      this.#rebuild();
    } catch (error) {
      create.warn(
        `Could not update the tools of server "${server}"; the previous ones stay in use: ${String(error)}`,
      );
    }
    const isUnchanged =
      before.length === this.#visible.length && before.every((tool, index) => tool === this.#visible[index]);
    if (isUnchanged) this.#visible = before;
    else for (const listener of this.#listeners) listener({ server });
  }

  /** Lists the tools that the servers offer to a caller. */
  async listForCaller(context: CallerContext): Promise<McpTool[]> {
    const { servers } = this.#deps;
    const serverTools = await mapConcurrent(servers.enabled, servers.settings.concurrency, async (server) => {
      const listed = server.listsTools ? await this.#listServer(server, context) : undefined;
      return this.#toServerTools(server, listed);
    });
    return filterVisible(createTools(serverTools.flat(), this.#createOptions), servers);
  }

  async #listServer(server: ManagedServer, context: CallerContext): Promise<readonly McpToolInfo[]> {
    try {
      return await server.catalog.list({ context });
    } catch (error) {
      const isTolerated =
        server.isOptional && error instanceof McpRuntimeError && error.kind !== "invalid-config";
      if (!isTolerated) throw error;
      this.#createOptions.warn(`Optional server "${server.name}" is excluded: ${error.message}`);
      return [];
    }
  }

  #rebuild(): void {
    const { servers } = this.#deps;
    const serverTools = servers.all.flatMap((server) => this.#toServerTools(server, server.latestTools));
    const existing = new Map(this.#all.map((tool) => [tool.name, tool]));
    this.#all = createTools(serverTools, this.#createOptions).map((tool) => {
      const before = existing.get(tool.name);
      return before !== undefined && isSame(before, tool) ? before : tool;
    });
    this.#visible = filterVisible(this.#all, servers);
    const isPending = serverTools.length < servers.all.length;
    warnUnmatchedRules(
      serverTools,
      isPending ? { ...this.#createOptions, rules: undefined } : this.#createOptions,
    );
  }

  #toServerTools(server: ManagedServer, listed: readonly McpToolInfo[] | undefined): ServerTools[] {
    const input = this.#deps.toServerTools(server.name, listed);
    const { client, catalog } = server;
    if (input === undefined) return [];
    const serverTools = withServerRules({ ...input, client, lookup: catalog, caller: server });
    if (!this.#deps.resourceTools || !this.#hasResources(server)) return [serverTools];
    return [withResourceTools(serverTools, client, () => server.assertEnabled())];
  }

  #hasResources(server: ManagedServer): boolean {
    const { capabilities } = server.client;
    if (capabilities !== undefined)
      this.#resourceSupport.set(server, capabilities["resources"] !== undefined);
    return this.#resourceSupport.get(server) ?? false;
  }
}

function findByName(tools: readonly McpTool[], name: string): McpTool[] {
  const matches = tools.filter((tool) => tool.name === name);
  return matches.length > 0 ? matches : tools.filter(({ mcp }) => mcp.name === name);
}

const MAX_NAMES = 20;

function createNotFoundError(
  candidates: readonly McpTool[],
  { name, server }: ToolsetCall,
  serversWithoutTools: readonly string[],
): McpRuntimeError {
  const names = candidates
    .slice(0, MAX_NAMES)
    .map((tool) => tool.name)
    .join(", ");
  const rest = candidates.length > MAX_NAMES ? `, and ${candidates.length - MAX_NAMES} more` : "";
  const where = server === undefined ? "This toolset" : `Server "${server}"`;
  const available = candidates.length === 0 ? "none" : `${names}${rest}`;
  const pending =
    serversWithoutTools.length === 0 ? "" : ` Not listed yet: ${serversWithoutTools.join(", ")}.`;
  const text = `${where} has no tool "${name}"; available tools: ${available}.${pending}`;
  return new McpRuntimeError("not-found", text, { server, tool: name });
}

function filterVisible(tools: readonly McpTool[], { enabled }: ServerSet): McpTool[] {
  const servers = new Map(enabled.map((server) => [server.name, server]));
  return tools.filter(({ mcp }) => {
    const server = servers.get(mcp.server);
    return server !== undefined && server.pins?.isBlocked(mcp.name) !== true;
  });
}

function isSame(before: McpTool, after: McpTool): boolean {
  if (before.description !== after.description) return false;
  const details = Object.keys(after.mcp) as (keyof McpTool["mcp"])[];
  return details.every((key) => {
    // Derived from the schema, which is compared.
    if (key === "schemaHash") return true;
    const [previous, current] = [before.mcp[key], after.mcp[key]];
    return previous === current || schemaHash(previous) === schemaHash(current);
  });
}

interface ServerRulesInput extends Omit<ServerTools, "server" | "rules" | "trustAnnotations"> {
  readonly client: McpClient;
}

/** Adds the tool rules of the server's definition. The only place where they are applied. */
export function withServerRules({ client, ...input }: ServerRulesInput): ServerTools {
  const { tools: rules, trustAnnotations } = client.toolPolicy;
  return { ...input, server: client.name, rules: new RuleSet(rules), trustAnnotations };
}
