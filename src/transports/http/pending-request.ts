import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/delay.js";
import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { BytesReader, EventStreamReader, ignoreBody, toText } from "./body-readers.js";
import { describeContent, encodingOf, isOfType } from "./content-headers.js";
import type { BodyReader, HttpRequestHandler, ResponseHeaders } from "../../net/http-request.js";
import { STREAM_ENDED, toConnectionFailure } from "./http-errors.js";
import type { HttpWire } from "./mcp-http-client.js";
import {
  isRequest,
  malformedAnswer,
  parseMessages,
  type Received,
  type RequestId,
  sortReceived,
  toFailureAnswer,
  tooLargeAnswer,
} from "../json-rpc.js";
import { LISTEN_METHOD } from "./modern-era.js";

/** A stream that stays open after its answer is given this long to end by itself. */
const LINGER_MS = 200;
/** How often in a row a broken stream is resumed in vain before the answer is given up. */
const MAX_VAIN_RESUMPTIONS = 3;
const RESUME_BROKEN_AFTER_MS = 100;
const RESUME_ENDED_AFTER_MS = 1_000;

interface PendingRequestEvents {
  /** A success is on its way: the headers it came with. */
  readonly onHeaders: (headers: ResponseHeaders) => void;
  /** A request or notification of the server, on the stream of this request. */
  readonly onCall: (message: JsonRpcMessage) => void;
  readonly onEnd: (answer: JsonRpcMessage) => void;
}

/**
 * One request until its answer: a POST and, where the server numbers its events, GETs that resume a
 * stream that broke off. It ends with exactly one message, the server's answer or a failure of ours,
 * unless it is cancelled first.
 */
export class PendingRequest {
  readonly #wire: HttpWire;
  readonly #id: RequestId;
  readonly #events: PendingRequestEvents;
  readonly #cancelled = new CancelScope();
  #exchange: HttpRequestHandler | undefined;
  #stream: EventStreamReader | undefined;
  /** We ask for none; a server that compresses all the same is told apart from one that sends garbage. */
  #encoding: string | undefined;
  #isResumed = false;
  #hasEnded = false;
  #vainResumptions = 0;
  #stopLingering: (() => void) | undefined;
  /** What the server asked on this stream. */
  readonly #asked: RequestId[] = [];

  constructor(wire: HttpWire, id: RequestId, events: PendingRequestEvents) {
    this.#wire = wire;
    this.#id = id;
    this.#events = events;
  }

  /** Whether the server may have seen the request. */
  get wasSent(): boolean {
    return this.#stream !== undefined || this.#exchange?.isStarted === true;
  }

  start(message: JsonRpcMessage, options: SendOptions): void {
    const hadSession = this.#wire.sessionId !== undefined;
    const events = {
      onHead: (status: number, headers: ResponseHeaders) => this.#readResponse(status, headers, hadSession),
      onBroken: (error: Error) => this.#onBroken(error),
    };
    const way = message.method === LISTEN_METHOD ? "stream" : "call";
    this.#exchange = this.#wire.post(message, way, events, options);
  }

  /** Nobody waits any more. */
  cancel(): void {
    this.#hasEnded = true;
    this.#cancelled.cancel(undefined);
    this.#exchange?.stop();
    this.#dropAsked();
  }

