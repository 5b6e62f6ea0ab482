import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ProcessUser, ServerProcess } from "./child-process.js";
import type { TransportFactory } from "../transport-factory.js";
import { StdioTransport, type StdioTransportOptions } from "./stdio-transport.js";

type StdioSourceOptions = Omit<StdioTransportOptions, "startProcess">;

/** A process for each session. Knows all that are alive, also those that nobody uses any more. */
export class StdioSource implements TransportFactory {
  readonly #options: StdioSourceOptions;
  readonly #processes = new Set<ServerProcess>();
  #isClosed = false;

  constructor(options: StdioSourceOptions) {
    this.#options = options;
  }

  async openTransport(): Promise<StdioTransport> {
    return new StdioTransport({ ...this.#options, startProcess: (user) => this.#start(user) });
  }

  /** Over when nothing is left of any of them. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#processes].map((process) => process.stop()));
  }

  #start(user: ProcessUser): ServerProcess {
    const { server, address, clock } = this.#options;
    if (this.#isClosed)
      throw new McpRuntimeError("closed", `The client of server "${server}" was closed.`, { server });
    const onGone = (gone: ServerProcess) => this.#processes.delete(gone);
    const started = new ServerProcess({ address, clock, onGone }, user);
    this.#processes.add(started);
    return started;
  }
}
