import type { Clock } from "../../async/clock.js";
import type { CallContext } from "../../config/call-context.js";
import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { BeginningReader } from "./body-readers.js";
import type { Credentials, Proof } from "../../auth/credentials.js";
import {
  type BodyReader,
  HttpRequestHandler,
  type HttpExchangeEvents,
  type HttpRequest,
  type ResponseHeaders,
} from "../../net/http-request.js";
import { type FailedResponse, redirectTarget, toStatusFailure } from "./http-errors.js";
import type { HttpPool, HttpWay } from "../../net/http-pool.js";
import { toJsonText } from "../json-rpc.js";
import { toSendableHeaders, withoutOwned } from "./protocol-headers.js";
import { ProvenSending } from "./authenticated-request.js";
import { isModern, toModernHeaders } from "./modern-era.js";

export interface HttpWireOptions {
  readonly server: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** What depends on who asks. */
  readonly credentials?: Credentials | undefined;
  readonly pool: HttpPool;
  readonly maxBytes: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly sessionId?: string | undefined;
  readonly protocolVersion?: string | undefined;
}

type Headers = Record<string, string>;

const MAX_REDIRECTS = 3;

/** The HTTP side of one session: its address, its headers, and the three requests it can make. */
export class HttpWire {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly #pool: HttpPool;
  readonly #path: string;
  #messagePath: string;
  readonly #configured: Headers;
  readonly #credentials: Credentials | undefined;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  #postHeaders: Headers | undefined;

  constructor(options: HttpWireOptions) {
    this.server = options.server;
    this.redactor = options.redactor;
    this.clock = options.clock;
    this.maxBytes = options.maxBytes;
    this.#pool = options.pool;
    this.#path = `${options.url.pathname}${options.url.search}`;
    this.#messagePath = this.#path;
    this.#configured = toSendableHeaders(options.headers, options.url);
    this.#credentials = options.credentials;
    this.#sessionId = options.sessionId;
    this.#protocolVersion = options.protocolVersion;
  }

  get origin(): string {
    return this.#pool.origin;
  }

  /** Without credentials. */
  get address(): string {
    return `${this.origin}${this.#path}`;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  set sessionId(id: string | undefined) {
    this.#sessionId = id;
    this.#postHeaders = undefined;
  }

  set protocolVersion(version: string) {
    this.#protocolVersion = version;
    this.#postHeaders = undefined;
  }

  /** Where messages go on this origin, when the server has named another place than its address. */
  set messagePath(path: string) {
    this.#messagePath = path;
  }

  /** `options`: for this message only. */
  post(
    message: JsonRpcMessage,
    way: HttpWay,
    events: HttpExchangeEvents,
    options: SendOptions = {},
  ): HttpRequestHandler {
    this.#postHeaders ??= this.#headers({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    });
    const request: HttpRequest = {
      method: "POST",
      path: this.#messagePath,
      headers: isModern(message) ? { ...this.#postHeaders, ...toModernHeaders(message) } : this.#postHeaders,
      body: toJsonText(message, this.server),
    };
    return this.#send(way, request, events, options);
  }

  /** Opens a stream of events: the server's own, or the rest of one that broke off. */
  get(lastEventId: string | undefined, events: HttpExchangeEvents): HttpRequestHandler {
    const resumption: Headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = this.#headers({ accept: "text/event-stream", ...resumption });
    return this.#send("stream", { method: "GET", path: this.#path, headers }, events);
  }

  delete(events: HttpExchangeEvents): HttpRequestHandler {
    return this.#send("aside", { method: "DELETE", path: this.#path, headers: this.#headers({}) }, events);
  }

  /** Reads the beginning of a response that is no success, and says what it means. */
  readFailure(
    response: Omit<FailedResponse, "body">,
    onFailure: (failure: McpRuntimeError) => void,
  ): BodyReader {
    return new BeginningReader(this.clock, (body) => onFailure(toStatusFailure({ ...response, body }, this)));
  }

  /** The protocol's own headers come last: nobody's configuration replaces them. */
  #headers(own: Headers): Headers {
    const headers: Headers = { ...this.#configured, "accept-encoding": "identity", ...own };
    if (this.#sessionId !== undefined) headers["mcp-session-id"] = this.#sessionId;
    if (this.#protocolVersion !== undefined) headers["mcp-protocol-version"] = this.#protocolVersion;
    return headers;
  }

  #send(
    way: HttpWay,
    first: HttpRequest,
    events: HttpExchangeEvents,
    { headers: extra, context }: SendOptions = {},
  ): HttpRequestHandler {
    let request = extra === undefined ? first : withHeaders(first, extra);
    let redirects = 0;
    let proof: Proof | undefined;
    const exchange = new HttpRequestHandler({
      onBroken: events.onBroken,
      onHead: (status, headers) => {
        this.#pool.heard(headers);
        const path =
          redirects < MAX_REDIRECTS ? this.#pathToFollow(request.path, status, headers) : undefined;
        if (path === undefined)
          return sending?.readRefusal(status, headers) ?? events.onHead(status, headers);
        redirects += 1;
        request = { ...request, path };
        return { data: () => undefined, end: () => dispatch() };
      },
    });
    const dispatch = () => this.#pool.send(way, exchange, this.#proven(request, proof));
    const send = (next: Proof) => {
      proof = next;
      request = withHeaders(first, { ...next.headers, ...extra });
      dispatch();
    };
    const sending = this.#prove({ exchange, events, context, send });
    if (sending === undefined) this.#pool.send(way, exchange, request);
    else sending.start();
    return exchange;
  }

  #prove(parts: {
    readonly exchange: HttpRequestHandler;
    readonly events: HttpExchangeEvents;
    readonly context: CallContext | undefined;
    readonly send: (proof: Proof) => void;
  }): ProvenSending | undefined {
    const credentials = this.#credentials;
    return credentials === undefined
      ? undefined
      : new ProvenSending({ ...parts, credentials, clock: this.clock });
  }

  /** A proof of a key is for one request to one address: made when it goes out, whatever came before. */
  #proven(request: HttpRequest, proof: Proof | undefined): HttpRequest {
    if (proof?.proveKey === undefined) return request;
    return withHeaders(request, { dpop: proof.proveKey(request.method, `${this.origin}${request.path}`) });
  }

  /** Only within the origin, where credentials may go, and only where the method stays what it is. */
  #pathToFollow(from: string, status: number, headers: ResponseHeaders): string | undefined {
    if (status !== 307 && status !== 308) return undefined;
    const target = redirectTarget(headers, `${this.origin}${from}`);
    return target?.origin === this.origin ? `${target.pathname}${target.search}` : undefined;
  }
}

/** What the protocol owns stays as it is. */
function withHeaders(request: HttpRequest, headers: Readonly<Headers>): HttpRequest {
  return { ...request, headers: { ...request.headers, ...withoutOwned(headers) } };
}
