import { randomUUID } from "node:crypto";
import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type CallOutcome,
  type CallToolsOptions,
  findCallProblem,
  TOOLSET_CALL_KEYS,
} from "../client/call-options.js";
import { type DependentCall, runCalls, toOutcome } from "../client/call-plan.js";
import { CLIENT_EVENTS } from "../client/client-events.js";
import type { CloseOptions } from "../client/client-lifecycle.js";
import type { ServerMetrics, ServerTotals } from "../client/mcp-client.js";
import type { McpSkillFile } from "../client/skills/skill-client.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import { compareTools, createUnreachableDrift, type ServerDrift } from "../catalog/drift.js";
import { systemClock } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { assertOptionalArray, assertOptions, optionKeys } from "../config/parse-options.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { omitUndefined } from "../json/json.js";
import type { McpToolInfo } from "../config/server-features.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import { unwrapServers } from "../manager/server-errors.js";
import type { ServerSet } from "../manager/server-set.js";
import { isManagerEvent, MANAGER_EVENTS } from "../manager/mcp-events.js";
import { assertListener } from "../telemetry/typed-emitter.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { combineSignals, toRunSignal } from "../tools/tool-run.js";
import type { ToolList } from "./tool-list.js";
import {
  type ApproveToolsOptions,
  type CallerConfig,
  type ToolsetCall,
  type ToolsetCallOptions,
  type ToolsetClients,
  type ToolsetEvents,
  type ToolsetPromptCall,
  type ResourceSelection,
  type SkillSelection,
  type ToolsetSkill,
  belongsTo,
  toCallerContext,
} from "./mcp-toolset.js";
import type { ServerStatus } from "../manager/managed-server.js";
import { type TokenCostOptions, type TokenCosts, toTokenCosts } from "../tool-search/estimate-tokens.js";

/** How many resources of a server are read concurrently. */
const READ_CONCURRENCY = 8;
const TOOLSET_EVENTS = [...new Set([...CLIENT_EVENTS, ...MANAGER_EVENTS])].toSorted();

export interface ToolsetDependencies {
  readonly manager: McpServerManager;
  readonly tools: ToolList;
  /** Tool snapshots by server, as the baseline for drift. For other servers, it is the first list. */
  readonly snapshots?: ReadonlyMap<string, readonly McpToolInfo[]>;
}

/** A toolset on top of one manager. */
export class Toolset<Name extends string> implements AsyncDisposable {
  /** Adds, removes, connects and disconnects servers at run time. */
  readonly servers: McpServerManager;
  readonly #tools: ToolList;
  readonly #snapshots: ReadonlyMap<string, readonly McpToolInfo[]>;

  constructor({ manager, tools, snapshots = new Map() }: ToolsetDependencies) {
    this.servers = manager;
    this.#tools = tools;
    this.#snapshots = snapshots;
    // Bound, so that `const { tools, callTool, close } = await createMcpTools(…)` works.
    const members = Object.getOwnPropertyDescriptors(Toolset.prototype) as PropertyDescriptorMap;
    for (const [name, { value: method }] of Object.entries(members)) {
      if (typeof method === "function" && name !== "constructor")
        Object.defineProperty(this, name, { value: method.bind(this) });
    }
  }

  /**
   * The current tools. It is replaced by a new array when a server connects late, changes its tools or is removed
   * (event `toolsChanged`); an unchanged tool stays the same object. The array is frozen: to add tools of your own, use
   * `[...toolset.tools, mine]` or `getTools()`.
   */
  get tools(): McpTool[] {
    return this.#tools.visible;
  }

  /**
   * The clients by server name. Also iterable.
   *
   * @example
   * ```ts
   * for (const client of toolset.clients) await client.close();
   * ```
   */
  get clients(): ToolsetClients<Name> {
    const { clients } = this.servers;
    // Not enumerable, so that Object.keys and spreading give server names only.
    return Object.defineProperty(Object.fromEntries(clients), Symbol.iterator, {
      value: () => clients.values(),
    }) as ToolsetClients<Name>;
  }

