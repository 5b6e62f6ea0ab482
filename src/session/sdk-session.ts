import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { z } from "zod";
import type { JsonRpcMessage, MessageTransport } from "../definitions/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { type RequestId, toFailureAnswer } from "../transports/json-rpc.js";
import type { ServerFacts, Session, SessionRequest } from "./session.js";
import { toRuntimeError } from "./to-runtime-error.js";

/** Our deadlines rule; the SDK's own are set out of reach. */
export const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;
/** Results are read by the rooms above, leniently: one odd item must not cost the whole answer. */
const ANY_RESULT = z.unknown();

/** How long a server gets to take our goodbye. */
const FAREWELL_MS = 1_000;

export interface SdkSessionOptions {
  readonly server: string;
  readonly sdk: Client;
  readonly transport: MessageTransport;
  readonly facts: ServerFacts | undefined;
  readonly redactor: Redactor;
}

/** A session on the official SDK: one SDK client over one transport, used for this session alone. */
export class SdkSession implements Session {
  readonly facts: ServerFacts | undefined;
  readonly #server: string;
  readonly #sdk: Client;
  readonly #transport: MessageTransport;
  readonly #redactor: Redactor;
  readonly #farewells = new Set<Promise<void>>();
  #lastRequestId: RequestId | undefined;
  #nextHeaders: SessionRequest["headers"];
  #inFlight = 0;
  #isRetired = false;
  #closedBy: McpRuntimeError | undefined;

  constructor(options: SdkSessionOptions) {
    this.facts = options.facts;
    this.#server = options.server;
    this.#sdk = options.sdk;
    this.#transport = options.transport;
    this.#redactor = options.redactor;
    this.#watchRequests();
    this.#sdk.onclose = () => {
      this.#closedBy ??= new McpRuntimeError(
        "connection-lost",
        `The connection to server "${this.#server}" ended.`,
        {
          server: this.#server,
          outcomeUnknown: true,
        },
      );
    };
  }

  get id(): string | undefined {
    return this.#transport.sessionId;
  }

  get isAlive(): boolean {
    return this.#closedBy === undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async request({ method, params, cancellation, headers, onProgress }: SessionRequest): Promise<unknown> {
    cancellation.throwIfCancelled();
    this.#throwIfGone();
    this.#inFlight += 1;
    this.#lastRequestId = undefined;
    this.#nextHeaders = headers;
    const answer = this.#sdk.request({ method, params }, ANY_RESULT, {
      ...NO_SDK_TIMEOUT,
      ...(onProgress === undefined ? {} : { onprogress: onProgress }),
    });
    this.#nextHeaders = undefined;
    const id = this.#lastRequestId;
    const forget = cancellation.onCancel((reason) => this.#cancel(id, reason));
    try {
      return await answer;
    } catch (error) {
      throw toRuntimeError(error, {
        server: this.#server,
        redactor: this.#redactor,
        hasSession: this.id !== undefined,
        closedBy: this.#closedBy,
      });
    } finally {
      forget();
      this.#inFlight -= 1;
      if (this.#isRetired && this.#inFlight === 0) void this.close({ terminate: false });
    }
  }

  listen(): void {
    this.#transport.listen?.();
  }

  retire(): void {
    this.#isRetired = true;
    if (this.#inFlight === 0) void this.close({ terminate: false });
  }

  async close({ terminate }: { readonly terminate: boolean }): Promise<void> {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = new McpRuntimeError("closed", `The client of server "${this.#server}" was closed.`, {
      server: this.#server,
    });
    await withinFarewell(Promise.all(this.#farewells));
    if (terminate) await withinFarewell(this.#transport.terminateSession?.());
    await this.#sdk.close();
  }

  /**
   * The SDK sends a request before `request()` returns, so what is sent in between belongs to it. We
   * learn its id, which we need to cancel: the SDK's own way costs an `AbortSignal` a call, never
   * takes its listener off again, and turns the reason into text. And we add headers, for which the
   * SDK has no way at all.
   */
  #watchRequests(): void {
    const send = this.#transport.send.bind(this.#transport);
    this.#transport.send = (message, options) => {
      if (message.method !== undefined && message.id !== undefined) this.#lastRequestId = message.id;
      return send(
        message,
        this.#nextHeaders === undefined ? options : { ...options, headers: this.#nextHeaders },
      );
    };
  }

  /** Tells the server, and ends the request here with the reason as it is. */
  #cancel(id: RequestId | undefined, reason: unknown): void {
    if (id === undefined) return;
    const message: JsonRpcMessage = {
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId: id, reason: "The caller no longer waits for the answer." },
    };
    const farewell = (async () => this.#transport.send(message))().catch(() => undefined);
    this.#farewells.add(farewell);
    void farewell.finally(() => this.#farewells.delete(farewell));
    this.#transport.onmessage?.(toFailureAnswer(id, reason));
  }

  #throwIfGone(): void {
    if (this.#closedBy === undefined) return;
    if (this.#closedBy.kind === "closed") throw this.#closedBy;
    throw new McpRuntimeError("not-sent", `The connection to server "${this.#server}" is gone.`, {
      server: this.#server,
    });
  }
}

async function withinFarewell(goodbye: Promise<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise((resolve) => {
    timer = setTimeout(resolve, FAREWELL_MS);
  });
  await Promise.race([goodbye, enough]).catch(() => undefined);
  clearTimeout(timer);
}
