import type { Clock } from "../async/clock.js";
import { within } from "../async/settle-within.js";
import type { JsonObject } from "../json/json.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../config/message-transport.js";
import { isRequest, type RequestId, toFailureAnswer } from "../transports/json-rpc.js";
import type { ServerRequests } from "./server-requests/server-requests.js";
import type { WireIds } from "./wire-ids.js";

/** How long a server gets to take our goodbye, and a transport to close. */
const FAREWELL_MS = 1_000;
/** How long a server gets to open the channel on which it asks. */
const LISTEN_MS = 500;

interface GuardOptions {
  readonly clock: Clock;
  /** Answers what the server asks. */
  readonly requests: Pick<ServerRequests, "take" | "close">;
  /** Where others use the same session. */
  readonly ids: WireIds | undefined;
  /** Goes along with `initialize`, which the SDK lets nobody write. */
  readonly greetingMeta?: JsonObject;
  /** A transport that is not ours failed to start or to send: what that is in our words. */
  readonly toFailure: (error: unknown, phase: "start" | "send") => Error;
}

/** A started transport that somebody else goes on with, and closes. */
export interface HandedOn {
  readonly transport: MessageTransport;
  /** It has ended since, when nobody else could hear of it. */
  readonly isGone: () => boolean;
}

/**
 * Stands before any transport, ours or a user's, and keeps what a session and the SDK rely on but do not
 * check: a request that cannot be sent gets a failure for an answer, nothing rejects that nobody waits
 * for, closing takes a bounded time and is told once.
 */
export class GuardedTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #inner: MessageTransport;
  readonly #options: GuardOptions;
  readonly #asides = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;
  #isClosed = false;
  #isGone = false;
  #isHandedOn = false;

  constructor(inner: MessageTransport, options: GuardOptions) {
    this.#inner = inner;
    this.#options = options;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get isOneWay(): boolean {
    return this.#inner.isOneWay === true;
  }

  /** It was closed, or has ended by itself. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.takeOver();
    try {
      await this.#inner.start();
    } catch (error) {
      throw this.#options.toFailure(error, "start");
    }
  }

  /** In place of `start`, where the transport was handed on by somebody who had started it. */
  takeOver(): void {
    const { ids } = this.#options;
    this.#inner.onmessage = (received) => {
      const message = ids?.incoming(received) ?? received;
      const isTaken = this.#options.requests.take(message, (answer) => void this.send(answer));
      if (!isTaken) this.onmessage?.(message);
    };
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#isGone = true;
      this.#tellClosed();
    };
  }

  /** The transport, which this one will not close any more: somebody else goes on with it. */
  handOn(): HandedOn {
    this.#isHandedOn = true;
    return { transport: this.#inner, isGone: () => this.#isGone };
  }

  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    const sending = this.#send(message, options);
    if (!isRequest(message)) return this.#aside(sending);
    return sending.catch((error: unknown) => {
      this.onmessage?.(toFailureAnswer(message.id, this.#options.toFailure(error, "send")));
    });
  }

  /** Whether the server may have seen a request. */
  wasSent(id: RequestId): boolean {
    return this.#inner.wasSent?.(this.wireId(id)) ?? true;
  }

  /** The id under which a request travels. */
  wireId(id: RequestId): RequestId {
    return this.#options.ids?.toWire(id) ?? id;
  }

  /** Done when the server can speak unasked, as far as one can wait for that. */
  listen(): Promise<void> {
    return within(LISTEN_MS, this.#options.clock, () => this.#inner.listen?.());
  }

  /** Whatever the server still wants to know, it is not told any more. */
  stopAnswering(): void {
    this.#options.requests.close();
  }

  /** Lets what was said last get through, and ends the session on the server. */
  async terminateSession(): Promise<void> {
    if (this.#isHandedOn) return;
    const { clock } = this.#options;
    await within(FAREWELL_MS, clock, () => Promise.all(this.#asides));
    await within(FAREWELL_MS, clock, () => this.#inner.terminateSession?.());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (!this.#isHandedOn) await within(FAREWELL_MS, this.#options.clock, () => this.#inner.close());
    this.#tellClosed();
  }

  async #send(message: JsonRpcMessage, options: SendOptions | undefined): Promise<void> {
    const { ids, greetingMeta = {} } = this.#options;
    const isGreeting = message.method === "initialize" && Object.keys(greetingMeta).length > 0;
    const said = isGreeting ? { ...message, params: { ...message.params, _meta: greetingMeta } } : message;
    await this.#inner.send(ids?.outgoing(said) ?? said, options);
  }

  /** What expects no answer may fail: whoever needs to know finds out by other means. */
  async #aside(sending: Promise<void>): Promise<void> {
    const done = sending.catch((error: unknown) => {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    });
    this.#asides.add(done);
    await done;
    this.#asides.delete(done);
  }

  #tellClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.stopAnswering();
    this.onclose?.();
  }
}
