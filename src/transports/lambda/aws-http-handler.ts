import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { BytesReader } from "../http/body-readers.js";
import { HttpRequestHandler, type HttpRequest, type ResponseHeaders } from "../../net/http-request.js";
import { toConnectionFailure } from "../http/http-errors.js";
import type { HttpPool } from "../../net/http-pool.js";
import { tooLargeAnswer } from "../json-rpc.js";
import { openHttpPool } from "../../net/open-http-pool.js";

export interface AwsHttpOptions {
  readonly server: string;
  readonly redactor: Redactor;
  readonly sockets: number;
  readonly connectMs: number;
  readonly maxBytes: number;
}

/** A request as the AWS SDK hands it over: signed, so nothing of it may change. */
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

/** What became of a request that reached the network. */
export interface Flight {
  readonly exchange: HttpRequestHandler;
  status: number | undefined;
  headers: ResponseHeaders;
}

/** A failure of ours on its way through the AWS SDK, which writes on the errors that it sees. */
export class CarriedFailure extends Error {
  constructor(readonly failure: McpRuntimeError) {
    super(failure.message);
  }
}

/**
 * Carries the requests of the AWS SDK over our pool, in the place of its own HTTP client: an answer
 * is read no further than its limit, an abort ends exactly that request, and it is known whether a
 * request left at all.
 */
export class AwsHttpHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #options: AwsHttpOptions;
  /** By the signal that a request was sent with: the SDK has no other way to say which is which. */
  readonly #flights = new WeakMap<AbortSignal, Flight>();
  #pool: HttpPool | undefined;

  constructor(options: AwsHttpOptions) {
    this.#options = options;
  }

  /** `undefined` while the SDK is still preparing the request. */
  flightOf(signal: AbortSignal): Flight | undefined {
    return this.#flights.get(signal);
  }

  handle(
    request: AwsRequest,
    { abortSignal }: { readonly abortSignal?: object | undefined } = {},
  ): Promise<{ response: AwsResponse }> {
    this.#keepSecret(request);
    return new Promise((resolve, reject) => {
      const pool = this.#poolFor(request);
      const fail = (failure: McpRuntimeError) => {
        flight.exchange.stop();
        reject(new CarriedFailure(failure));
      };
      const { server, maxBytes, redactor } = this.#options;
      const onTooLarge = () => fail(tooLargeAnswer(server, maxBytes));
      const exchange = new HttpRequestHandler({
        onBroken: (error) =>
          fail(toConnectionFailure(error, exchange.isStarted, { server, redactor, origin: pool.origin })),
        onHead: (status, headers) => {
          pool.heard(headers);
          Object.assign(flight, { status, headers });
          if (Number(headers["content-length"] ?? 0) > maxBytes) onTooLarge();
          return new BytesReader(maxBytes, {
            onTooLarge,
            onBytes: (body) => resolve({ response: { statusCode: status, headers: toTexts(headers), body } }),
          });
        },
      });
      const flight: Flight = { exchange, status: undefined, headers: {} };
      if (abortSignal instanceof AbortSignal) this.#follow(abortSignal, flight, reject);
      pool.send("call", exchange, toHttp(request));
    });
  }

  /** For the AWS SDK, which does not wait. */
  destroy(): void {
    void this.close();
  }

  async close(): Promise<void> {
    await this.#pool?.close();
  }

  /** The AWS SDK lets its users change settings of a handler; this one has none. */
  updateHttpClientConfig(): void {
    // Nothing to change.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }

  #follow(signal: AbortSignal, flight: Flight, reject: (reason: unknown) => void): void {
    this.#flights.set(signal, flight);
    const abort = () => {
      flight.exchange.stop();
      reject(Object.assign(new Error("Request aborted"), { name: "AbortError" }));
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  }

  #poolFor({ protocol, hostname, port }: AwsRequest): HttpPool {
    const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`);
    this.#pool ??= openHttpPool({ url }, this.#options);
    return this.#pool;
  }

  /** AWS quotes the headers of a request whose signature it does not accept. */
  #keepSecret({ headers }: AwsRequest): void {
    const token = headers["x-amz-security-token"];
    if (token !== undefined) this.#options.redactor.addPassing(token, () => []);
  }
}

/** An invocation is a POST, and its body is JSON: bytes that are a text again. */
function toHttp(request: AwsRequest): HttpRequest {
  const { headers, body = "" } = request;
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  return { method: "POST", path: toPath(request), headers: { ...headers }, body: text };
}

function toPath({ path, query = {} }: AwsRequest): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    [value].flat().map((item) => (item === null ? encoded(key) : `${encoded(key)}=${encoded(item)}`)),
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** As it was signed: `encodeURIComponent` leaves five characters alone that AWS does not. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toTexts(headers: ResponseHeaders): Record<string, string> {
  const known = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, [value].flat().join(", ")]));
}
