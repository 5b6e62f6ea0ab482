import type { Dispatcher } from "undici";

interface OAuthFetchOptions {
  /** How long one request to an authorization server may take. */
  readonly timeoutMs: number;
}

/** More than any token or metadata document has. */
const MAX_BYTES = 1024 * 1024;
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/** Requests to authorization servers, on connections of their own, bounded in time and size. */
export class OAuthFetch {
  readonly #options: OAuthFetchOptions;
  readonly #closed = new AbortController();
  #dispatcher: Promise<Dispatcher> | undefined;

  constructor(options: OAuthFetchOptions) {
    this.#options = options;
  }

  /** As the SDK wants it: it tests answers for being of the global class. */
  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { fetch } = await import("undici");
    this.#dispatcher ??= openDispatcher();
    const limits = [this.#closed.signal];
    if (this.#options.timeoutMs > 0) limits.push(AbortSignal.timeout(this.#options.timeoutMs));
    const answer = await fetch(url, {
      ...(init as object),
      signal: AbortSignal.any(limits),
      dispatcher: await this.#dispatcher,
    });
    const body = await readAll(answer.body ?? []);
    const { status, statusText } = answer;
    const headers = [...answer.headers] as [string, string][];
    return new Response(WITHOUT_BODY.has(status) ? null : body, { status, statusText, headers });
  };

  async close(): Promise<void> {
    this.#closed.abort(new Error("The client was closed."));
    await (await this.#dispatcher)?.destroy();
  }
}

async function openDispatcher(): Promise<Dispatcher> {
  const { Agent } = await import("undici");
  return new Agent();
}

async function readAll(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`The authorization server sent more than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
