import type { Clock } from "../../async/clock.js";
import type { CallContext } from "../../config/call-context.js";
import type { JsonRpcMessage, SendOptions } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { PrefixReader } from "./body-readers.js";
import type { Credentials, RequestAuth } from "../../auth/credentials.js";
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
import { toRequestHeaders, omitReserved } from "./protocol-headers.js";
import { isModernRequest, toModernHeaders } from "./modern-era.js";
import { ChallengeTracker } from "../../auth/oauth-flow.js";

export interface McpHttpClientOptions {
  readonly server: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Credentials that depend on the identity of the caller. */
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

/** The HTTP requests of one session: POST, GET and DELETE with the session's headers and credentials. */
export class McpHttpClient {
  readonly server: string;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly maxBytes: number;
  readonly #pool: HttpPool;
  readonly #path: string;
  #messagePath: string;
  readonly #staticHeaders: Headers;
  readonly #credentials: Credentials | undefined;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  #postHeaders: Headers | undefined;

  constructor(options: McpHttpClientOptions) {
    this.server = options.server;
    this.redactor = options.redactor;
    this.clock = options.clock;
    this.maxBytes = options.maxBytes;
    this.#pool = options.pool;
    this.#path = `${options.url.pathname}${options.url.search}`;
    this.#messagePath = this.#path;
    this.#staticHeaders = toRequestHeaders(options.headers, options.url);
    this.#credentials = options.credentials;
    this.#sessionId = options.sessionId;
    this.#protocolVersion = options.protocolVersion;
  }

  get origin(): string {
    return this.#pool.origin;
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
    options: SendOptions = {},
  ): HttpRequestHandler {
    this.#postHeaders ??= this.#createHeaders({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    });
    const request: HttpRequest = {
      method: "POST",
      path: this.#messagePath,
      headers: isModernRequest(message)
        ? { ...this.#postHeaders, ...toModernHeaders(message) }
        : this.#postHeaders,
      body: toJsonText(message, this.server),
    };
    return this.#send(lane, request, events, options);
  }

  /** Opens an event stream: the server's own, or with `lastEventId` the rest of an interrupted one. */
  get(lastEventId: string | undefined, events: HttpRequestEvents): HttpRequestHandler {
    const resumeHeaders: Headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
    const headers = this.#createHeaders({ accept: "text/event-stream", ...resumeHeaders });
    return this.#send("stream", { method: "GET", path: this.#path, headers }, events);
  }

  delete(events: HttpRequestEvents): HttpRequestHandler {
    return this.#send(
      "notification",
      { method: "DELETE", path: this.#path, headers: this.#createHeaders({}) },
      events,
    );
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

  #send(
    lane: RequestLane,
    original: HttpRequest,
    events: HttpRequestEvents,
    { headers: messageHeaders, context }: SendOptions = {},
  ): HttpRequestHandler {
    let request = messageHeaders === undefined ? original : withHeaders(original, messageHeaders);
    let redirects = 0;
    let auth: RequestAuth | undefined;
    const handler = new HttpRequestHandler({
      onError: events.onError,
      onHeaders: (status, headers) => {
        this.#pool.onResponseHeaders(headers);
        const path =
          redirects < MAX_REDIRECTS ? this.#redirectPath(request.path, status, headers) : undefined;
        if (path === undefined)
          return authenticated?.handleChallenge(status, headers) ?? events.onHeaders(status, headers);
        redirects += 1;
        request = { ...request, path };
        return { data: () => undefined, end: () => dispatch() };
      },
    });
    const dispatch = () => this.#pool.send(lane, handler, this.#withDpopProof(request, auth));
    const send = (next: RequestAuth) => {
      auth = next;
      request = withHeaders(original, { ...next.headers, ...messageHeaders });
      dispatch();
    };
    const authenticated = this.#authenticate({ handler, events, context, send });
    if (authenticated === undefined) this.#pool.send(lane, handler, request);
    else authenticated.start();
    return handler;
  }

  #authenticate(
    options: Omit<AuthenticatedRequestOptions, "credentials" | "clock">,
  ): AuthenticatedRequest | undefined {
    const credentials = this.#credentials;
    return credentials === undefined
      ? undefined
      : new AuthenticatedRequest({ ...options, credentials, clock: this.clock });
  }

  /** A DPoP proof is valid for one request to one URL, so it is created right before each dispatch. */
  #withDpopProof(request: HttpRequest, auth: RequestAuth | undefined): HttpRequest {
    if (auth?.createDpopProof === undefined) return request;
    return withHeaders(request, {
      dpop: auth.createDpopProof(request.method, `${this.origin}${request.path}`),
    });
  }

  /** Only redirects within the origin, where credentials may be sent, that preserve the method. */
  #redirectPath(from: string, status: number, headers: ResponseHeaders): string | undefined {
    if (status !== 307 && status !== 308) return undefined;
    const target = getRedirectTarget(headers, `${this.origin}${from}`);
    return target?.origin === this.origin ? `${target.pathname}${target.search}` : undefined;
  }
}

/** Adds headers, except those that are reserved for the protocol. */
function withHeaders(request: HttpRequest, headers: Readonly<Headers>): HttpRequest {
  return { ...request, headers: { ...request.headers, ...omitReserved(headers) } };
}

interface AuthenticatedRequestOptions {
  readonly credentials: Credentials;
  readonly context: CallContext | undefined;
  readonly handler: HttpRequestHandler;
  readonly events: HttpRequestEvents;
  readonly clock: Clock;
  readonly send: (auth: RequestAuth) => void;
}

/**
 * One HTTP request with credentials. A server that rejects the credentials has not run the request: if
 * other credentials can be obtained, it is sent once more and the rejection is not reported.
 */
class AuthenticatedRequest {
  readonly #options: AuthenticatedRequestOptions;
  readonly #challenges = new ChallengeTracker();
  #auth: RequestAuth | undefined;

  constructor(options: AuthenticatedRequestOptions) {
    this.#options = options;
  }

  start(): void {
    const { credentials, context } = this.#options;
    void this.#sendWithAuth(() => credentials.getAuth(context));
  }

  /** Returns the reader for a response that may lead to a retry with new credentials; `undefined` for a final one. */
  handleChallenge(status: number, headers: ResponseHeaders): BodyReader | undefined {
    this.#options.credentials.onResponseHeaders(headers);
    const used = this.#auth;
    if (used === undefined) return undefined;
    const response = { status, headers };
    const reason = this.#challenges.nextReason(response, used);
    if (reason === undefined) return undefined;
    return new PrefixReader(this.#options.clock, (body) => {
      const { credentials, context, handler } = this.#options;
      handler.discard();
      void this.#sendWithAuth(
        () => credentials.renewAfter(used, { response, reason }, context),
        () => this.#forwardResponse(response, body),
      );
    });
  }

  async #sendWithAuth(
    getAuth: () => Promise<RequestAuth | undefined>,
    onUnavailable?: () => void,
  ): Promise<void> {
    const { handler, events, send } = this.#options;
    try {
      const auth = await getAuth();
      if (handler.isAborted) return;
      if (auth === undefined) {
        onUnavailable?.();
        return;
      }
      this.#auth = auth;
      send(auth);
    } catch (error) {
      if (!handler.isAborted) events.onError(error as Error);
    }
  }

  /** No other credentials are available: the rejection is the final response. */
  #forwardResponse({ status, headers }: ResponseHead, body: string): void {
    const reader = this.#options.events.onHeaders(status, headers);
    reader.data(Buffer.from(body));
    reader.end();
  }
}
