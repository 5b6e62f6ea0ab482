/** A call that is being answered, or could not be. */
export interface FallbackCall {
  readonly server: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Whose call it is: an answer of one user is never another's. */
  readonly identity: string;
  readonly isIdempotent: boolean;
}

/** What a tool would have given back. */
export interface FallbackResult {
  readonly content?: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}
