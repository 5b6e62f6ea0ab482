import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { PrefixReader } from "./body-readers.js";
import type { RequestAuth, RequestCredentials } from "../../auth/credentials.js";
import {
  type BodyReader,
  HttpRequestHandler,
  type HttpRequestEvents,
  type HttpRequest,
  type RequestLane,
  type ResponseHeaders,
  type ResponseHead,
} from "../../net/http-request.js";
import { type FailedResponse, getRedirectTarget, fromHttpStatus } from "./http-errors.js";
import type { HttpPool } from "../../net/http-pool.js";
import { toJsonText } from "../json-rpc.js";
import type { TransportRequestOptions } from "../transport.js";
import { toRequestHeaders, omitReserved } from "./protocol-headers.js";
import { isModernRequest, toModernHeaders } from "./modern-era.js";
import { ChallengeTracker } from "../../auth/oauth-flow.js";
import { ServerRequestStreams } from "./server-request-streams.js";

export interface McpHttpClientOptions {
  readonly server: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials that depend on the identity of the caller. */
  readonly credentials?: RequestCredentials | undefined;
  readonly pool: HttpPool;
  readonly maxBytes: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly sessionId?: string | undefined;
  readonly protocolVersion?: string | undefined;
}

type Headers = Record<string, string>;

/** Headers of one message, and the caller when credentials depend on it. */
type RequestHeaderOptions = Pick<SendOptions, "headers" | "context"> &
  Pick<TransportRequestOptions, "isBackground">;

/** The connections that an event stream uses, and whether a caller waits for its messages. */
interface StreamOptions extends Pick<TransportRequestOptions, "isBackground"> {
  /** @default "stream" */
  readonly lane?: RequestLane;
}

/** No caller waits for what the session sends by itself. */
const BACKGROUND: RequestHeaderOptions = { isBackground: true };

const MAX_REDIRECTS = 3;

/** The HTTP requests of one session: POST, GET and DELETE with the session's headers and credentials. */
export class McpHttpClient {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly serverRequests = new ServerRequestStreams();
  readonly #session: HttpSession;
  readonly #path: string;
  #messagePath: string;
  readonly #staticHeaders: Headers;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  #postHeaders: Headers | undefined;

  constructor(options: McpHttpClientOptions) {
    this.server = options.server;
    this.redactor = options.redactor;
    this.clock = options.clock;
    this.maxBytes = options.maxBytes;
    const { pool, credentials, clock } = options;
    this.#session = { pool, credentials, clock };
    this.#path = `${options.url.pathname}${options.url.search}`;
    this.#messagePath = this.#path;
    this.#staticHeaders = toRequestHeaders(options.headers, options.url);
    this.#sessionId = options.sessionId;
    this.#protocolVersion = options.protocolVersion;
  }

  get origin(): string {
    return this.#session.pool.origin;
  }

  /** The URL without credentials. */
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

  /** Takes the session id from the response to `initialize`. */
  setSessionIdFrom(headers: ResponseHeaders): void {
    const id = headers["mcp-session-id"];
    if (typeof id === "string" && id !== "") this.sessionId = id;
  }

  set protocolVersion(version: string) {
    this.#protocolVersion = version;
    this.#postHeaders = undefined;
  }

  /** The path to post messages to, if the server has named another one than that of its URL. */
  set messagePath(path: string) {
    this.#messagePath = path;
  }

