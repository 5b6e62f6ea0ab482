import { LIST_WARNINGS, WarningLimit } from "../telemetry/warning-limit.js";
import { isDeepEqual } from "../json/json.js";
import type { CallerContext } from "../client/call-options.js";
import { mapConcurrent } from "../async/semaphore.js";
import type { McpToolInfo } from "../config/server-features.js";
import { suggestMatch } from "../errors/find-closest-match.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { joinNames, printValue } from "../errors/sanitize-text.js";
import type { ManagedServer } from "../manager/managed-server.js";
import { unwrapServers } from "../manager/server-errors.js";
import type { ServerSet } from "../manager/server-set.js";
import { TypedEmitter } from "../telemetry/typed-emitter.js";
import {
  type CreatedTools,
  type CreateToolsOptions,
  createTools,
  type ServerTools,
  warnUnmatchedRules,
} from "../tools/create-tools.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { filterTools } from "../tools/tool-filter.js";
import { describeValue } from "../json/describe-value.js";
import { type CallerConfig, toCallerContext, type ToolsetCall } from "./mcp-toolset.js";
import {
  type AddedToolsOptions,
  createAddedTools,
  findAddedTools,
  isAddedTool,
  withAddedTools,
} from "./added-tools.js";
import { attachReader, createReadResultTool } from "./read-result-tool.js";
import { TOOLSET_SERVER } from "../tools/tool-names.js";
import type { McpClient } from "../client/mcp-client.js";
import type { IdentifyCaller } from "../tools/large-results/large-result-store.js";
import { RuleSet } from "../tools/rule-set.js";

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
  readonly create: Omit<CreateToolsOptions, "onApprovalDecided">;
  /** Of the messages of `create`. */
  readonly redactor: Redactor;
  /** Selects the tools of a server. Returns `undefined` if it must be listed first. */
  readonly toServerTools: (
    server: string,
    listed: readonly McpToolInfo[] | undefined,
  ) => ServerToolsInput | undefined;
  /** Whether servers with resources or skills get tools to list and read them. */
  readonly addedTools: AddedToolsOptions;
}

/** A rebuild that took longer is followed by a pause, in which further changes are collected. */
const CHEAP_UPDATE_MS = 2;
/** The pause after a rebuild, relative to its duration: rebuilds take at most a fifth of the time. */
const PAUSE_FACTOR = 4;

/**
 * The current tools of all servers. Rebuilt when a server connects late, changes its tools or is removed; an
 * unchanged tool stays the same object. While many servers change, their changes are collected into one rebuild; otherwise
 * the cost would be quadratic in the number of servers. A read never returns outdated tools.
 */
export class ToolList {
  readonly #deps: ToolListDependencies;
  readonly #createOptions: CreateToolsOptions;
  readonly #changes: TypedEmitter<{ toolsChanged: { readonly server: string } }>;
  /** The tools that belong to no server. First, so that no server can take their names. */
  readonly #ownTools: readonly ServerTools[];
  #all: McpTool[] = [];
  /** Frozen, because all users of the toolset share it. */
  #visible: McpTool[] = freezeArray([]);
  /** The lists that the tools were created from. A list that fails to be used leaves those of other servers as they are. */
  #lists: ServerLists = new Map();
  /** The servers whose current list could not be used. */
  readonly #failed = new Set<string>();
  /** Set while a rules function decides. */
  #updating: Promise<void> | undefined;
  /** The servers that have changed since the last rebuild. */
  readonly #outdated = new Set<string>();
  /** What the tools depend on besides the lists, by server, as of its last rebuild. */
  readonly #conditions = new Map<string, string>();
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #cancelPause: (() => void) | undefined;

