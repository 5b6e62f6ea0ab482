import { rootCertificates } from "node:tls";
import type * as undici from "undici";
import type { ResponseLike, FetchInitLike, HttpOptions, TlsOptions } from "../config/http-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type AddressGuard, toIpLiteral } from "./address-guard.js";
import { unwrapFetchError } from "./connect-errors.js";
import { HttpConnector, type HttpConnectorOptions } from "./http-connector.js";

interface OneOffFetchOptions extends Pick<HttpConnectorOptions, "connectMs" | "redactor"> {
  /** The MCP server that the requests are made for. */
  readonly server: HttpOptions & { readonly url: URL };
  /** Time limit of one request; 0 disables it. */
  readonly timeoutMs: number;
  /** Decides about addresses that do not come from the operator; without it, all requests are the operator's. */
  readonly guard?: AddressGuard | undefined;
}

/** Far above the size of any token, metadata or lookup response. */
const MAX_RESPONSE_BYTES = 1024 * 1024;
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * Makes the HTTP requests that are not MCP messages: to authorization servers and platform APIs. They use
 * the same proxy, user-supplied `dispatcher` or `fetch` and trusted CAs as the MCP server, are limited in
 * time and size, and have their own connections. Redirects are returned, not followed: the SDK follows them
 * within an origin.
 */
export class OneOffFetch {
  readonly #options: OneOffFetchOptions;
  readonly #closed = new AbortController();
  /** By origin. */
  readonly #connectors = new Map<string, HttpConnector>();
  #agent: undici.Agent | undefined;

  constructor(options: OneOffFetchOptions) {
    this.#options = options;
  }

  /** Resolves with the global `Response` class, because the SDK checks responses with `instanceof`. */
  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const signal = init.signal ? AbortSignal.any([init.signal, this.timeoutSignal()]) : this.timeoutSignal();
    const response = await this.#send(new URL(url), { ...init, signal, redirect: "manual" });
    const { status } = response;
    const headers = new Headers();
    response.headers.forEach((value, name) => headers.append(name, value));
    const body = await readBody(response.body);
    return new Response(NULL_BODY_STATUSES.has(status) ? null : body, { status, headers });
  };

  /** Creates a signal that aborts when the time limit of one request is reached or the client is closed. */
  timeoutSignal(): AbortSignal {
    const { timeoutMs } = this.#options;
    const { signal } = this.#closed;
    return timeoutMs > 0 ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) : signal;
  }

  /** Does not check an address that the operator has configured next to that of the server. */
  trust(url: URL): void {
    this.#options.guard?.trust(url);
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("The client was closed."));
    const closed = this.#agent?.destroy();
    await Promise.all([...this.#connectors.values()].map((connector) => connector.close()));
    await closed;
  }

  async #send(url: URL, init: RequestInit & { readonly signal: AbortSignal }): Promise<ResponseLike> {
    const { fetch, dispatcher } = this.#options.server;
    if ((fetch ?? dispatcher) !== undefined) await this.#assertAllowed(url);
    if (fetch !== undefined) return fetch(url.href, await toFetchRequest(url.href, init));
    const { Agent, fetch: undiciFetch, Pool } = await import("undici");
    const sender =
      (dispatcher as undici.Dispatcher | undefined) ?? (this.#agent ??= this.#createAgent(Agent, Pool));
    return undiciFetch(url, { ...(init as object), dispatcher: sender }).catch((error: unknown) => {
      const reason = unwrapFetchError(error);
      throw reason instanceof McpRuntimeError ? reason : error;
    });
  }

  /** A custom dispatcher or fetch resolves names itself, so that only an IP address in the URL is known. */
  async #assertAllowed(url: URL): Promise<void> {
    const denial = await this.#options.guard?.checkFor(url, "oauth")?.(toIpLiteral(url));
    if (denial !== undefined) throw denial;
  }

  #createAgent(Agent: typeof undici.Agent, Pool: typeof undici.Pool): undici.Agent {
    return new Agent({
      factory: (origin, options) =>
        new Pool(origin, {
          ...(options as undici.Pool.Options),
          connect: this.#connectorFor(new URL(origin)).connect,
        }),
    });
  }

  #connectorFor(url: URL): HttpConnector {
    const checkAddress = this.#options.guard?.checkFor(url, "oauth");
    const connector =
      this.#connectors.get(url.origin) ??
      new HttpConnector({ ...this.#options, origin: url, tls: this.#tlsFor(url), checkAddress });
    this.#connectors.set(url.origin, connector);
    return connector;
  }

  /**
   * Other origins than the server's also trust the public CAs, and receive the client certificate only if
   * listed in `certOrigins`.
   */
  #tlsFor({ origin }: URL): TlsOptions | undefined {
    const { url, tls } = this.#options.server;
    if (tls === undefined || origin === url.origin) return tls;
    const { ca, cert, key, certOrigins = [] } = tls;
    return {
      ca: ca === undefined ? undefined : [...rootCertificates, ...[ca].flat()],
      ...(certOrigins.includes(origin) ? { cert, key } : {}),
    };
  }
}

async function toFetchRequest(
  url: string,
  init: RequestInit & { readonly signal: AbortSignal },
): Promise<FetchInitLike> {
  const request = new Request(url, init);
  const { method, redirect } = request;
  const body = await request.text();
  const headers = Object.fromEntries(request.headers);
  return { method, headers, redirect, signal: init.signal, ...(body === "" ? {} : { body }) };
}

async function readBody(body: ResponseLike["body"]): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  const reader = body.getReader();
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return Buffer.concat(chunks);
    chunks.push(value);
    bytes += value.length;
    if (bytes <= MAX_RESPONSE_BYTES) continue;
    await reader.cancel();
    throw new Error(`The response exceeds ${MAX_RESPONSE_BYTES} bytes.`);
  }
}