  /**
   * The tools of the given servers, or of all, as a new array. `read_result` (option `largeResults`) is always included.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server
   */
  getTools(...servers: Name[]): McpTool[] {
    if (servers.length === 0) return [...this.tools];
    for (const server of servers) this.#serverSet.get(server);
    return this.tools.filter((tool) => belongsTo(tool, servers));
  }

  /**
   * Lists the tools that the servers offer to one caller. A call of these tools still uses the config of that call.
   * @throws McpRuntimeError why a server that is not `optional` could not be listed
   */
  async toolsFor(config: CallerConfig): Promise<McpTool[]> {
    return this.#tools.listForCaller(config);
  }

  /**
   * Lists the tools of all servers again, regardless of the cache.
   * @throws McpRuntimeError why a server could not be listed
   */
  async refresh(config: CallerConfig = {}): Promise<void> {
    const caller = { context: toCallerContext(config) };
    const refreshing = this.#serverSet.enabled.map(({ catalog }) => catalog.refresh(caller));
    unwrapServers(await Promise.allSettled(refreshing));
  }

  /** Compares the servers' current tools with those that this toolset was created from. */
  async detectDrift(config: CallerConfig = {}): Promise<Readonly<Record<Name, ServerDrift>>> {
    const caller = { context: toCallerContext(config) };
    const { enabled, events } = this.#serverSet;
    const entries = enabled.map(async ({ name, initialTools, catalog }) => {
      const snapshot = this.#snapshots.get(name);
      const baseline = { tools: snapshot ?? initialTools ?? [], isSnapshot: snapshot !== undefined };
      const drift = await catalog
        .refresh(caller)
        .then((tools) => compareTools(baseline, tools))
        .catch((error: unknown) => {
          if (!(error instanceof McpRuntimeError)) throw error;
          return createUnreachableDrift(error);
        });
      events.emit("driftChecked", { ...drift, server: name });
      return [name, drift] as const;
    });
    return Object.fromEntries(await Promise.all(entries)) as Record<Name, ServerDrift>;
  }

  /**
   * Approves the current tools of the servers, for use with option `pin`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server could not be listed
   */
  async approveTools(options: ApproveToolsOptions<Name> = {}): Promise<void> {
    const { selected, caller } = this.#toApproval("approveTools", options);
    await Promise.all(
      selected.map(async ({ name, catalog, pins }) => {
        await pins?.approve(await catalog.refresh(caller));
        await this.#tools.update(name);
      }),
    );
  }

  /**
   * Approves the current skills of the servers, for use with option `pin`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server could not be listed
   */
  async approveSkills(options: ApproveToolsOptions<Name> = {}): Promise<void> {
    const { selected, caller } = this.#toApproval("approveSkills", options);
    await Promise.all(selected.map(({ skills }) => skills.approve(caller)));
  }