  #readResponse(status: number, headers: ResponseHeaders, hadSession: boolean): BodyReader {
    if (status < 200 || status > 299) {
      return this.#wire.readFailure({ status, headers, hadSession }, (failure) => this.#fail(failure));
    }
    this.#events.onHeaders(headers);
    this.#encoding = encodingOf(headers);
    if (isOfType(headers, "text/event-stream")) return this.#readStream();
    if (isOfType(headers, "application/json")) return this.#readJson(headers);
    this.#failMalformed(`HTTP ${status} ${describeContent(headers)}`);
    return ignoreBody;
  }

  #readJson(headers: ResponseHeaders): BodyReader {
    const onTooLarge = () => this.#fail(tooLargeAnswer(this.#wire.server, this.#wire.maxBytes));
    if (Number(headers["content-length"] ?? 0) > this.#wire.maxBytes) onTooLarge();
    return new BytesReader(this.#wire.maxBytes, {
      onTooLarge,
      onBytes: (bytes) => {
        this.#take(toText(bytes));
        this.#failMalformed("it has everything but the answer");
      },
    });
  }

  #readStream(resumed?: EventStreamReader): EventStreamReader {
    const stream = new EventStreamReader(this.#wire.maxBytes, {
      onData: (data) => this.#take(data),
      onTooLarge: () => this.#fail(tooLargeAnswer(this.#wire.server, this.#wire.maxBytes)),
      onEnd: () => this.#onStreamEnd(undefined),
    });
    stream.lastEventId = resumed?.lastEventId;
    stream.retryMs = resumed?.retryMs;
    this.#stream = stream;
    return stream;
  }

  /** One JSON text: a message, or several in a list. */
  #take(text: string): void {
    if (this.#hasEnded) return;
    const messages = parseMessages(text);
    for (const value of messages ?? []) this.#sort(sortReceived(value, this.#id));
    if (messages !== undefined) return;
    this.#failMalformed(
      this.#encoding === undefined ? "it is broken JSON" : `it is compressed (${this.#encoding})`,
    );
  }

  #sort(received: Received): void {
    if (this.#hasEnded) return;
    this.#vainResumptions = 0;
    if (received.is === "answer") this.#end(received.message);
    else if (received.is === "call") this.#hear(received.message);
    // Some servers resume with everything they sent since, on whatever stream it was.
    else if (received.is === "answer to another" && this.#isResumed) return;
    else this.#failMalformed(received.why);
  }

  #hear(message: JsonRpcMessage): void {
    if (isRequest(message)) this.#asked.push(message.id);
    this.#events.onCall(message);
  }

  /** What was asked for a call that is over has nobody who waits, and no stream to be taken back on. */
  #dropAsked(): void {
    const reason = "The call that it belongs to is over.";
    for (const requestId of this.#asked.splice(0)) {
      const params = { requestId, reason };
      this.#events.onCall({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
  }

  #failMalformed(why: string): void {
    if (this.#hasEnded) return;
    this.#fail(malformedAnswer(this.#wire, why));
  }

  #fail(failure: McpRuntimeError): void {
    if (this.#hasEnded) return;
    this.#exchange?.stop();
    this.#hasEnded = true;
    this.#dropAsked();
    this.#events.onEnd(toFailureAnswer(this.#id, failure));
  }

  #end(answer: JsonRpcMessage): void {
    this.#hasEnded = true;
    if (this.#stream !== undefined) {
      this.#stopLingering = this.#wire.clock.after(LINGER_MS, () => this.#exchange?.stop());
    }
    this.#events.onEnd(answer);
  }

  #onBroken(error: Error): void {
    if (this.#stream === undefined) this.#fail(toConnectionFailure(error, this.wasSent, this.#wire));
    else this.#onStreamEnd(error);
  }

  /** The stream is over. Without an answer it is resumed if the server numbers its events, and lost if not. */
  #onStreamEnd(broken: Error | undefined): void {
    this.#stopLingering?.();
    if (this.#hasEnded) return;
    const lost = toConnectionFailure(broken ?? STREAM_ENDED, true, this.#wire);
    if (this.#stream?.lastEventId === undefined || this.#vainResumptions >= MAX_VAIN_RESUMPTIONS) {
      this.#fail(lost);
      return;
    }
    delay(this.#resumeAfterMs(broken !== undefined), this.#wire.clock, this.#cancelled).then(
      () => this.#resume(lost),
      () => undefined,
    );
  }

  /** A server that ends a stream on purpose says when to come back; one that broke off is asked at once. */
  #resumeAfterMs(isBroken: boolean): number {
    if (!isBroken) return Math.max(this.#stream?.retryMs ?? RESUME_ENDED_AFTER_MS, RESUME_BROKEN_AFTER_MS);
    this.#vainResumptions += 1;
    return RESUME_BROKEN_AFTER_MS * (this.#vainResumptions - 1);
  }

  #resume(lost: McpRuntimeError): void {
    this.#isResumed = true;
    const { lastEventId } = this.#stream ?? {};
    this.#exchange = this.#wire.get(lastEventId, {
      onHead: (status, headers) => {
        if (status === 200 && isOfType(headers, "text/event-stream")) return this.#readStream(this.#stream);
        this.#fail(lost);
        return ignoreBody;
      },
      onBroken: (error) => this.#onBroken(error),
    });
  }
}