  post(
    message: JsonRpcMessage,
    lane: RequestLane,
    events: HttpRequestEvents,
    options: RequestHeaderOptions = {},
  ): HttpRequestHandler {
    this.#postHeaders ??= this.#createHeaders({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    });
    const httpRequest: HttpRequest = {
      method: "POST",
      path: this.#messagePath,
      headers: isModernRequest(message)
        ? { ...this.#postHeaders, ...toModernHeaders(message) }
        : this.#postHeaders,
      body: toJsonText(message, this.server),
    };
    return new McpHttpRequest(this.#session, lane, httpRequest, events, options).start();
  }

  /** What all sessions with the server share. */
  get pool(): HttpPool {
    return this.#session.pool;
  }

  /** Opens an event stream: the server's own, or with `lastEventId` the rest of an interrupted one. */
  get(
    lastEventId: string | undefined,
    events: HttpRequestEvents,
    { lane = "stream", isBackground }: StreamOptions = {},
  ): HttpRequestHandler {
    const resumeHeaders: Headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = this.#createHeaders({ accept: "text/event-stream", ...resumeHeaders });
    const httpRequest: HttpRequest = { method: "GET", path: this.#path, headers };
    return new McpHttpRequest(this.#session, lane, httpRequest, events, { isBackground }).start();
  }

  /** Sends a message whose response no caller waits for. */
  postInBackground(message: JsonRpcMessage, events: HttpRequestEvents): HttpRequestHandler {
    this.serverRequests.onSent(message);
    return this.post(message, "notification", events, BACKGROUND);
  }

  delete(events: HttpRequestEvents): HttpRequestHandler {
    const httpRequest: HttpRequest = {
      method: "DELETE",
      path: this.#path,
      headers: this.#createHeaders({}),
    };
    return new McpHttpRequest(this.#session, "notification", httpRequest, events, BACKGROUND).start();
  }

  /** Reads the beginning of an error response and converts it to an error. */
  createErrorReader(
    response: Omit<FailedResponse, "body">,
    onFailure: (failure: McpRuntimeError) => void,
  ): BodyReader {
    return new PrefixReader(this.clock, (body) => onFailure(fromHttpStatus({ ...response, body }, this)));
  }

  /** The protocol's headers come last, so that configured headers cannot replace them. */
  #createHeaders(protocolHeaders: Headers): Headers {
    const headers: Headers = { ...this.#staticHeaders, "accept-encoding": "identity", ...protocolHeaders };
    if (this.#sessionId !== undefined) headers["mcp-session-id"] = this.#sessionId;
    if (this.#protocolVersion !== undefined) headers["mcp-protocol-version"] = this.#protocolVersion;
    return headers;
  }
}

/** Adds headers, except those that are reserved for the protocol. */
function withHeaders(request: HttpRequest, headers: Readonly<Headers>): HttpRequest {
  return { ...request, headers: { ...request.headers, ...omitReserved(headers) } };
}

/** What the HTTP requests of one session share. */
interface HttpSession {
  readonly pool: HttpPool;
  readonly credentials: RequestCredentials | undefined;
  readonly clock: Clock;
}

/**
 * One HTTP request, up to the response that counts. Redirects within the origin are followed. A server that rejects the
 * credentials has not run the request: if other credentials can be obtained, it is sent once more and the rejection is
 * not reported.
 */
class McpHttpRequest implements HttpRequestEvents {
  readonly #handler = new HttpRequestHandler(this);
  readonly #session: HttpSession;
  readonly #lane: RequestLane;
  /** Without the headers of the credentials. */
  readonly #original: HttpRequest;
  readonly #events: HttpRequestEvents;
  readonly #options: RequestHeaderOptions;
  #request: HttpRequest;
  #redirects = 0;
  #auth: RequestAuth | undefined;
  #challenges: ChallengeTracker | undefined;

  constructor(
    session: HttpSession,
    lane: RequestLane,
    request: HttpRequest,
    events: HttpRequestEvents,
    options: RequestHeaderOptions,
  ) {
    this.#session = session;
    this.#lane = lane;
    this.#original = request;
    this.#request = options.headers === undefined ? request : withHeaders(request, options.headers);
    this.#events = events;
    this.#options = options;
  }

  start(): HttpRequestHandler {
    const { pool, credentials } = this.#session;
    if (credentials === undefined) pool.send(this.#lane, this.#handler, this.#request);
    else void this.#sendWithAuth(() => credentials.getAuth(this.#options.context));
    return this.#handler;
  }

  onHeaders(status: number, headers: ResponseHeaders): BodyReader {
    this.#session.pool.onResponseHeaders(headers);
    const path = this.#redirects < MAX_REDIRECTS ? this.#redirectPath(status, headers) : undefined;
    if (path === undefined)
      return this.#handleChallenge(status, headers) ?? this.#events.onHeaders(status, headers);
    this.#redirects += 1;
    this.#request = { ...this.#request, path };
    return { data: () => undefined, end: () => this.#dispatch() };
  }

  onError(error: Error): void {
    this.#events.onError(error);
  }

  /** A DPoP proof is valid for one request to one URL, so it is created right before each dispatch. */
  #dispatch(): void {
    const { pool } = this.#session;
    const { method, path } = this.#request;
    const dpop = this.#auth?.createDpopProof?.(method, `${pool.origin}${path}`);
    const request = dpop === undefined ? this.#request : withHeaders(this.#request, { dpop });
    pool.send(this.#lane, this.#handler, request);
  }

  /** Only redirects within the origin, where credentials may be sent, that preserve the method. */
  #redirectPath(status: number, headers: ResponseHeaders): string | undefined {
    if (status !== 307 && status !== 308) return undefined;
    const { origin } = this.#session.pool;
    const target = getRedirectTarget(headers, `${origin}${this.#request.path}`);
    return target?.origin === origin ? `${target.pathname}${target.search}` : undefined;
  }

  /** Returns the reader for a response that may lead to a retry with new credentials; `undefined` for a final one. */
  #handleChallenge(status: number, headers: ResponseHeaders): BodyReader | undefined {
    const { credentials, clock } = this.#session;
    credentials?.onResponseHeaders(headers);
    const auth = this.#auth;
    if (credentials === undefined || auth === undefined) return undefined;
    const response = { status, headers };
    this.#challenges ??= new ChallengeTracker();
    const reason = this.#challenges.nextReason(response, auth);
    if (reason === undefined) return undefined;
    return new PrefixReader(clock, (body) => {
      this.#handler.discard();
      const { context, isBackground } = this.#options;
      void this.#sendWithAuth(
        () => credentials.renewAfter(auth, { response, reason, isBackground }, context),
        () => this.#forwardResponse(response, body),
      );
    });
  }

  async #sendWithAuth(
    getAuth: () => Promise<RequestAuth | undefined>,
    onUnavailable?: () => void,
  ): Promise<void> {
    try {
      const auth = await getAuth();
      if (this.#handler.isAborted) return;
      if (auth === undefined) {
        onUnavailable?.();
        return;
      }
      this.#auth = auth;
      this.#request = withHeaders(this.#original, { ...auth.headers, ...this.#options.headers });
      this.#dispatch();
    } catch (error) {
      if (!this.#handler.isAborted) this.#events.onError(error as Error);
    }
  }

  /** No other credentials are available: the rejection is the final response. */
  #forwardResponse({ status, headers }: ResponseHead, body: string): void {
    const reader = this.#events.onHeaders(status, headers);
    reader.data(Buffer.from(body));
    reader.end();
  }
}
