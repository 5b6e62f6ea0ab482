import { randomUUID } from "node:crypto";
import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import {
  type CallOutcome,
  type CallToolsOptions,
  checkConcurrency,
  DEFAULT_CALL_CONCURRENCY,
} from "../client/call-options.js";
import { CLIENT_EVENTS } from "../client/client-events.js";
import type { ServerMetrics } from "../client/server-metrics.js";
import type { McpClient } from "../client/mcp-client.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import type { ServerDrift } from "../catalog/drift.js";
import { mapLimited } from "../async/map-concurrent.js";
import { checkList } from "../config/assert-array.js";
import { checkObject } from "../config/assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import type { ServerFleet } from "../manager/server-set.js";
import { isManagerEvent, MANAGER_EVENTS, type ServerStatus } from "../manager/server-status.js";
import { checkListener } from "../telemetry/assert-listener.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { detectDrift } from "./detect-drift.js";
import { findTool } from "./find-tool.js";
import type { LiveTools } from "./tool-list.js";
import type {
  ApproveToolsOptions,
  CallerConfig,
  McpToolset,
  ToolsetCall,
  ToolsetCallOptions,
  ToolsetEvents,
  ToolsetPromptCall,
  ResourceSelection,
} from "./mcp-toolset.js";
import { checkNamesServer, readDocuments, readMessages } from "./read-resources.js";
import { toCallerContext } from "./to-caller-context.js";

const TOOLSET_EVENTS = [...new Set([...CLIENT_EVENTS, ...MANAGER_EVENTS])].toSorted();

export interface ToolsetParts {
  readonly manager: McpServerManager;
  readonly tools: LiveTools;
  /** What was saved of servers; of the others, what was known of them first. */
  readonly saved?: ReadonlyMap<string, readonly McpToolInfo[]>;
}

/** A toolset over the servers of one manager. */
export class Toolset<Name extends string> implements McpToolset<Name> {
  readonly servers: McpServerManager;
  readonly #tools: LiveTools;
  readonly #saved: ReadonlyMap<string, readonly McpToolInfo[]>;

  constructor({ manager, tools, saved = new Map() }: ToolsetParts) {
    this.servers = manager;
    this.#tools = tools;
    this.#saved = saved;
    // `const { tools, callTool, close } = await createMcpTools(…)` is how many will use it.
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
    return this.#tools.shown;
  }

  get clients(): Readonly<Record<Name, McpClient>> {
    return Object.fromEntries(this.servers.clients) as Record<Name, McpClient>;
  }

  getTools(...servers: Name[]): McpTool[] {
    if (servers.length === 0) return [...this.tools];
    for (const server of servers) this.#fleet.get(server);
    return this.tools.filter((tool) => servers.includes(tool.mcp.server as Name));
  }

  async toolsFor(config: CallerConfig): Promise<McpTool[]> {
    return this.#tools.listFor(toCallerContext(config));
  }

  async refresh(config: CallerConfig = {}): Promise<void> {
    const asker = { context: toCallerContext(config) };
    await Promise.all(this.#fleet.on.map(({ member }) => member.catalogue.refresh(asker)));
  }

  async detectDrift(config: CallerConfig = {}): Promise<Readonly<Record<Name, ServerDrift>>> {
    const drift = await detectDrift(this.#fleet, this.#saved, { context: toCallerContext(config) });
    return drift as Record<Name, ServerDrift>;
  }

  async approveTools(options: ApproveToolsOptions<Name> = {}): Promise<void> {
    const { servers, config = {} } = checked("approveTools", options);
    checkList(servers, { subject: "The call of approveTools", path: "servers" });
    for (const server of servers ?? []) this.#fleet.get(server);
    const asker = { context: toCallerContext(config) };
    const chosen = this.#fleet.on.filter(({ name }) => servers?.includes(name as Name) ?? true);
    await Promise.all(
      chosen.map(async ({ name, member: { catalogue, pins } }) => {
        await pins?.approve(await catalogue.refresh(asker));
        this.#tools.update(name);
      }),
    );
  }

  async callTool(call: ToolsetCall<Name>, options: ToolsetCallOptions = {}): Promise<ToolResult> {
    const { signal, config } = checked("callTool", options);
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
      const message = `expected a list of { name, args }, found ${describeValue(calls)}`;
      throw configError("The call of callTools", [{ path: "", message }]);
    }
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...each } = checked("callTools", options);
    checkConcurrency("toolset", concurrency);
    return mapLimited(calls, concurrency, (call) => this.tryCallTool(call, each));
  }

  async getResources(
    wanted: ResourceSelection<Name>,
    options: ToolsetCallOptions = {},
  ): Promise<Document<ResourceMetadata>[]> {
    checkNamesServer("getResources", wanted?.server);
    return readDocuments(this.#fleet.get(wanted.server), wanted.uris, checked("getResources", options));
  }

  async getPrompt(call: ToolsetPromptCall<Name>, options: ToolsetCallOptions = {}): Promise<BaseMessage[]> {
    checkNamesServer("getPrompt", call?.server);
    return readMessages(this.#fleet.get(call.server), call, checked("getPrompt", options));
  }

  instructions(): Readonly<Partial<Record<Name, string>>> {
    const entries = this.#fleet.on.flatMap(({ name, client: { instructions = "" } }) =>
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
    checkListener(event, listener, TOOLSET_EVENTS);
    const tell = (server: string, data: object) =>
      listener({ ...data, server } as ToolsetEvents<Name>[Event]);
    if (event !== "toolsChanged")
      return isManagerEvent(event)
        ? this.servers.on(event, (data) => tell(data.server, data))
        : this.#fleet.relay.on(event, tell);
    // Somebody wants to know: that lets servers speak which do so only when they are listened to.
    const stopListening = this.#fleet.relay.on("toolsChanged", () => undefined);
    const stopTelling = this.#tools.onChange((data) => tell(data.server, data));
    return () => {
      stopListening();
      stopTelling();
    };
  }

  async close(): Promise<void> {
    await this.servers.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  get #fleet(): ServerFleet {
    return this.servers.fleet;
  }

  /** A call that names its server may be the first use of it. */
  async #find(call: ToolsetCall<Name>, signal?: AbortSignal): Promise<McpTool> {
    const { server } = call ?? {};
    const isUnheard = this.#fleet.all.some(
      ({ name, isListed, known }) => name === server && isListed && known.tools === undefined,
    );
    if (server !== undefined && isUnheard) await this.servers.waitFor(server, { signal });
    return findTool(this.#tools, call, this.#fleet.silent);
  }
}

function checked<Options extends object>(method: string, options: Options): Options {
  return checkObject(options, { subject: `The call of ${method}`, path: "options" });
}