  #toApproval(method: string, options: ApproveToolsOptions<Name>) {
    const subject = `The call to ${method}`;
    const { servers, config = {} } = assertOptions(options, APPROVE_OPTIONS, { subject });
    assertOptionalArray(servers, { subject, path: "servers" });
    for (const server of servers ?? []) this.#serverSet.get(server);
    const selected = this.#serverSet.enabled.filter(({ name }) => servers?.includes(name as Name) ?? true);
    return { selected, caller: { context: toCallerContext(config) } };
  }

  /**
   * Calls a tool with the same rules, hooks and validation as the LangChain tool, and returns the MCP result. If the tool
   * ran and reported an error, that is a result with `isError: true`: it is returned, not thrown.
   * @throws McpRuntimeError kind `not-found` for an unknown tool, or why the call failed
   */
  async callTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<ToolResult> {
    const { tool, args, config } = await this.#resolveCall(call, options);
    return tool.run(args, config);
  }

  /**
   * Like `callTool`, but returns an `McpRuntimeError` in the outcome instead of throwing it. `ok: true` means that the
   * server responded: check `result.isError`, too.
   */
  async tryCallTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<CallOutcome> {
    const requestId = call?.id ?? randomUUID();
    const details = { server: call?.server ?? "", tool: call?.name, requestId };
    return toOutcome(details, systemClock, async () => {
      const { tool, args, config } = await this.#resolveCall({ ...call, id: requestId }, options);
      details.server = tool.mcp.server;
      return { result: await tool.run(args, config), attempts: 1 };
    });
  }

  /**
   * Calls several tools concurrently. The outcomes are in the order of the calls. A call may be made from the results of
   * other calls of the array, which it names by `id`.
   * @throws McpRuntimeError kind `invalid-config` if the arguments are invalid, or a dependency is unknown or circular;
   * nothing is sent then
   * @example
   * ```ts
   * const [user, orders] = await toolset.callTools([
   *   { id: "user", name: "find_user", args: { email } },
   *   { dependsOn: ["user"], call: ({ user }) => ({ name: "list_orders", args: { id: user.text() } }) },
   * ]);
   * ```
   */
  async callTools(
    calls: readonly (ToolsetCall<Name> | DependentCall<ToolsetCall<Name>>)[],
    options: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency"> = {},
  ): Promise<CallOutcome[]> {
    assertOptions(options, CALL_MANY_OPTIONS, { subject: "The call to callTools" });
    const { concurrency, ...each } = options;
    const signal = combineSignals(each.signal, (each.config as RunnableConfig | undefined)?.signal);
    const { redactor } = this.#serverSet.settings;
    const tryCall = (call: ToolsetCall<Name>) => this.tryCallTool(call, each);
    return runCalls(calls, { redactor, concurrency, signal, tryCall });
  }

  /**
   * Reads resources of a server as LangChain documents.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a resource could not be read
   */
  async getResources(
    selection: ResourceSelection<Name>,
    options: ToolsetCallOptions = {},
  ): Promise<Document<ResourceMetadata>[]> {
    const { client, caller } = this.#toServerCall("getResources", selection?.server, options);
    const subject = "The call to getResources";
    const { uris } = assertOptions(selection, SELECTION_KEYS, { subject, path: "" });
    assertOptionalArray(uris, { subject, path: "uris" });
    if (uris?.length === 0) return [];
    const listing = client.listResources(caller);
    // If the list fails, the documents have no name.
    const naming = listing.then(
      (resources) => new Map(resources.map((resource) => [resource.uri, resource.name])),
      () => new Map<string, string>(),
    );
    const selected = uris ?? (await listing).map(({ uri }) => uri);
    const { toDocuments } = await import("../tools/content/to-documents.js");
    const read = await mapConcurrent(selected, READ_CONCURRENCY, async (uri) => ({
      uri,
      contents: await client.readResource(uri, caller),
    }));
    const names = await naming;
    return read.flatMap(({ uri, contents }) =>
      toDocuments(contents, { server: client.name, name: names.get(uri) }),
    );
  }

  /**
   * Gets a prompt of a server as LangChain messages.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why the prompt could not be read
   */
  async getPrompt(call: ToolsetPromptCall<Name>, options: ToolsetCallOptions = {}): Promise<BaseMessage[]> {
    const { client, caller } = this.#toServerCall("getPrompt", call?.server, options);
    const { server: _, ...promptCall } = call;
    const prompt = await client.getPrompt(promptCall, caller);
    const { toMessages } = await import("../tools/content/to-documents.js");
    return toMessages(prompt);
  }

  /**
   * Lists the skills of the servers, or of one of them, without those that `pin: "block"` blocks. No file is read.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server that is not `optional` could not be
   * listed
   */
  async listSkills(
    selection: { readonly server?: Name | undefined } = {},
    options: ToolsetCallOptions = {},
  ): Promise<ToolsetSkill<Name>[]> {
    const subject = "The call to listSkills";
    const { server } = assertOptions(selection, LIST_SKILLS_KEYS, { subject });
    const { config, ...request } = toRunOptions("listSkills", options);
    const caller = { ...request, context: toCallerContext(config) };
    const servers = server === undefined ? this.#serverSet.enabled : [this.#serverSet.get(server)];
    const listing = servers.map(async (managed) => {
      const { name, skills } = managed;
      try {
        return (await skills.list(caller)).map((skill) => ({ ...skill, server: name as Name }));
      } catch (error) {
        if (server !== undefined || !managed.tolerates(error)) throw error;
        this.#serverSet.settings.warn(
          `The skills of optional server "${name}" are not listed: ${error.message}`,
        );
        return [];
      }
    });
    return unwrapServers(await Promise.allSettled(listing)).flat();
  }

  /**
   * Reads a file of a skill, `SKILL.md` unless `file` is set, and verifies it. Other files are those of the version whose
   * `SKILL.md` was read last by the same caller in the same thread.
   * @throws McpRuntimeError kind `invalid-response` if the file is not the listed one, `denied` if the skill is blocked,
   * `not-found` if the server does not have it
   */
  async readSkill(selection: SkillSelection<Name>, options: ToolsetCallOptions = {}): Promise<McpSkillFile> {
    const { server, caller } = this.#toServerCall("readSkill", selection?.server, options);
    const subject = "The call to readSkill";
    const { skill, file } = assertOptions(selection, SKILL_KEYS, { subject });
    return server.skills.read(skill, { ...caller, file });
  }

  /**
   * The `instructions` of the connected servers that have any, for a system prompt. A server with an `identity` may
   * send other instructions to each caller: with `config`, those that it sent to this caller; without, those for
   * discovery, and none if that has no identity.
   */
  instructions(config?: CallerConfig): Readonly<Partial<Record<Name, string>>> {
    const caller = config === undefined ? {} : { context: toCallerContext(config) };
    const entries = this.#serverSet.enabled.flatMap(({ name, client }) => {
      const instructions = client.getInstructions(caller) ?? "";
      return instructions.trim() === "" ? [] : [[name, instructions] as const];
    });
    return Object.fromEntries(entries) as Partial<Record<Name, string>>;
  }

  /** The state of each server, by name. */
  status(): Readonly<Record<Name, ServerStatus>> {
    const costs: TokenCosts = this.tokenCosts();
    const counts = new Map<string, number>();
    for (const { listed } of this.#tools.all) counts.set(listed.server, (counts.get(listed.server) ?? 0) + 1);
    const entries = Object.entries(this.servers.status()).map(([name, status]): [string, ServerStatus] => {
      return [name, { ...status, tools: counts.get(name) ?? 0, tokens: costs.servers[name]?.tokens ?? 0 }];
    });
    return Object.fromEntries(entries) as Record<Name, ServerStatus>;
  }

  /**
   * Estimates how many tokens the definitions of the tools take in every request to a model, in all and by server and
   * tool.
   */
  tokenCosts(options: TokenCostOptions = {}): TokenCosts<Name> {
    const { countTokens } = assertOptions(options, TOKEN_COST_OPTIONS, { subject: "The call to tokenCosts" });
    return toTokenCosts(this.tools, countTokens);
  }

  /** Call metrics by server and tool, as a frozen copy. */
  metrics(): Readonly<Record<Name, ServerMetrics>> {
    return this.servers.metrics();
  }

  /** The metrics of all current servers in total, as a frozen copy; quantiles are over the calls of all. */
  totalMetrics(): ServerTotals {
    return this.servers.totalMetrics();
  }

  /**
   * Subscribes to an event. Returns a function that unsubscribes.
   * @throws McpRuntimeError kind `invalid-config` for an unknown event or a listener that is not a function
   */
  on<Event extends keyof ToolsetEvents<Name>>(
    event: Event,
    listener: (event: ToolsetEvents<Name>[Event]) => void,
  ): () => void {
    assertListener(event, listener, TOOLSET_EVENTS);
    const emit = (server: string, data: object) =>
      listener({ ...data, server } as ToolsetEvents<Name>[Event]);
    if (event !== "toolsChanged")
      return isManagerEvent(event)
        ? this.servers.on(event, (data) => emit(data.server, data))
        : this.#serverSet.onClientEvent(event, emit);
    // Some servers send notifications only while a client listens, so this also subscribes on the clients.
    const unsubscribeClients = this.#serverSet.onClientEvent("toolsChanged", () => undefined);
    const unsubscribeTools = this.#tools.onChange((data) => emit(data.server, data));
    return () => {
      unsubscribeClients();
      unsubscribeTools();
    };
  }

  /**
   * Closes all clients. Calls of this toolset's tools then fail with kind `closed`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown option
   */
  async close(options?: CloseOptions): Promise<void> {
    await this.servers.close(options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #toServerCall(method: string, server: unknown, options: ToolsetCallOptions) {
    if (typeof server !== "string") {
      const text = `${method} requires a server name: ${method}({ server: "…", … }).`;
      throw new McpRuntimeError("invalid-config", text);
    }
    const managed = this.#serverSet.get(server);
    const { config, ...request } = toRunOptions(method, options);
    managed.assertEnabled();
    return {
      server: managed,
      client: managed.client,
      caller: { ...request, context: toCallerContext(config) },
    };
  }

  get #serverSet(): ServerSet {
    return this.servers.serverSet;
  }

  /**
   * Finds the tool of a call, and the config to run it with. A call that names a server may be its first use, so the
   * server is connected first.
   */
  async #resolveCall(call: ToolsetCall<Name>, options: ToolsetCallOptions) {
    const { config, ...limits } = toRunOptions("callTool", options);
    const { server, id } = call ?? {};
    const managed = server === undefined ? undefined : this.#serverSet.find(server);
    const needsListing = managed?.listsTools === true && managed.latestTools === undefined;
    // The failure is that of `waitFor`, which makes no further attempt.
    if (needsListing && managed.hasFailed) managed.connect().catch(() => undefined);
    if (server !== undefined && needsListing) await this.servers.waitFor(server, { signal: limits.signal });
    const tool = await this.#tools.find(call, { ...config, signal: limits.signal } as CallerConfig);
    const problem = findCallProblem(call, TOOLSET_CALL_KEYS);
    if (problem !== undefined)
      throw configError(`The call to tool "${call.name}"`, [{ path: "", message: problem }]);
    const toolCall = id === undefined ? {} : { toolCall: { id } };
    const args = call.args ?? call.arguments ?? {};
    // The timeout of the run is part of the signal.
    const { timeout: _, ...runConfig } = config;
    return { tool, args, config: { ...runConfig, ...omitUndefined(limits), ...toolCall } };
  }
}

