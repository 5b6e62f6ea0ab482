import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ProcessListener, ServerProcess } from "./server-process.js";
import type { TransportFactory } from "../transport.js";
import { StdioTransport, type StdioTransportOptions } from "./stdio-transport.js";

type StdioTransportFactoryOptions = Omit<StdioTransportOptions, "startProcess">;

/**
 * Starts one process per session, and tracks all running processes, including those whose session has
 * ended.
 */
export class StdioTransportFactory implements TransportFactory {
  readonly #options: StdioTransportFactoryOptions;
  readonly #processes = new Set<ServerProcess>();
  #isClosed = false;

  constructor(options: StdioTransportFactoryOptions) {
    this.#options = options;
  }

  async openTransport(): Promise<StdioTransport> {
    return new StdioTransport({ ...this.#options, startProcess: (listener) => this.#start(listener) });
  }

  /** Resolves when all processes have been stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes].map((process) => process.stop()));
  }

  #start(listener: ProcessListener): ServerProcess {
    const { server, address, clock } = this.#options;
    if (this.#isClosed)
      throw new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
    const onStopped = (stopped: ServerProcess) => this.#processes.delete(stopped);
    const started = new ServerProcess({ address, clock, onStopped }, listener);
    this.#processes.add(started);
    return started;
  }
}
