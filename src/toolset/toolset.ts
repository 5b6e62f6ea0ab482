import { randomUUID } from "node:crypto";
import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import {
  type CallOutcome,
  type CallToolsOptions,
  assertConcurrency,
  DEFAULT_CALL_CONCURRENCY,
} from "../client/call-options.js";
import { CLIENT_EVENTS } from "../client/client-events.js";
import type { ServerMetrics } from "../client/mcp-client.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import {
  type ServerDrift,
  compareTools,
  type ToolBaseline,
  createUnreachableDrift,
} from "../catalog/drift.js";
import { mapConcurrent } from "../async/map-concurrent.js";
import { assertOptionalArray, assertObject } from "../config/assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import type { ServerSet } from "../manager/server-set.js";
import { isManagerEvent, MANAGER_EVENTS, type ServerStatus } from "../manager/server-status.js";
import { assertListener } from "../telemetry/typed-emitter.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { findTool } from "./find-tool.js";
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
  toCallerContext,
} from "./mcp-toolset.js";
import { assertServerName, readAsDocuments, readAsMessages } from "./read-resources.js";
import type { CallerOptions } from "../catalog/tool-catalog.js";
import type { ManagedServer } from "../manager/managed-server.js";
import { type StartOptions, startServers } from "../manager/start-servers.js";

const TOOLSET_EVENTS = [...new Set([...CLIENT_EVENTS, ...MANAGER_EVENTS])].toSorted();

interface ToolsetDependencies {
  readonly manager: McpServerManager;
  readonly tools: ToolList;
  /** Tool snapshots by server, as the baseline for drift. For other servers, it is the first list. */
  readonly snapshots?: ReadonlyMap<string, readonly McpToolInfo[]>;
}

interface StartToolsetOptions extends ToolsetDependencies {
  readonly options: StartOptions;
  /** Runs before any server is connected. */
  readonly beforeStart?: () => Promise<void>;
}

/** Option names of the factories that start servers. */
export const START_OPTION_KEYS =
  "cache pin concurrency closeTimeoutMs startupWaitMs waitForUncached signal".split(" ");

/** Starts the servers and creates a toolset. Closes the servers if that fails. */
export async function startToolset<Name extends string>({
  manager,
  tools,
  options,
  beforeStart,
  ...others
}: StartToolsetOptions): Promise<McpToolset<Name>> {
  try {
    await beforeStart?.();
    await startServers(manager, options);
    tools.start();
  } catch (error) {
    await manager.close();
    throw error;
  }
  warnFailures(manager);
  return new Toolset<Name>({ manager, tools, ...others });
}

/** Implements `McpToolset` on top of one manager. */
class Toolset<Name extends string> implements McpToolset<Name> {
  readonly servers: McpServerManager;
  readonly #tools: ToolList;
  readonly #snapshots: ReadonlyMap<string, readonly McpToolInfo[]>;

  constructor({ manager, tools, snapshots = new Map() }: ToolsetDependencies) {
    this.servers = manager;
    this.#tools = tools;
    this.#snapshots = snapshots;
    // Bound, so that `const { tools, callTool, close } = await createMcpTools(…)` works.
    for (const method of [
      "getTools",
      "toolsFor",
      "refresh",
      "detectDrift",
      "approveTools",
      "callTool",
      "tryCallTool",
      "callTools",
      "getResources",
      "getPrompt",
      "instructions",
      "status",
      "metrics",
      "on",
      "close",
    ] as const) {
      Object.defineProperty(this, method, { value: this[method].bind(this) });
    }
  }

  get tools(): McpTool[] {
    return this.#tools.visible;
  }

  get clients(): ToolsetClients<Name> {
    const { clients } = this.servers;
    // Not enumerable, so that Object.keys and spreading give server names only.
    return Object.defineProperty(Object.fromEntries(clients), Symbol.iterator, {
      value: () => clients.values(),
    }) as ToolsetClients<Name>;
  }

  getTools(...servers: Name[]): McpTool[] {
    if (servers.length === 0) return [...this.tools];
    for (const server of servers) this.#serverSet.get(server);
    return this.tools.filter((tool) => servers.includes(tool.mcp.server as Name));
  }

  async toolsFor(config: CallerConfig): Promise<McpTool[]> {
    return this.#tools.listForCaller(toCallerContext(config));
  }