  constructor(deps: ToolListDependencies) {
    const { servers, create, redactor } = deps;
    this.#deps = deps;
    redactor.include(servers.settings.redactor);
    this.#changes = new TypedEmitter((error) => create.warn(`An event listener threw: ${printValue(error)}`));
    this.#createOptions = {
      ...create,
      warn: logOnce(create.warn),
      error: logOnce(create.error),
      onApprovalDecided: (event) => servers.events.emit("approvalDecided", event),
    };
    const resultStore = create.settings.largeResults;
    const identify = createIdentify((name) => servers.find(name)?.client);
    this.#ownTools = resultStore
      ? [createReadResultTool(resultStore, { identify, closed: servers.closed })]
      : [];
  }

  /** Includes tools that are blocked or whose server is disconnected: calling them fails with a specific error. */
  get all(): readonly McpTool[] {
    this.#endPause();
    return this.#all;
  }

  /** The tools that are offered to models. */
  get visible(): McpTool[] {
    this.#endPause();
    return this.#visible;
  }

  /** Creates the tools and keeps them up to date. Throws if names collide, with `onCollision: "error"`. */
  async start(): Promise<void> {
    const { servers } = this.#deps;
    const created = this.#create();
    for (const server of servers.all) this.#hasNewCondition(server.name);
    servers.events.on("toolsChanged", ({ server }) => this.#onChanged(server));
    servers.events.on("serverChanged", ({ server }) => {
      if (this.#hasNewCondition(server)) this.#onChanged(server);
    });
    servers.closed.onCancel(() => this.#cancelPause?.());
    if (!(created instanceof Promise)) return this.#replace(created);
    this.#updating = this.#updateUntilCurrent(created.then((tools) => this.#replace(tools)));
    await this.#updating;
  }

  /**
   * Finds the tool of a call by the name that models see or, if it is unique, by its name on the server. Tools that the
   * caller may not see do not count.
   */
  async find(call: ToolsetCall, config: CallerConfig): Promise<McpTool> {
    if (typeof call?.name !== "string") {
      throw new McpRuntimeError(
        "invalid-config",
        "Missing tool name. Expected { name, args } as the first argument.",
      );
    }
    const { name, server } = call;
    if (server !== undefined && typeof server !== "string") {
      const text = `The server of a tool call must be a string, got ${describeValue(server)}.`;
      throw new McpRuntimeError("invalid-config", text, { tool: name });
    }
    const isCandidate = (tool: McpTool) => server === undefined || tool.listed.server === server;
    const isNamed = (tool: McpTool) =>
      isCandidate(tool) && (tool.name === name || tool.listed.info.name === name);
    const findMatches = async (tools: readonly McpTool[]) =>
      findByName(await filterTools(tools.filter(isNamed), config), name);
    const visibleMatches = await findMatches(this.visible);
    const matches = visibleMatches.length > 0 ? visibleMatches : await findMatches(this.all);
    const [tool, another] = matches;
    if (tool === undefined) {
      if (server !== undefined) this.#deps.servers.get(server);
      const candidates = await filterTools(this.visible.filter(isCandidate), config);
      throw this.#createNotFoundError(candidates, call);
    }
    if (another === undefined) return tool;
    const servers = matches.map(({ listed }) => `"${listed.server}"`).join(", ");
    const text = `Several servers have a tool "${name}": ${servers}. Specify one: { server, name }.`;
    throw new McpRuntimeError("invalid-config", text, { tool: name });
  }

  /** Servers choose the names of tools, and may put a secret into one. */
  #createNotFoundError(candidates: readonly McpTool[], { name, server }: ToolsetCall): McpRuntimeError {
    const { serversWithoutTools, settings } = this.#deps.servers;
    const names = candidates.map((tool) => tool.name);
    const where = server === undefined ? "This toolset" : `Server "${server}"`;
    const available = joinNames(names, MAX_NAMES) || "none";
    const pending =
      serversWithoutTools.length === 0 ? "" : ` Not listed yet: ${serversWithoutTools.join(", ")}.`;
    const text = `${where} has no tool "${name}"; available tools: ${available}.${suggestMatch(name, names)}${pending}`;
    return new McpRuntimeError("not-found", settings.redactor.sanitize(text), { server, tool: name });
  }

  onChange(listener: (event: { readonly server: string }) => void): () => void {
    return this.#changes.on("toolsChanged", listener);
  }

  /**
   * Rebuilds the list after a change of this server, at once unless a rules function is asynchronous. If that fails,
   * logs it and keeps the current tools of this server; those of others still follow their changes. Resolves when the
   * list is up to date.
   */
  update(server: string): Promise<void> | undefined {
    if (this.#deps.servers.closed.isCancelled) return undefined;
    this.#outdated.add(server);
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    while (this.#updating === undefined && this.#outdated.size > 0) {
      const created = this.#updateOnce();
      if (created !== undefined) this.#updating = this.#updateUntilCurrent(created);
    }
    return this.#updating;
  }

  /** Rebuilds the list at once, or after a pause if the last rebuild was expensive. */
  #onChanged(server: string): void {
    const { closed, settings } = this.#deps.servers;
    const pauseMs = this.#pausedUntil - settings.clock.now();
    if (pauseMs <= 0) return void this.update(server);
    if (closed.isCancelled) return;
    this.#outdated.add(server);
    this.#cancelPause ??= settings.clock.after(pauseMs, () => this.#endPause(), { unref: true });
  }

  /** Rebuilds the list now if a pause has delayed that. */
  #endPause(): void {
    const [server] = this.#outdated;
    if (this.#cancelPause !== undefined && server !== undefined) void this.update(server);
  }

  /** Whether a change of the state of a server matters: it was disconnected or enabled, or has resources or skills now. */
  #hasNewCondition(name: string): boolean {
    const server = this.#deps.servers.find(name);
    if (server === undefined) return this.#conditions.delete(name);
    const { resources, skills } = findAddedTools(server, this.#deps.addedTools);
    const condition = `${server.isDisconnected} ${resources} ${skills}`;
    if (this.#conditions.get(name) === condition) return false;
    this.#conditions.set(name, condition);
    return true;
  }

  /** One update at a time: what has changed during an update is in the next one. */
  async #updateUntilCurrent(first: Promise<void>): Promise<void> {
    try {
      await first;
      while (this.#outdated.size > 0) await this.#updateOnce();
    } finally {
      this.#updating = undefined;
    }
  }

  /** Updates the tools of all outdated servers. Never throws. Returns a promise only if a rules function does. */
  #updateOnce(): Promise<void> | undefined {
    const { clock } = this.#deps.servers.settings;
    const startedAt = clock.now();
    const servers = new Set(this.#outdated);
    this.#outdated.clear();
    const updating = this.#updateServers(servers);
    const ms = clock.now() - startedAt;
    if (ms > CHEAP_UPDATE_MS) this.#pausedUntil = startedAt + ms + PAUSE_FACTOR * ms;
    return updating;
  }

  #updateServers(servers: ReadonlySet<string>): Promise<void> | undefined {
    try {
      const created = this.#create(servers);
      if (created instanceof Promise)
        return created
          .then((tools) => this.#replaceAndEmit(tools, servers))
          .catch((error: unknown) => this.#onUpdateFailed(servers, error));
      this.#replaceAndEmit(created, servers);
      return undefined;
    } catch (error) {
      return this.#onUpdateFailed(servers, error);
    }
  }

  /** If the tools of several servers cannot be used together, each is updated alone: only the one that fails stays as it is. */
  #onUpdateFailed(servers: ReadonlySet<string>, error: unknown): Promise<void> | undefined {
    const [server = "", ...others] = servers;
    if (others.length > 0) {
      let updating: Promise<void> | undefined;
      for (const name of servers) {
        const update = () => this.#updateServers(new Set([name]));
        updating = updating === undefined ? update() : updating.then(update);
      }
      return updating;
    }
    this.#failed.add(server);
    this.#createOptions.warn(
      `Could not update the tools of server "${server}"; the previous ones stay in use: ${printValue(error)}`,
    );
    return undefined;
  }

  #replaceAndEmit(created: BuiltTools, servers: ReadonlySet<string>): void {
    const before = this.#visible;
    this.#replace(created);
    for (const server of servers) this.#failed.delete(server);
    // With the new tools of these servers, the lists of others may have become usable.
    for (const failed of this.#failed) this.#outdated.add(failed);
    this.#failed.clear();
    const isUnchanged =
      before.length === this.#visible.length && before.every((tool, index) => tool === this.#visible[index]);
    if (isUnchanged) this.#visible = before;
    else
      for (const server of findChanged(servers, before, this.#visible))
        this.#changes.emit("toolsChanged", { server });
  }

  /** Lists the tools that the servers offer to a caller. */
  async listForCaller(config: CallerConfig): Promise<McpTool[]> {
    const { servers } = this.#deps;
    const context = toCallerContext(config);
    const toTools = async (server: ManagedServer) => {
      const mustList = server.listsTools && !server.isDisconnected;
      // The tools of a disconnected server are not offered, but they keep their names.
      const listed = mustList ? await this.#listServer(server, context) : server.latestTools;
      return this.#toServerTools(server, listed);
    };
    const results = await mapConcurrent(servers.all, servers.settings.concurrency, async (server) =>
      Promise.allSettled([toTools(server)]),
    );
    const serverTools = unwrapServers(results.flat());
    const inputs = [...this.#ownTools, ...serverTools.flat()];
    const { tools } = await createTools(inputs, this.#createOptions, this.#serverNames);
    return filterTools(filterVisible(tools, servers), config);
  }

  async #listServer(server: ManagedServer, context: CallerContext): Promise<readonly McpToolInfo[]> {
    try {
      return await server.catalog.list({ context });
    } catch (error) {
      if (!server.tolerates(error)) throw error;
      this.#createOptions.warn(`Optional server "${server.name}" is excluded: ${error.message}`);
      return [];
    }
  }

  get #serverNames(): string[] {
    return this.#deps.servers.all.map(({ name }) => name);
  }

  /** Uses the current lists of all servers, or of those that changed. Returns a promise only if a rules function does. */
  #create(changed?: ReadonlySet<string>): BuiltTools | Promise<BuiltTools> {
    const { servers } = this.#deps;
    const lists: ServerLists = new Map(
      servers.all.map((server) => {
        const isCurrent = changed?.has(server.name) ?? true;
        return [server, isCurrent ? server.latestTools : this.#lists.get(server)];
      }),
    );
    const serverTools = [...lists].flatMap(([server, listed]) => this.#toServerTools(server, listed));
    const details = { lists, isComplete: serverTools.length === lists.size };
    const inputs = [...this.#ownTools, ...serverTools];
    const created = createTools(inputs, this.#createOptions, this.#serverNames);
    return created instanceof Promise
      ? created.then((tools) => ({ ...tools, ...details }))
      : { ...created, ...details };
  }

  #replace(created: BuiltTools): void {
    this.#lists = created.lists;
    for (const { rules, ...state } of created.guards) rules.remember(state);
    const existing = new Map(this.#all.map((tool) => [tool.name, tool]));
    this.#all = created.tools.map((tool) => {
      const before = existing.get(tool.name);
      if (before === undefined || !isSame(before, tool)) return tool;
      before.adoptRule(tool);
      return before;
    });
    this.#visible = freezeArray(filterVisible(this.#all, this.#deps.servers));
    attachReader(this.#all, this.#createOptions);
    const { warn, error } = this.#createOptions;
    warnUnmatchedRules(created, { warn, error, isComplete: created.isComplete });
  }

  #toServerTools(server: ManagedServer, listed: readonly McpToolInfo[] | undefined): ServerTools[] {
    const input = this.#deps.toServerTools(server.name, listed);
    const { client, catalog, skills } = server;
    if (input === undefined) return [];
    const serverTools = withServerRules({ ...input, client, lookup: catalog, caller: server });
    const added = createAddedTools(findAddedTools(server, this.#deps.addedTools), client, skills);
    return [withAddedTools(serverTools, added, () => server.assertEnabled())];
  }
}

/** The list of each server; `undefined` while it has none. */
type ServerLists = ReadonlyMap<ManagedServer, readonly McpToolInfo[] | undefined>;

interface BuiltTools extends CreatedTools {
  readonly lists: ServerLists;
  /** Whether all servers have listed their tools. */
  readonly isComplete: boolean;
}

/** The names of tools come from servers: without a limit, a server could fill the memory. */
const MAX_LOGGED = 1_000;

/** Returns a function that logs each message once. */
function logOnce(log: (message: string) => void): (message: string) => void {
  const logged = new Set<string>();
  return (message) => {
    if (logged.has(message)) return;
    if (logged.size >= MAX_LOGGED) logged.clear();
    logged.add(message);
    log(message);
  };
}

/** Tools of that name on their servers count where no tool has it as the name that models see. */
function findByName(tools: readonly McpTool[], name: string): readonly McpTool[] {
  const matches = tools.filter((tool) => tool.name === name);
  return matches.length > 0 ? matches : tools;
}

const MAX_NAMES = 20;

/** Typed as mutable: LangChain's `bindTools` and `createReactAgent` do not accept a readonly array. */
function freezeArray(tools: McpTool[]): McpTool[] {
  Object.freeze(tools);
  return tools;
}

function filterVisible(tools: readonly McpTool[], { enabled }: ServerSet): McpTool[] {
  const servers = new Map(enabled.map((server) => [server.name, server]));
  return tools.filter(({ listed: { server: name, info } }) => {
    if (name === TOOLSET_SERVER) return true;
    const server = servers.get(name);
    return server !== undefined && (isAddedTool(info) || server.pins?.isBlocked(info.name) !== true);
  });
}

/** Of the servers that were updated together, those whose tools differ; all if only tools of other servers do. */
function findChanged(
  servers: ReadonlySet<string>,
  before: readonly McpTool[],
  after: readonly McpTool[],
): Iterable<string> {
  if (servers.size === 1) return servers;
  const known = new Set(before);
  const current = new Set(after);
  const changed = new Set(
    [...before.filter((tool) => !current.has(tool)), ...after.filter((tool) => !known.has(tool))].map(
      ({ listed }) => listed.server,
    ),
  );
  const own = [...servers].filter((server) => changed.has(server));
  return own.length === 0 ? servers : own;
}

/** Whether a tool is the same to all who hold it. Compares values that rules inject by name only. */
function isSame(before: McpTool, after: McpTool): boolean {
  return isDeepEqual(toComparable(before), toComparable(after));
}

function toComparable({ changeable }: McpTool): object {
  const { server, info, rule, wholeDescription } = changeable;
  const { args = {}, ...visibleRule } = rule;
  const { name, title, annotations, icons, meta, inputSchema, outputSchema } = info;
  const details = { name, title, annotations, icons, meta, inputSchema, outputSchema };
  return { server, wholeDescription, visibleRule, injected: Object.keys(args), details };
}

/** Credentials are part of it: a store may be shared by toolsets that define a server of the same name for different users. */
export function createIdentify(findClient: (server: string) => McpClient | undefined): IdentifyCaller {
  return (server, context) => {
    const client = findClient(server);
    if (client === undefined) return undefined;
    return JSON.stringify([client.fingerprint, client.identityOf({ context, purpose: "call" })]);
  };
}

interface ServerRulesInput extends Omit<
  ServerTools,
  "server" | "rules" | "trustAnnotations" | "descriptions" | "warnings"
> {
  readonly client: McpClient;
}

/** Adds the tool rules of the server's definition, and where that comes from. The only place where rules are applied. */
export function withServerRules({ client, ...input }: ServerRulesInput): ServerTools {
  const { tools, ...policy } = client.toolPolicy;
  const rules = RULES.get(client) ?? new RuleSet(tools);
  RULES.set(client, rules);
  const metadata = { ...input.metadata, provenance: client.provenance };
  const warnings = LIST_WARNINGS.get(client) ?? new WarningLimit(client.name);
  return { ...input, ...policy, server: client.name, rules, metadata, warnings };
}

/** The rules of each client. They are kept, because they know which guards were misspelled. */
const RULES = new WeakMap<McpClient, RuleSet>();
