import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { HttpRequestEvents, HttpRequestHandler } from "../../net/http-request.js";
import { fromConnectionError } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";
import type { RequestId } from "../json-rpc.js";

/** How long the HTTP response of a POST may stay open after the JSON-RPC response before it is aborted. */
const RESPONSE_GRACE_MS = 200;

interface SsePostOptions {
  /** Whether the session was already initialized. */
  readonly hadSession: boolean;
  /** The server did not accept the POST. */
  readonly onFailure: (request: SsePost, failure: McpRuntimeError) => void;
}

/** The POST of one request to an SSE server. Its JSON-RPC response arrives on the event stream. */
export class SsePost {
  readonly id: RequestId;
  readonly startedAt: number;
  readonly #httpClient: McpHttpClient;
  readonly #options: SsePostOptions;
  #handler: HttpRequestHandler | undefined;
  #isAccepted = false;
  #isDone = false;
  #cancelGrace: (() => void) | undefined;

  constructor(httpClient: McpHttpClient, id: RequestId, options: SsePostOptions) {
    this.id = id;
    this.#httpClient = httpClient;
    this.#options = options;
    this.startedAt = httpClient.clock.now();
  }

  /** Whether the server may have seen the request. */
  get wasSent(): boolean {
    return this.#handler?.wasDispatched === true;
  }

  start(message: JsonRpcMessage, options: SendOptions): void {
    const { hadSession } = this.#options;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => {
        if (status > 299)
          return this.#httpClient.createErrorReader({ status, headers, hadSession }, this.#fail);
        this.#isAccepted = true;
        return { data: () => undefined, end: () => this.#end() };
      },
      onError: (error) => {
        // After acceptance the rest of this HTTP response is irrelevant.
        if (this.#isAccepted) this.#end();
        else this.#fail(fromConnectionError(error, this.wasSent, this.#httpClient));
      },
    };
    this.#handler = this.#httpClient.post(message, "call", events, options);
  }

  /** The JSON-RPC response has arrived. */
  complete(): void {
    if (this.#isDone) return;
    this.#cancelGrace = this.#httpClient.clock.after(RESPONSE_GRACE_MS, () => this.abort());
  }

  abort(): void {
    this.#end();
    this.#handler?.abort();
  }

  readonly #fail = (failure: McpRuntimeError): void => {
    this.abort();
    this.#options.onFailure(this, failure);
  };

  #end(): void {
    this.#isDone = true;
    this.#cancelGrace?.();
  }
}