  async refresh(config: CallerConfig = {}): Promise<void> {
    const caller = { context: toCallerContext(config) };
    await Promise.all(this.#serverSet.enabled.map(({ internals }) => internals.catalog.refresh(caller)));
  }

  async detectDrift(config: CallerConfig = {}): Promise<Readonly<Record<Name, ServerDrift>>> {
    const drift = await detectDrift(this.#serverSet, this.#snapshots, { context: toCallerContext(config) });
    return drift as Record<Name, ServerDrift>;
  }

  async approveTools(options: ApproveToolsOptions<Name> = {}): Promise<void> {
    const { servers, config = {} } = assertOptions("approveTools", options);
    assertOptionalArray(servers, { subject: "The call to approveTools", path: "servers" });
    for (const server of servers ?? []) this.#serverSet.get(server);
    const caller = { context: toCallerContext(config) };
    const selected = this.#serverSet.enabled.filter(({ name }) => servers?.includes(name as Name) ?? true);
    await Promise.all(
      selected.map(async ({ name, internals: { catalog, pins } }) => {
        await pins?.approve(await catalog.refresh(caller));
        this.#tools.update(name);
      }),
    );
  }

  async callTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<ToolResult> {
    const { signal, config } = assertOptions("callTool", options);
    if (config !== undefined) toCallerContext(config);
    const tool = await this.#find(call, signal);
    const toolCall = call.id === undefined ? {} : { toolCall: { id: call.id } };
    return tool.run(call.args ?? {}, { ...config, ...(signal === undefined ? {} : { signal }), ...toolCall });
  }

  async tryCallTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<CallOutcome> {
    const requestId = call?.id ?? randomUUID();
    const startedAt = performance.now();
    const details = (attempts: number, server = call?.server ?? "") => {
      const latencyMs = performance.now() - startedAt;
      return { requestId, tool: call?.name, server, attempts, latencyMs };
    };
    try {
      const result = await this.callTool({ ...call, id: requestId }, options);
      return { ok: true, result, ...details(1, (await this.#find(call)).mcp.server) };
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      return { ok: false, error, ...details(error.attempts, error.server) };
    }
  }

  async callTools(
    calls: readonly ToolsetCall<Name>[],
    options: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency"> = {},
  ): Promise<CallOutcome[]> {
    if (!Array.isArray(calls)) {
      const message = `expected an array of { name, args }, got ${describeValue(calls)}`;
      throw configError("The call to callTools", [{ path: "", message }]);
    }
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...each } = assertOptions("callTools", options);
    assertConcurrency("toolset", concurrency);
    return mapConcurrent(calls, concurrency, (call) => this.tryCallTool(call, each));
  }

  async getResources(
    selection: ResourceSelection<Name>,
    options: ToolsetCallOptions = {},
  ): Promise<Document<ResourceMetadata>[]> {
    assertServerName("getResources", selection?.server);
    return readAsDocuments(
      this.#serverSet.get(selection.server),
      selection.uris,
      assertOptions("getResources", options),
    );
  }

  async getPrompt(call: ToolsetPromptCall<Name>, options: ToolsetCallOptions = {}): Promise<BaseMessage[]> {
    assertServerName("getPrompt", call?.server);
    return readAsMessages(this.#serverSet.get(call.server), call, assertOptions("getPrompt", options));
  }

  instructions(): Readonly<Partial<Record<Name, string>>> {
    const entries = this.#serverSet.enabled.flatMap(({ name, client: { instructions = "" } }) =>
      instructions.trim() === "" ? [] : [[name, instructions]],
    );
    return Object.fromEntries(entries) as Partial<Record<Name, string>>;
  }

  status(): Readonly<Record<Name, ServerStatus>> {
    const entries = Object.entries(this.servers.status()).map(([name, status]) => {
      const tools = this.#tools.all.filter(({ mcp }) => mcp.server === name).length;
      return [name, { ...status, tools }];
    });
    return Object.fromEntries(entries) as Record<Name, ServerStatus>;
  }

  metrics(): Readonly<Record<Name, ServerMetrics>> {
    return this.servers.metrics();
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
        : this.#serverSet.relay.on(event, emit);
    // Some servers send notifications only while a client listens, so this also subscribes on the clients.
    const unsubscribeClients = this.#serverSet.relay.on("toolsChanged", () => undefined);
    const unsubscribeTools = this.#tools.onChange((data) => emit(data.server, data));
    return () => {
      unsubscribeClients();
      unsubscribeTools();
    };
  }

  async close(): Promise<void> {
    await this.servers.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #serverSet(): ServerSet {
    return this.servers.serverSet;
  }

  /** A call that names a server may be its first use, so the server is connected first. */
  async #find(call: ToolsetCall<Name>, signal?: AbortSignal): Promise<McpTool> {
    const { server } = call ?? {};
    const needsListing = this.#serverSet.all.some(
      ({ name, listsTools, latestTools }) =>
        name === server && listsTools && latestTools.current === undefined,
    );
    if (server !== undefined && needsListing) await this.servers.waitFor(server, { signal });
    return findTool(this.#tools, call, this.#serverSet.serversWithoutTools);
  }
}

function assertOptions<Options extends object>(method: string, options: Options): Options {
  return assertObject(options, { subject: `The call to ${method}`, path: "options" });
}

/** Compares each server's current tools with its baseline. */
async function detectDrift(
  { enabled: servers, events }: Pick<ServerSet, "enabled" | "events">,
  snapshots: ReadonlyMap<string, readonly McpToolInfo[]>,
  caller: CallerOptions,
): Promise<Record<string, ServerDrift>> {
  const entries = servers.map(async (server): Promise<[string, ServerDrift]> => {
    const { name, latestTools } = server;
    const tools = snapshots.get(name);
    const baseline = { tools: tools ?? latestTools.initial ?? [], isSnapshot: tools !== undefined };
    const drift = await compareServer(server, baseline, caller);
    events.emit("driftChecked", { ...drift, server: name });
    return [name, drift];
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function compareServer(
  { internals }: ManagedServer,
  baseline: ToolBaseline,
  caller: CallerOptions,
): Promise<ServerDrift> {
  try {
    return compareTools(baseline, await internals.catalog.refresh(caller));
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return createUnreachableDrift(error);
  }
}

/** Logs servers that have failed, now and later. */
function warnFailures(manager: McpServerManager): void {
  const { serverSet } = manager;
  const warn = (name: string, reason: Error) => {
    const { isOptional, latestTools } = serverSet.get(name);
    const subject = isOptional && latestTools.current === undefined ? "Optional server" : "Server";
    const consequence =
      latestTools.current === undefined ? "is excluded" : "is not connected; its last known tools are used";
    serverSet.settings.warn(`${subject} "${name}" ${consequence}: ${reason.message}`);
  };
  for (const { name, hasFailed, error } of serverSet.all)
    if (hasFailed && error !== undefined) warn(name, error);
  manager.on("serverChanged", ({ server, state, error }) => {
    if (state === "failed" && error !== undefined) warn(server, error);
  });
}
