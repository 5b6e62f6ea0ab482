import type { JsonObject } from "../json/json.js";
import type { GuardedTransport } from "./safe-transport.js";
import { JsonRpcClient } from "./json-rpc-client.js";
import type { ErrorContext } from "./rpc-failure.js";
import type { ServerMetadata, ServerNotification, Session, SessionRequest } from "./session.js";
import { brokenOff, type SessionEnd, tooLate } from "./session-close-reason.js";

interface LegacySessionOptions extends ErrorContext {
  /** Hands were shaken over it. */
  readonly transport: GuardedTransport;
  readonly facts: ServerMetadata | undefined;
  readonly isResumed: boolean;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
  /** The transport below went by itself. */
  readonly onLost: () => void;
}

/** A conversation with a server that shakes hands, and may forget it. */
export class LegacySession implements Session {
  readonly facts: ServerMetadata | undefined;
  readonly isResumed: boolean;
  readonly #server: string;
  readonly #transport: GuardedTransport;
  readonly #exchange: JsonRpcClient;
  #isProven: boolean;
  #inFlight = 0;
  #end: SessionEnd | undefined;

  constructor(options: LegacySessionOptions) {
    const { server, transport, facts, isResumed, onError, onLost } = options;
    this.facts = facts;
    this.isResumed = isResumed;
    this.#isProven = !isResumed;
    this.#server = server;
    this.#transport = transport;
    this.#exchange = new JsonRpcClient(options);
    transport.onerror = onError;
    transport.onclose = () => {
      const isLost = this.#end === undefined;
      this.#end ??= "lost";
      this.#exchange.breakOff(brokenOff(server, this.#end));
      if (isLost) onLost();
    };
  }

  get id(): string | undefined {
    return this.#transport.sessionId;
  }

  get isProven(): boolean {
    return this.#isProven;
  }

  get isAlive(): boolean {
    return this.#end === undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async request(request: SessionRequest): Promise<JsonObject> {
    request.cancellation.throwIfCancelled();
    if (this.#end !== undefined) throw tooLate(this.#server, this.#end);
    this.#inFlight += 1;
    try {
      const result = await this.#exchange.request(request);
      this.#isProven = true;
      return result;
    } finally {
      this.#inFlight -= 1;
      if (this.#end === "retired" && this.#inFlight === 0) void this.#transport.close();
    }
  }

  listen(): Promise<void> {
    return this.#transport.listen();
  }

  retire(): void {
    if (this.#end !== undefined) return;
    this.#end = "retired";
    if (this.#inFlight === 0) void this.#transport.close();
  }

  async close({ terminate }: { readonly terminate: boolean }): Promise<void> {
    if (this.#end !== undefined) return;
    this.#end = "closed";
    this.#transport.stopAnswering();
    if (terminate) await this.#transport.terminateSession();
    await this.#transport.close();
  }
}
