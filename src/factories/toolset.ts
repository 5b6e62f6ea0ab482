import { randomUUID } from "node:crypto";
import {
  type CallOutcome,
  type CallToolOptions,
  type CallToolsOptions,
  checkConcurrency,
  DEFAULT_CALL_CONCURRENCY,
} from "../client/call-tool.js";
import type { ClientState } from "../client/client-life.js";
import type { McpClient } from "../client/mcp-client.js";
import type { ToolResult } from "../client/tool-result.js";
import { mapLimited } from "../concurrency/map-limited.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { findTool } from "./find-tool.js";
import type { McpToolset, ServerState, ServerStatus, ToolsetCall, ToolsetEvents } from "./mcp-toolset.js";
import type { ToolsetLife } from "./toolset-life.js";

const STATE_OF_CLIENT: Readonly<Record<ClientState, ServerState>> = {
  idle: "idle",
  connecting: "connecting",
  ready: "connected",
  closed: "disconnected",
};

/** A toolset over the clients of one life. */
export class Toolset<Name extends string> implements McpToolset<Name> {
  readonly tools: McpTool[];
  readonly clients: Readonly<Record<Name, McpClient>>;
  readonly #life: ToolsetLife;
  readonly #failures: ReadonlyMap<string, McpRuntimeError>;

  constructor(
    life: ToolsetLife,
    tools: McpTool[],
    failures: ReadonlyMap<string, McpRuntimeError> = new Map(),
  ) {
    this.tools = tools;
    this.clients = Object.fromEntries(life.clients) as Record<Name, McpClient>;
    this.#life = life;
    this.#failures = failures;
    // `const { tools, callTool, close } = await createMcpTools(…)` is how many will use it.
    for (const method of [
      "getTools",
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

  async callTool(
    call: ToolsetCall<Name>,
    options: Pick<CallToolOptions, "signal"> = {},
  ): Promise<ToolResult> {
    const tool = findTool(this.tools, call);
    const toolCall = call.id === undefined ? {} : { toolCall: { id: call.id } };
    const signal = options.signal === undefined ? {} : { signal: options.signal };
    return tool.run(call.args ?? {}, { ...signal, ...toolCall });
  }

  async tryCallTool(
    call: ToolsetCall<Name>,
    options: Pick<CallToolOptions, "signal"> = {},
  ): Promise<CallOutcome> {
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
    options: Pick<CallToolsOptions, "signal" | "concurrency"> = {},
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