/**
 * LangChain tools of MCP servers, with the clients behind them. Close it when it is no longer used.
 *
 * @example
 * ```ts
 * await using toolset = await createMcpTools({ weather: { url: "https://weather.example.com/mcp" } });
 * const agent = createAgent({ model, tools: toolset.tools });
 * const result = await toolset.callTool({ name: "forecast", args: { city: "Oslo" } });
 * ```
 */
export interface McpToolset<Name extends string = string> extends Pick<Toolset<Name>, keyof Toolset<Name>> {}

const CALL_KEYS = { signal: true, timeoutMs: true, config: true } as const;
const CALL_OPTIONS = optionKeys<ToolsetCallOptions>(CALL_KEYS);
const CALL_MANY_OPTIONS = optionKeys<ToolsetCallOptions & Pick<CallToolsOptions, "concurrency">>({
  ...CALL_KEYS,
  concurrency: true,
});
const SELECTION_KEYS = optionKeys<ResourceSelection>({ server: true, uris: true });
const LIST_SKILLS_KEYS = optionKeys<Pick<SkillSelection, "server">>({ server: true });
const SKILL_KEYS = optionKeys<SkillSelection>({ server: true, skill: true, file: true });
const TOKEN_COST_OPTIONS = optionKeys<TokenCostOptions>({ countTokens: true });
const APPROVE_OPTIONS = optionKeys<ApproveToolsOptions>({ servers: true, config: true });

/** Validates the options of a call. The signal and the timeout of the run count, too. */
function toRunOptions(method: string, options: ToolsetCallOptions) {
  const location = { subject: `The call to ${method}` };
  const { signal, timeoutMs, config = {} } = assertOptions(options, CALL_OPTIONS, location);
  toCallerContext(config);
  return { config, timeoutMs, signal: combineSignals(signal, toRunSignal(config as RunnableConfig)) };
}
