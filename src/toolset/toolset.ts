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
import { omitUndefined, toRecord } from "../json/json.js";
import type { McpToolInfo } from "../config/list-items.js";
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
  type McpToolset,
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

/** Implements `McpToolset` on top of one manager. */
export class Toolset<Name extends string> implements McpToolset<Name> {
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

  get tools(): McpTool[] {
    return this.#tools.visible;
  }

  get clients(): ToolsetClients<Name> {
    const { clients } = this.servers;
    // Not enumerable, so that Object.keys and spreading give server names only.
    return Object.defineProperty(toRecord(clients), Symbol.iterator, {
      value: () => clients.values(),
    }) as ToolsetClients<Name>;
  }

  getTools(...servers: Name[]): McpTool[] {
    if (servers.length === 0) return [...this.tools];
    for (const server of servers) this.#serverSet.get(server);
    return this.tools.filter((tool) => belongsTo(tool, servers));
  }

  async toolsFor(config: CallerConfig): Promise<McpTool[]> {
    return this.#tools.listForCaller(config);
  }

  async refresh(config: CallerConfig = {}): Promise<void> {
    const caller = { context: toCallerContext(config) };
    const refreshing = this.#serverSet.enabled.map(({ catalog }) => catalog.refresh(caller));
    unwrapServers(await Promise.allSettled(refreshing));
  }

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
    return toRecord(await Promise.all(entries)) as Record<Name, ServerDrift>;
  }

  async approveTools(options: ApproveToolsOptions<Name> = {}): Promise<void> {
    const { selected, caller } = this.#toApproval("approveTools", options);
    await Promise.all(
      selected.map(async ({ name, catalog, pins }) => {
        await pins?.approve(await catalog.refresh(caller));
        await this.#tools.update(name);
      }),
    );
  }

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

  async callTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<ToolResult> {
    const { tool, args, config } = await this.#resolveCall(call, options);
    return tool.run(args, config);
  }

  async tryCallTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<CallOutcome> {
    const requestId = call?.id ?? randomUUID();
    const details = { server: call?.server ?? "", tool: call?.name, requestId };
    return toOutcome(details, systemClock, async () => {
      const { tool, args, config } = await this.#resolveCall({ ...call, id: requestId }, options);
      details.server = tool.mcp.server;
      return { result: await tool.run(args, config), attempts: 1 };
    });
  }

  async callTools(
    calls: readonly (ToolsetCall<Name> | DependentCall<ToolsetCall<Name>>)[],
    options: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency"> = {},
  ): Promise<CallOutcome[]> {
    assertOptions(options, CALL_MANY_OPTIONS, { subject: "The call to callTools" });
    const { concurrency, ...each } = options;
    const signal = combineSignals(each.signal, (each.config as RunnableConfig | undefined)?.signal);
    return runCalls(calls, { concurrency, signal, tryCall: (call) => this.tryCallTool(call, each) });
  }

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

  async getPrompt(call: ToolsetPromptCall<Name>, options: ToolsetCallOptions = {}): Promise<BaseMessage[]> {
    const { client, caller } = this.#toServerCall("getPrompt", call?.server, options);
    const { server: _, ...promptCall } = call;
    const prompt = await client.getPrompt(promptCall, caller);
    const { toMessages } = await import("../tools/content/to-documents.js");
    return toMessages(prompt);
  }

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

  async readSkill(selection: SkillSelection<Name>, options: ToolsetCallOptions = {}): Promise<McpSkillFile> {
    const { server, caller } = this.#toServerCall("readSkill", selection?.server, options);
    const subject = "The call to readSkill";
    const { skill, file } = assertOptions(selection, SKILL_KEYS, { subject });
    return server.skills.read(skill, { ...caller, file });
  }

  instructions(config?: CallerConfig): Readonly<Partial<Record<Name, string>>> {
    const caller = config === undefined ? {} : { context: toCallerContext(config) };
    const entries = this.#serverSet.enabled.flatMap(({ name, client }) => {
      const instructions = client.getInstructions(caller) ?? "";
      return instructions.trim() === "" ? [] : [[name, instructions] as const];
    });
    return toRecord(entries) as Partial<Record<Name, string>>;
  }

  status(): Readonly<Record<Name, ServerStatus>> {
    const costs: TokenCosts = this.tokenCosts();
    const counts = new Map<string, number>();
    for (const { listed } of this.#tools.all) counts.set(listed.server, (counts.get(listed.server) ?? 0) + 1);
    const entries = Object.entries(this.servers.status()).map(([name, status]): [string, ServerStatus] => {
      return [name, { ...status, tools: counts.get(name) ?? 0, tokens: costs.servers[name]?.tokens ?? 0 }];
    });
    return toRecord(entries) as Record<Name, ServerStatus>;
  }

  tokenCosts(options: TokenCostOptions = {}): TokenCosts<Name> {
    const { countTokens } = assertOptions(options, TOKEN_COST_OPTIONS, { subject: "The call to tokenCosts" });
    return toTokenCosts(this.tools, countTokens);
  }

  metrics(): Readonly<Record<Name, ServerMetrics>> {
    return this.servers.metrics();
  }

  totalMetrics(): ServerTotals {
    return this.servers.totalMetrics();
  }

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
