/** Text in PEM, as it stands in the file. */
export type Pem = string | Uint8Array;

/** Whom an https connection trusts, and who we are on it. All of it is treated as a secret. */
export interface TlsOptions {
  /** Authorities that are trusted instead of the public ones. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /**
   * A certificate of our own, for a server that asks for one, with whatever leads up to its authority.
   * Shown to the origin of that server only.
   */
  readonly cert?: Pem | undefined;
  /** The key of `cert`, without a passphrase. */
  readonly key?: Pem | undefined;
  /** Who else may be shown `cert`, such as an authorization server: `https://login.example.com`. */
  readonly certOrigins?: readonly string[] | undefined;
}

/** An undici dispatcher (`Agent`, `ProxyAgent`, `MockAgent` … of undici 7 or later), or what works like one. */
export interface DispatcherLike {
  dispatch(request: object, handler: object): boolean;
}

/** What a `fetch` is given. Redirects of the server are ours to follow or not. */
export interface FetchInitLike {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual" | "follow" | "error";
  readonly signal: AbortSignal;
}

/** What a `fetch` gives back, as far as it is looked at. */
export interface ResponseLike {
  readonly status: number;
  readonly headers: { forEach(visit: (value: string, name: string) => void): void };
  readonly body: { getReader(): BodyReaderLike } | null;
}

export interface BodyReaderLike {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

export type FetchLike = (url: string, request: FetchInitLike) => Promise<ResponseLike>;

/** How connections to a server are made. A `dispatcher` or `fetch` of your own is used and never closed. */
export interface HttpOptions {
  readonly tls?: TlsOptions | undefined;
  readonly dispatcher?: DispatcherLike | undefined;
  readonly fetch?: FetchLike | undefined;
}
