interface SessionStoreCall {
  readonly signal: AbortSignal;
}

/**
 * Where sessions are kept for other processes and later runs: any store of
 * `langchain-mcp-runtime/stores`, or what works like one.
 */
export interface SessionStore {
  get(key: string, call: SessionStoreCall): Promise<unknown>;
  set(key: string, value: unknown, call: SessionStoreCall & { readonly ttlMs: number }): Promise<void>;
  delete(key: string, call: SessionStoreCall): Promise<void>;
}
