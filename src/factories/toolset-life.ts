import { Cancellation } from "../concurrency/cancellation.js";
import type { McpClientOptions } from "../client/assemble-client.js";
import { McpClient } from "../client/mcp-client.js";
import type { ServerDefinition } from "../definitions/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolCaller } from "../tools/tool-parts.js";

/** The clients of one toolset: made together, closed together, in reverse. */
export class ToolsetLife {
  readonly #clients = new Map<string, McpClient>();
  readonly #options: McpClientOptions;
  readonly #closed = new Cancellation();
  #closing: Promise<void> | undefined;

  constructor(options: McpClientOptions) {
    this.#options = options;
  }

  get clients(): ReadonlyMap<string, McpClient> {
    return this.#clients;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  add(name: string, definition: ServerDefinition): McpClient {
    const client = new McpClient({ name, ...definition }, this.#options);
    this.#clients.set(name, client);
    return client;
  }

  /** Calls through a client, for as long as the toolset is open. A client alone could be used again. */
  callerOf(client: McpClient): ToolCaller {
    return { closed: this.#closed, callTool: (call, options) => client.callTool(call, options) };
  }

  /** Past errors: one client that cannot be closed keeps no other open. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    this.#closed.cancel(new McpRuntimeError("closed", "The toolset was closed."));
    const results = await Promise.allSettled(
      [...this.#clients.values()].toReversed().map((client) => client.close()),
    );
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }
}
