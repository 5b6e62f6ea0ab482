import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import { z } from "zod";
import type { Redactor } from "../errors/redaction.js";
import type { GuardedTransport } from "./guarded-transport.js";
import type { ServerFacts, Session, SessionRequest } from "./session.js";
import { brokenOff, type SessionEnd, tooLate } from "./session-end.js";
import { toRuntimeError } from "./to-runtime-error.js";

/** Our deadlines rule; the SDK's own are set out of reach. */
export const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;
/** Results are read by the rooms above, leniently: one odd item must not cost the whole answer. */
const ANY_RESULT = z.unknown();

interface SdkSessionOptions {
  readonly server: string;
  readonly sdk: Client;
  readonly transport: GuardedTransport;
  readonly facts: ServerFacts | undefined;
  readonly isResumed: boolean;
  readonly redactor: Redactor;
  /** The transport below went by itself. */
  readonly onLost: () => void;
}

/** Who hears of progress, for as long as the request runs. */
class ProgressRelay {
  #listener: SessionRequest["onProgress"];

  constructor(listener: SessionRequest["onProgress"]) {
    this.#listener = listener;
  }

  get options(): RequestOptions {
    const { timeout } = NO_SDK_TIMEOUT;
    return this.#listener === undefined
      ? NO_SDK_TIMEOUT
      : { timeout, onprogress: (progress) => this.#listener?.(progress) };
  }

  /** The SDK's garbage outlives its request by many collections; without this, all that is ours would, too. */
  end(): void {
    this.#listener = undefined;
  }
}

/** A session on the official SDK: one SDK client over one transport, used for this session alone. */
export class SdkSession implements Session {
  readonly facts: ServerFacts | undefined;
  readonly isResumed: boolean;
  readonly #options: SdkSessionOptions;
  #isProven: boolean;
  #inFlight = 0;
  #end: SessionEnd | undefined;

  constructor(options: SdkSessionOptions) {
    this.facts = options.facts;
    this.isResumed = options.isResumed;
    this.#isProven = !options.isResumed;
    this.#options = options;
    options.sdk.onclose = () => {
      if (this.#end !== undefined) return;
      this.#end = "lost";
      options.onLost();
    };
  }

  get id(): string | undefined {
    return this.#options.transport.sessionId;
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

  async request({
    method,
    params,
    cancellation,
    headers,
    context,
    onProgress,
    delivery,
  }: SessionRequest): Promise<unknown> {
    cancellation.throwIfCancelled();
    if (this.#end !== undefined) throw tooLate(this.#options.server, this.#end);
    const { sdk, transport } = this.#options;
    this.#inFlight += 1;
    const relay = new ProgressRelay(onProgress);
    const { sent, id } = transport.request({ headers, context }, () =>
      sdk.request({ method, params }, ANY_RESULT, relay.options),
    );
    if (delivery !== undefined && id !== undefined) {
      delivery.wasSent = () => transport.wasSent(id);
      delivery.wireId = transport.wireId(id);
    }
    const forget = cancellation.onCancel((reason) => {
      if (id === undefined) return;
      const wasSent = transport.wasSent(id);
      if (delivery !== undefined) delivery.wasSent = () => wasSent;
      transport.cancel(id, reason);
    });
    try {
      const result = await sent;
      this.#isProven = true;
      return result;
    } catch (error) {
      const ended = this.#end === undefined ? undefined : brokenOff(this.#options.server, this.#end);
      throw toRuntimeError(error, ended, { ...this.#options, method });
    } finally {
      forget();
      relay.end();
      this.#inFlight -= 1;
      if (this.#end === "retired" && this.#inFlight === 0) void sdk.close();
    }
  }

  listen(): Promise<void> {
    return this.#options.transport.listen();
  }

  retire(): void {
    if (this.#end !== undefined) return;
    this.#end = "retired";
    if (this.#inFlight === 0) void this.#options.sdk.close();
  }

  async close({ terminate }: { readonly terminate: boolean }): Promise<void> {
    if (this.#end !== undefined) return;
    this.#end = "closed";
    this.#options.transport.stopAnswering();
    if (terminate) await this.#options.transport.terminateSession();
    await this.#options.sdk.close();
  }
}
