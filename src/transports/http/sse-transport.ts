import { isPlainObject } from "../../json/json.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Asides } from "./notification-sender.js";
import { EndpointStream } from "./sse-event-stream.js";
import { toConnectionFailure } from "./http-errors.js";
import { HttpWire, type HttpWireOptions } from "./mcp-http-client.js";
import {
  isRequest,
  malformedAnswer,
  parseMessages,
  type RequestId,
  sortReceived,
  toFailureAnswer,
  tooLargeAnswer,
} from "../json-rpc.js";
import { OpenRequests } from "../pending-requests.js";
import { PostedRequest } from "./sse-post.js";
import { SilenceCheck } from "./liveness-check.js";
import { sortUnread } from "../truncated-message.js";

/** No request has it. */
const NO_ID = "";

const STREAM_SILENT = Object.assign(new Error("The stream gave no sign of life."), {
  code: "no sign of life",
});

interface LegacySseOptions extends HttpWireOptions {
  /** What else somebody may try whose server has no such stream. */
  readonly advice?: string | undefined;
}

/**
 * HTTP+SSE of protocol version 2024-11-05, for one session: a GET whose stream brings everything that
 * the server says, and POSTs to the endpoint that the stream names first. The stream is the session:
 * when it ends, so does this transport, and requests that wait fail at once.
 *
 * `send` rejects only when the transport is closed; a request that fails otherwise gets its failure
 * for an answer, and what concerns no request goes to `onerror`.
 */
