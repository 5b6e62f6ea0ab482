import { rootCertificates } from "node:tls";
import { type Dispatcher, fetch as undiciFetch } from "undici";
import type { ResponseLike, FetchInitLike, HttpOptions, TlsOptions } from "../config/http-options.js";
import { HttpAgent } from "./origin-agent.js";
import { type ConnectorParts, openConnector } from "./create-connector.js";

interface SideFetchOptions extends ConnectorParts {
  /** The MCP server that the requests are made beside. */
  readonly server: HttpOptions & { readonly url: URL };
  /** How long one request may take; 0 means for ever. */
  readonly timeoutMs: number;
}

/** More than any token, metadata or address has. */
const MAX_BYTES = 1024 * 1024;
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * Requests beside MCP, to whoever gives tokens or addresses. They are made as those to the server are:
 * by the same proxy, by what the caller lends, trusting whom the server is trusted by. Bounded in time
 * and size, on connections of their own.
 */
export class SideFetch {
  readonly #options: SideFetchOptions;
  readonly #closed = new AbortController();
  #agent: HttpAgent | undefined;

  constructor(options: SideFetchOptions) {
    this.#options = options;
  }

  /** As the SDK wants it: it tests answers for being of the global class. */
  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const signal = init.signal ? AbortSignal.any([init.signal, this.limit()]) : this.limit();
    const answer = await this.#send(String(url), { ...init, signal });
    const { status } = answer;
    const headers = new Headers();
    answer.headers.forEach((value, name) => headers.append(name, value));
    const body = await readAll(answer.body);
    return new Response(WITHOUT_BODY.has(status) ? null : body, { status, headers });
  };

  /** Aborted when the time of one request is up, and with the client's end. */
  limit(): AbortSignal {
    const { timeoutMs } = this.#options;
    const { signal } = this.#closed;
    return timeoutMs > 0 ? AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) : signal;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("The client was closed."));
    await this.#agent?.close();
  }

  async #send(url: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<ResponseLike> {
    const { fetch, dispatcher } = this.#options.server;
    if (fetch !== undefined) return fetch(url, await toFetchRequest(url, init));
    const lent = dispatcher as Dispatcher | undefined;
    return undiciFetch(url, { ...(init as object), dispatcher: lent ?? this.#ownDispatcher() });
  }

  #ownDispatcher(): HttpAgent["dispatcher"] {
    this.#agent ??= new HttpAgent((origin) => openConnector(origin, this.#trustFor(origin), this.#options));
    return this.#agent.dispatcher;
  }

  /** Elsewhere the public authorities count as well, and our certificate is shown only to who is named. */
  #trustFor({ origin }: URL): TlsOptions | undefined {
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

async function readAll(body: ResponseLike["body"]): Promise<Buffer> {
  if (body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  const reader = body.getReader();
  for (let bytes = 0; ;) {
    const { done, value } = await reader.read();
    if (done || value === undefined) return Buffer.concat(chunks);
    chunks.push(value);
    bytes += value.length;
    if (bytes <= MAX_BYTES) continue;
    await reader.cancel();
    throw new Error(`More than ${MAX_BYTES} bytes were sent.`);
  }
}
