import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { SecretLease } from "../../errors/redaction.js";
import { BufferedReader } from "../http/body-readers.js";
import { HttpRequestHandler, type HttpRequest, type ResponseHeaders } from "../../net/http-request.js";
import { fromConnectionError } from "../http/http-errors.js";
import type { AddressCheck } from "../../net/address-guard.js";
import { type HttpPool, openHttpPool } from "../../net/http-pool.js";
import { type ErrorContext, responseTooLargeError } from "../json-rpc.js";

export interface AwsHttpOptions extends ErrorContext {
  readonly sockets: number;
  readonly connectMs: number;
  readonly maxBytes: number;
  /** Returns the check of an endpoint that does not come from the operator. */
  readonly checkFor: (url: URL) => AddressCheck | undefined;
}

/** A request of the AWS SDK. It is signed and must not be modified. */
interface AwsRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

interface AwsResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** A request that was handed to the connection pool, and the head of its response. */
export interface InFlightRequest {
  readonly handler: HttpRequestHandler;
  status: number | undefined;
  headers: ResponseHeaders;
}

/** Protects an error on its way through the AWS SDK, which adds properties to the errors it receives. */
export class WrappedError extends Error {
  constructor(readonly failure: McpRuntimeError) {
    super(failure.message);
  }
}

/**
 * Sends the requests of the AWS SDK over our connection pool instead of the SDK's HTTP client: the size of
 * a response is limited, an abort ends exactly that request, and it is known whether a request was sent.
 */
export class AwsHttpHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #options: AwsHttpOptions;
  /** Keyed by the abort signal of the request: the SDK passes nothing else that identifies it. */
  readonly #inFlight = new WeakMap<AbortSignal, InFlightRequest>();
  #pool: HttpPool | undefined;
  /** Keeps the current token redacted. */
  tokenLease: SecretLease | undefined;

  constructor(options: AwsHttpOptions) {
    this.#options = options;
  }

  /** Returns `undefined` while the SDK is still preparing the request. */
  requestFor(signal: AbortSignal): InFlightRequest | undefined {
    return this.#inFlight.get(signal);
  }

  handle(
    request: AwsRequest,
    { abortSignal }: { readonly abortSignal?: object | undefined } = {},
  ): Promise<{ response: AwsResponse }> {
    this.#registerSecret(request);
    return new Promise((resolve, reject) => {
      const pool = this.#poolFor(request);
      const fail = (failure: McpRuntimeError) => {
        inFlight.handler.abort();
        reject(new WrappedError(failure));
      };
      const { server, maxBytes, redactor } = this.#options;
      const onTooLarge = () => fail(responseTooLargeError(server, maxBytes));
      const handler = new HttpRequestHandler({
        onError: (error) =>
          fail(
            fromConnectionError(
              error,
              { server, redactor, origin: pool.origin },
              { wasSent: handler.wasDispatched },
            ),
          ),
        onHeaders: (status, headers) => {
          pool.onResponseHeaders(headers);
          Object.assign(inFlight, { status, headers });
          if (Number(headers["content-length"] ?? 0) > maxBytes) onTooLarge();
          return new BufferedReader(maxBytes, {
            onTooLarge,
            onBytes: (bytes) => {
              const body = Buffer.from(bytes);
              resolve({ response: { statusCode: status, headers: toHeaderRecord(headers), body } });
            },
          });
        },
      });
      const inFlight: InFlightRequest = { handler, status: undefined, headers: {} };
      if (abortSignal instanceof AbortSignal) this.#track(abortSignal, inFlight, reject);
      pool.send("call", handler, toHttpRequest(request));
    });
  }

  /** Called by the AWS SDK, which does not wait for it. */
  destroy(): void {
    void this.close();
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** Part of the SDK's handler contract; this handler has no settings. */
  updateHttpClientConfig(): void {
    // Nothing to update.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }

  #track(signal: AbortSignal, request: InFlightRequest, reject: (reason: unknown) => void): void {
    this.#inFlight.set(signal, request);
    const abort = () => {
      request.handler.abort();
      reject(Object.assign(new Error("Request aborted"), { name: "AbortError" }));
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  }

  #poolFor({ protocol, hostname, port }: AwsRequest): HttpPool {
    const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`);
    this.#pool ??= openHttpPool({ url }, { ...this.#options, checkAddress: this.#options.checkFor(url) });
    return this.#pool;
  }

  /** AWS returns the request headers in the error when it rejects the signature. */
  #registerSecret({ headers }: AwsRequest): void {
    const token = headers["x-amz-security-token"];
    if (token !== undefined) this.tokenLease = this.#options.redactor.addRotating(token, () => []);
  }
}

/** An invocation is a POST with a JSON body, so its bytes can be converted to a string. */
function toHttpRequest(request: AwsRequest): HttpRequest {
  const { headers, body = "" } = request;
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  return { method: "POST", path: toPath(request), headers: { ...headers }, body: text };
}

function toPath({ path, query = {} }: AwsRequest): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    [value]
      .flat()
      .map((item) =>
        item === null ? encodeQueryText(key) : `${encodeQueryText(key)}=${encodeQueryText(item)}`,
      ),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** Encodes as in the signature: `encodeURIComponent` does not encode five characters that AWS does. */
function encodeQueryText(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toHeaderRecord(headers: ResponseHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(", ")]));
}