export class SseTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #advice: string | undefined;
  readonly #wire: HttpWire;
  readonly #stream: EndpointStream;
  readonly #asides: Asides;
  readonly #silence: SilenceCheck;
  readonly #open = new OpenRequests<PostedRequest>();
  #endpoint: URL | undefined;
  #isGreeted = false;
  #isClosed = false;

  constructor(options: LegacySseOptions) {
    this.#advice = options.advice;
    this.#wire = new HttpWire(options);
    this.#asides = new Asides(this.#wire, (error) => this.onerror?.(error));
    this.#silence = new SilenceCheck({
      clock: options.clock,
      // Whatever comes is a sign of life; the answer itself is nobody's.
      ask: () => void this.#post({ jsonrpc: "2.0", id: "sign-of-life", method: "ping" }),
      onDead: () => this.#lose(({ wasSent }) => toConnectionFailure(STREAM_SILENT, wasSent, this.#wire)),
    });
    this.#stream = new EndpointStream(this.#wire, {
      onHeard: () => this.#silence.heard(),
      onData: (data) => this.#take(data),
      onLost: (toFailure) => this.#lose(({ wasSent }) => toFailure(wasSent)),
      onTooLarge: () => this.#loseToTooMuch(),
    });
  }

  /**
   * What tells this conversation from others in the endpoint. Not before the handshake: the SDK takes
   * an id for a session that is resumed, and leaves the handshake out.
   */
  get sessionId(): string | undefined {
    return this.#isGreeted && this.#endpoint !== undefined ? sessionIdOf(this.#endpoint) : undefined;
  }

  /** The server streams; what, is not said. */
  get isStreaming(): boolean {
    return this.#stream.isStreaming;
  }

  setProtocolVersion(version: string): void {
    this.#wire.protocolVersion = version;
  }

  async start(): Promise<void> {
    const endpoint = await this.#stream.open().catch((failure: McpRuntimeError) => {
      const isRefused = failure.kind === "invalid-request" && this.#advice !== undefined;
      throw isRefused ? failure.with({ message: `${failure.message} ${this.#advice}` }) : failure;
    });
    this.#endpoint = endpoint;
    this.#wire.messagePath = `${endpoint.pathname}${endpoint.search}`;
  }

  async send(message: JsonRpcMessage, options: SendOptions = {}): Promise<void> {
    if (this.#isClosed) throw this.#gone();
    if (isRequest(message)) this.#request(message, options);
    else if (message.method === "notifications/cancelled") await this.#cancel(message);
    else await this.#post(message);
  }

  /** Whether the server may have seen a request. */
  wasSent(id: RequestId): boolean {
    return this.#open.get(id)?.wasSent ?? true;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.close();
    this.#silence.stop();
    for (const request of this.#open) this.#forget(request);
    this.#asides.giveUp();
    this.onclose?.();
  }

  #request(message: JsonRpcMessage & { id: RequestId }, options: SendOptions): void {
    const request = new PostedRequest(this.#wire, message.id, {
      hadSession: this.#isGreeted,
      onFailure: (failed, failure) => {
        if (this.#open.get(failed.id) !== failed) return;
        this.#fail(failed, this.#isGreeted ? failure : withEndpointAdvice(failure));
      },
    });
    this.#open.add(request);
    try {
      request.start(message, options);
    } catch (error) {
      this.#open.delete(request);
      throw error;
    }
  }

  /** What the server has never seen needs no cancellation there. */
  async #cancel(message: JsonRpcMessage): Promise<void> {
    const request = this.#open.get(message.params?.["requestId"]);
    if (request === undefined) return;
    this.#forget(request);
    if (!request.wasSent) return;
    this.#silence.doubt(request.startedAt);
    await this.#post(message);
  }

  #post(message: JsonRpcMessage): Promise<void> {
    return this.#asides.send({ hadSession: this.#isGreeted }, (events) =>
      this.#wire.post(message, "aside", events),
    );
  }

  #take(text: string): void {
    const values = parseMessages(text);
    if (values === undefined) this.#takeBroken(text);
    else for (const value of values) this.#sort(value);
  }

  #sort(value: unknown): void {
    const request = this.#open.answeredBy(value);
    const received = sortReceived(value, request?.id ?? NO_ID);
    if (received.is === "call") this.onmessage?.(received.message);
    else if (received.is === "answer" && request !== undefined) this.#answer(request, received.message);
    // An answer that nobody waits for: its request was cancelled, or failed on its way.
    else if (request === undefined && isPlainObject(value) && value["id"] != null) return;
    else this.#failMalformed(request, "why" in received ? received.why : "it names no request");
  }

  #takeBroken(text: string): void {
    const message = sortUnread(text, text);
    const request = message.is === "answer" ? this.#open.get(message.id) : undefined;
    this.#failMalformed(request, "it is broken JSON");
  }

  /** What names no request is taken for the answer that is waited for; of several, nobody can tell which. */
  #failMalformed(named: PostedRequest | undefined, why: string): void {
    const [only, ...others] = this.#open;
    const request = named ?? (others.length === 0 ? only : undefined);
    const failure = malformedAnswer(this.#wire, why);
    if (request === undefined) this.onerror?.(failure);
    else this.#fail(request, failure);
  }

  #fail(request: PostedRequest, failure: McpRuntimeError): void {
    this.#answer(request, toFailureAnswer(request.id, failure));
  }

  #answer(request: PostedRequest, answer: JsonRpcMessage): void {
    request.finish();
    this.#open.delete(request);
    // The first answer is the server's greeting, or a failure after which nothing more is sent.
    this.#isGreeted = true;
    this.onmessage?.(answer);
  }

  #forget(request: PostedRequest): void {
    request.stop();
    this.#open.delete(request);
  }

  /** Whoever waits is told at once: no answer will come. */
  #lose(toFailure: (request: PostedRequest) => McpRuntimeError): void {
    for (const request of this.#open) {
      const failure = toFailure(request);
      this.#forget(request);
      this.onmessage?.(toFailureAnswer(request.id, failure));
    }
    void this.close();
  }

  /** The rest is not read, so the stream cannot go on. Of several requests nobody can tell whose answer it was. */
  #loseToTooMuch(): void {
    const { server, maxBytes } = this.#wire;
    const failure = tooLargeAnswer(server, maxBytes);
    const message = `${failure.message} It was for this request or for one beside it.`;
    const shared = failure.with({ message });
    this.#lose(this.#open.size > 1 ? () => shared : () => failure);
  }

  #gone(): McpRuntimeError {
    const { server } = this.#wire;
    return new McpRuntimeError("not-sent", `The stream of server "${server}" has ended.`, { server });
  }
}

/** The first message went to a place that the server has just named: what does not know it is not that server. */
function withEndpointAdvice(failure: McpRuntimeError): McpRuntimeError {
  if (failure.kind !== "invalid-request") return failure;
  const advice =
    "The server named this endpoint itself: does a proxy or load balancer in between lead elsewhere?";
  return failure.with({ message: `${failure.message} ${advice}` });
}

/** By the names that servers use; a server with another way is told by the whole place. */
function sessionIdOf({ pathname, search, searchParams }: URL): string {
  return searchParams.get("sessionId") ?? searchParams.get("session_id") ?? `${pathname}${search}`;
}
