import { randomUUID } from "node:crypto";
import {
  type CallerContext,
  type CallOutcome,
  type CallToolsOptions,
  checkConcurrency,
  DEFAULT_CALL_CONCURRENCY,
} from "../client/call-tool.js";
import type { ClientState } from "../client/client-life.js";
import type { McpClient } from "../client/mcp-client.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ServerDrift } from "../catalogue/drift.js";
import { mapLimited } from "../concurrency/map-limited.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { detectDrift } from "./detect-drift.js";
import { findTool } from "./find-tool.js";
import type {
  CallerConfig,
  McpToolset,
  ServerState,
  ServerStatus,
  ToolsetCall,
  ToolsetCallOptions,
  ToolsetEvents,
} from "./mcp-toolset.js";
import { toCallerContext } from "./to-caller-context.js";
import type { ToolsetLife } from "./toolset-life.js";

const STATE_OF_CLIENT: Readonly<Record<ClientState, ServerState>> = {
  idle: "idle",
  connecting: "connecting",
  ready: "connected",
  closed: "disconnected",
};

interface ToolsetParts {
  readonly life: ToolsetLife;
  readonly tools: McpTool[];
  /** What each server offered when the toolset was made, or what was saved of it. */
  readonly known: ReadonlyMap<string, readonly McpToolInfo[]>;
  /** What the servers offer to a caller, now. */
  readonly listFor: (caller: CallerContext) => Promise<McpTool[]>;
  readonly failures: ReadonlyMap<string, McpRuntimeError>;
}

/** A toolset over the clients of one life. */
export class Toolset<Name extends string> implements McpToolset<Name> {
  readonly tools: McpTool[];
  readonly clients: Readonly<Record<Name, McpClient>>;
  readonly #life: ToolsetLife;
  readonly #known: ToolsetParts["known"];
  readonly #listFor: ToolsetParts["listFor"];
  readonly #failures: ReadonlyMap<string, McpRuntimeError>;

  constructor({ life, tools, known, listFor, failures }: ToolsetParts) {
    this.tools = tools;
    this.#known = known;
    this.#listFor = listFor;
    this.clients = Object.fromEntries(life.clients) as Record<Name, McpClient>;
    this.#life = life;
    this.#failures = failures;
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
      "status",
      "on",
      "close",
    ] as const) {
      Object.defineProperty(this, method, { value: this[method].bind(this) });
    }
  }

  getTools(...servers: Name[]): McpTool[] {
    if (servers.length === 0) return [...this.tools];
    for (const server of servers) this.#clientOf(server);
    return this.tools.filter((tool) => servers.includes(tool.mcp.server as Name));
  }

  toolsFor(config: CallerConfig): Promise<McpTool[]> {
    return this.#listFor(toCallerContext(config));
  }

  async refresh(config: CallerConfig = {}): Promise<void> {
    const asker = { context: toCallerContext(config) };
    await Promise.all([...this.#life.members.values()].map(({ catalogue }) => catalogue.refresh(asker)));
  }

  async detectDrift(config: CallerConfig = {}): Promise<Readonly<Record<Name, ServerDrift>>> {
    const drift = await detectDrift(this.#life.members, this.#known, { context: toCallerContext(config) });
    return drift as Record<Name, ServerDrift>;
  }

  async approveTools(...servers: Name[]): Promise<void> {
    for (const server of servers) this.#clientOf(server);
    const chosen = [...this.#life.members].filter(
      ([name]) => servers.length === 0 || servers.includes(name as Name),
    );
    await Promise.all(
      chosen.map(async ([, { catalogue, pins }]) => pins?.approve(await catalogue.refresh())),
    );
  }

  async callTool(call: ToolsetCall<Name>, { signal, config }: ToolsetCallOptions = {}): Promise<ToolResult> {
    const tool = findTool(this.tools, call);
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
      return { ok: true, result, ...details(1, findTool(this.tools, call).mcp.server) };
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      return { ok: false, error, ...details(error.attempts, error.server) };
    }
  }

  async callTools(
    calls: readonly ToolsetCall<Name>[],
    options: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency"> = {},
  ): Promise<CallOutcome[]> {
    const { concurrency = DEFAULT_CALL_CONCURRENCY, ...each } = options;
    checkConcurrency("toolset", concurrency);
    return mapLimited(calls, concurrency, (call) => this.tryCallTool(call, each));
  }

  status(): Readonly<Record<Name, ServerStatus>> {
    const entries = [...this.#life.clients].map(([name, client]): [string, ServerStatus] => {
      const error = this.#failures.get(name);
      const isFailed = error !== undefined && client.state === "idle";
      const state = this.#life.isClosed
        ? "disconnected"
        : isFailed
          ? "failed"
          : STATE_OF_CLIENT[client.state];
      const tools = this.tools.filter(({ mcp }) => mcp.server === name).length;
      return [name, { state, tools, ...(isFailed ? { error } : {}) }];
    });
    return Object.fromEntries(entries) as Record<Name, ServerStatus>;
  }

  on<Event extends keyof ToolsetEvents<Name>>(
    event: Event,
    listener: (event: ToolsetEvents<Name>[Event]) => void,
  ): () => void {
    const stops = [...this.#life.clients].map(([server, client]) =>
      client.on(event, (data) => listener({ ...data, server } as ToolsetEvents<Name>[Event])),
    );
    return () => {
      for (const stop of stops) stop();
    };
  }

  async close(): Promise<void> {
    await this.#life.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #clientOf(server: string): McpClient {
    const client = this.#life.clients.get(server);
    if (client !== undefined) return client;
    const known = [...this.#life.clients.keys()].map((name) => `"${name}"`).join(", ");
    throw new McpRuntimeError(
      "definition",
      `There is no server "${server}" here; there are ${known || "none"}.`,
      { server },
    );
  }
}
