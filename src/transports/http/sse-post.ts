import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { HttpRequestHandler, ResponseHeaders } from "../../net/http-request.js";
import { toConnectionFailure } from "./http-errors.js";
import type { HttpWire } from "./mcp-http-client.js";
import type { RequestId } from "../json-rpc.js";

/** A response that stays open after the answer is given this long to end by itself. */
const LINGER_MS = 200;

interface PostedRequestOptions {
  /** Whether the server has given this conversation a session. */
  readonly hadSession: boolean;
  /** The server did not take it. */
  readonly onFailure: (request: PostedRequest, failure: McpRuntimeError) => void;
}

/** The way of one request to a legacy SSE server: a POST that the server takes. Its answer comes elsewhere. */
export class PostedRequest {
  readonly id: RequestId;
  readonly startedAt: number;
  readonly #wire: HttpWire;
  readonly #options: PostedRequestOptions;
  #exchange: HttpRequestHandler | undefined;
  #isTaken = false;
  #isOver = false;
  #stopLingering: (() => void) | undefined;

  constructor(wire: HttpWire, id: RequestId, options: PostedRequestOptions) {
    this.id = id;
    this.#wire = wire;
    this.#options = options;
    this.startedAt = wire.clock.now();
  }

  /** Whether the server may have seen it. */
  get wasSent(): boolean {
    return this.#exchange?.isStarted === true;
  }

  start(message: JsonRpcMessage, options: SendOptions): void {
    const { hadSession } = this.#options;
    const events = {
      onHead: (status: number, headers: ResponseHeaders) => {
        if (status > 299) return this.#wire.readFailure({ status, headers, hadSession }, this.#fail);
        this.#isTaken = true;
        return { data: () => undefined, end: () => this.#end() };
      },
      onBroken: (error: Error) => {
        // What becomes of the rest of this response is nobody's concern: the answer comes elsewhere.
        if (this.#isTaken) this.#end();
        else this.#fail(toConnectionFailure(error, this.wasSent, this.#wire));
      },
    };
    this.#exchange = this.#wire.post(message, "call", events, options);
  }

  /** Its answer has come. */
  finish(): void {
    if (this.#isOver) return;
    this.#stopLingering = this.#wire.clock.after(LINGER_MS, () => this.stop());
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#end();
    this.#exchange?.stop();
  }

  readonly #fail = (failure: McpRuntimeError): void => {
    this.stop();
    this.#options.onFailure(this, failure);
  };

  #end(): void {
    this.#isOver = true;
    this.#stopLingering?.();
  }
}
