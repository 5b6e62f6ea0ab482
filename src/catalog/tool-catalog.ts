import { SingleFlight } from "../async/single-flight.js";
import { CancelScope } from "../async/cancel-scope.js";
import { withDeadline, settleWithin } from "../async/deadline.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CachedToolList, getFreshnessMs, toCachedToolList } from "./stored-tool-list.js";
import type { ToolListStore } from "./tool-list-store.js";
import type { ListToolsOptions, RequestOptions } from "../client/call-options.js";
import type { Clock } from "../async/clock.js";
import type { CatalogEvents } from "./catalog-events.js";

export interface CatalogDependencies {
  readonly server: string;
  readonly source: ToolSource;
  readonly staleAfterMs: number;
  readonly store: ToolListStore | undefined;
  readonly clock: Clock;
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** Checks each list from the server or a store before it is returned; rejects to discard the list. */
  readonly verify: (tools: readonly McpToolInfo[], identity: string) => Promise<void>;
  /** The server returned a new current list for this identity. */
  readonly onListed?: ((identity: string, tools: readonly McpToolInfo[]) => void) | undefined;
  /** A caller requested the list; `result` is what the cache had. */
  readonly onRead?: ((identity: string, result: CatalogEvents["catalogRead"]["result"]) => void) | undefined;
  readonly warn: (message: string) => void;
}

/** Whether the server lists a tool. `unknown`: the list could not be fetched. */
export type ToolLookup =
  | { readonly state: "listed"; readonly info: McpToolInfo }
  | { readonly state: "unlisted" }
  | { readonly state: "unknown"; readonly error: unknown };

export interface ToolLookupOptions {
  readonly caller: CallerOptions;
  readonly cancellation: CancelScope;
  /** An older list is fetched again. */
  readonly maxAgeMs: number;
  /** The tool appears to be missing: accept only a list that was fetched for such a recheck. */
  readonly mustRefetch?: boolean;
  /** How long to wait for the list. */
  readonly waitMs: number;
}

/** The caller on whose behalf tools are listed. */
export type CallerOptions = Pick<RequestOptions, "context" | "signal">;

/** The part of a client that the catalog uses. */
interface ToolSource {
  listTools(options?: ListToolsOptions): Promise<McpToolInfo[]>;
  identityOf(caller: CallerOptions): string;
  /** The negotiated MCP version. It is stored with the list. */
  readonly protocolVersion?: string | undefined;
}

/** Default cache options. The table in the README is generated from this. */
export const CACHE_DEFAULTS = { staleAfterMs: 300_000, ttlMs: 30 * 24 * 60 * 60 * 1_000 } as const;

/** The identity that all callers share. Lists of other identities are refreshed on their next read. */
const SHARED_IDENTITY = "";
/** Change notifications within this time lead to one listing. */
const CHANGE_DEBOUNCE_MS = 250;
/** How many identities are cached; the least recently used one is evicted. */
const MAX_ENTRIES = 1_000;
/** How long `close()` waits for pending store writes; the stores have shorter timeouts of their own. */
const MAX_FLUSH_MS = 2_000;

/**
 * The tool lists of one server, by identity. A fresh list is returned from the cache; a stale one is
 * returned while it is refreshed in the background. Without a list, callers wait for one shared listing.
 */
export class ToolCatalog {
  readonly #deps: CatalogDependencies;
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #closed = new CancelScope();
  readonly #unwatchStore: (() => void) | undefined;
  readonly #reads = new SingleFlight<CatalogEntry, void>();
  /** Listings that are not yet written to the store. */
  readonly #pending = new Set<Promise<CachedToolList>>();
  #cancelDebounce: (() => void) | undefined;

  constructor(deps: CatalogDependencies) {
    this.#deps = deps;
    this.#unwatchStore = deps.store?.watch(() => this.#markStoreUnread());
  }

  /** The tools, from memory, the store or the server. The caller's signal cancels only the caller's wait. */
  async list(caller: CallerOptions = {}): Promise<readonly McpToolInfo[]> {
    const identity = this.#deps.source.identityOf(caller);
    return this.#waitFor(this.#getCurrent(this.#getEntry(identity), identity, caller), caller);
  }

  /** The tools from memory or the store. Sends nothing and starts no background refresh. */
  async getCached(caller: CallerOptions = {}): Promise<readonly McpToolInfo[] | undefined> {
    const identity = this.#deps.source.identityOf(caller);
    const entry = this.#getEntry(identity);
    await this.#readStore(entry, identity);
    return entry.list?.tools;
  }

  /** Fetches the list from the server, regardless of the cache. */
  async refresh(caller: CallerOptions = {}): Promise<readonly McpToolInfo[]> {
    const identity = this.#deps.source.identityOf(caller);
    this.invalidate(identity);
    return (await this.#waitFor(this.#getListing(this.#getEntry(identity), identity, caller), caller)).tools;
  }

  /** Looks up a tool in a list no older than `maxAgeMs`; the server is asked at most once in that time. */
  async find(name: string, options: ToolLookupOptions): Promise<ToolLookup> {
    try {
      const { tools } = await this.#runWithin(options, () => this.#getRecent(options));
      const info = tools.find((tool) => tool.name === name);
      return info === undefined ? { state: "unlisted" } : { state: "listed", info };
    } catch (error) {
      options.cancellation.throwIfCancelled();
      return { state: "unknown", error };
    }
  }

  /** Marks the list of one identity, or of all, as outdated. */
  invalidate(identity?: string): void {
    const entries = identity === undefined ? [...this.#entries.values()] : [this.#getEntry(identity)];
    for (const entry of entries) {
      entry.isInvalidated = true;
      entry.invalidations += 1;
      entry.listing = undefined;
      entry.lastAttemptAt = Number.NEGATIVE_INFINITY;
      entry.recheck = undefined;
    }
  }

  /** Handles the server's list_changed notification; a burst of them leads to one listing. */
  onListChanged(): void {
    this.invalidate();
    if (this.#closed.isCancelled) return;
    if (this.#cancelDebounce !== undefined || !this.#entries.has(SHARED_IDENTITY)) return;
    this.#cancelDebounce = this.#deps.clock.after(CHANGE_DEBOUNCE_MS, () => {
      this.#cancelDebounce = undefined;
      this.#refreshInBackground(this.#getEntry(SHARED_IDENTITY), SHARED_IDENTITY, {});
    });
  }

  /** Cancels running listings and waits for pending store writes, as the store may be closed next. */
  async close(): Promise<void> {
    this.#unwatchStore?.();
    this.#cancelDebounce?.();
    this.#closed.cancel(new McpRuntimeError("closed", "The catalog was closed."));
    await settleWithin(MAX_FLUSH_MS, this.#deps.clock, () => Promise.allSettled(this.#pending));
  }

  /** Another process may have written a newer list. The cached list is used until the store is read. */
  #markStoreUnread(): void {
    for (const entry of this.#entries.values()) entry.storeWasRead = false;
  }

  #getEntry(identity: string): CatalogEntry {
    const entry = this.#entries.get(identity) ?? createEntry();
    this.#entries.delete(identity);
    this.#entries.set(identity, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_ENTRIES && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  async #getCurrent(
    entry: CatalogEntry,
    identity: string,
    caller: CallerOptions,
  ): Promise<readonly McpToolInfo[]> {
    const { staleAfterMs, onRead } = this.#deps;
    await this.#readStore(entry, identity);
    const { list } = entry;
    const isStale =
      list !== undefined &&
      (entry.isInvalidated || this.#getAgeMs(list) >= getFreshnessMs(list, staleAfterMs));
    onRead?.(identity, list === undefined ? "miss" : isStale ? "stale" : "fresh");
    if (list === undefined) return (await this.#getListing(entry, identity, caller)).tools;
    if (isStale) this.#refreshInBackground(entry, identity, caller);
    return list.tools;
  }

  async #getRecent(options: ToolLookupOptions): Promise<CachedToolList> {
    const { caller, maxAgeMs, mustRefetch } = options;
    const { clock, source } = this.#deps;
    const identity = source.identityOf(caller);
    const entry = this.#getEntry(identity);
    if (mustRefetch === true) return this.#recheck(entry, identity, options);
    const isRecent = (list: CachedToolList | undefined): list is CachedToolList =>
      list !== undefined && !entry.isInvalidated && this.#getAgeMs(list) < maxAgeMs;
    if (!isRecent(entry.list)) await this.#readStore(entry, identity);
    if (isRecent(entry.list)) return entry.list;
    const wasAttempted = entry.listing === undefined && clock.now() - entry.lastAttemptAt < maxAgeMs;
    if (wasAttempted)
      throw new McpRuntimeError("unavailable", "The last attempt to list its tools failed moments ago.");
    return this.#getListing(entry, identity, caller);
  }

  #recheck(
    entry: CatalogEntry,
    identity: string,
    { caller, maxAgeMs }: ToolLookupOptions,
  ): Promise<CachedToolList> {
    const startedAt = this.#deps.clock.now();
    if (entry.recheck === undefined || startedAt - entry.recheck.startedAt >= maxAgeMs)
      entry.recheck = { startedAt, listing: this.#getListing(entry, identity, caller) };
    return entry.recheck.listing;
  }

  #runWithin<T>({ cancellation, waitMs: ms }: ToolLookupOptions, work: () => Promise<T>): Promise<T> {
    const createError = () => new McpRuntimeError("timeout", `Listing its tools took longer than ${ms} ms.`);
    const deadline = { ms, clock: this.#deps.clock, cancellation, createError };
    return withDeadline(deadline, (scope) => scope.race(work()));
  }

  /** Loads the stored list unless memory has one already. Concurrent callers share one read. */
  async #readStore(entry: CatalogEntry, identity: string): Promise<void> {
    const { store } = this.#deps;
    if (store === undefined || (entry.storeWasRead && entry.list !== undefined)) return;
    await this.#reads.run(entry, () => this.#read(store, entry, identity));
  }

  async #read(store: ToolListStore, entry: CatalogEntry, identity: string): Promise<void> {
    entry.storeWasRead = true;
    const list = await store.read(identity);
    if (list === undefined) return;
    await this.#deps.verify(list.tools, identity);
    // A listing may have completed in the meantime.
    if (entry.list === undefined || entry.list.listedAt < list.listedAt) entry.list = list;
  }

  /** Starts a listing, or joins the one in progress. */
  #getListing(entry: CatalogEntry, identity: string, caller: CallerOptions): Promise<CachedToolList> {
    entry.listing ??= this.#track(this.#list(entry, identity, caller));
    return entry.listing;
  }

  #track(listing: Promise<CachedToolList>): Promise<CachedToolList> {
    const untrack = () => this.#pending.delete(listing);
    this.#pending.add(listing);
    listing.then(untrack, untrack);
    return listing;
  }

  #refreshInBackground(entry: CatalogEntry, identity: string, caller: CallerOptions): void {
    const { server, warn } = this.#deps;
    if (entry.listing !== undefined) return;
    this.#getListing(entry, identity, caller).catch((error: unknown) => {
      if (!this.#closed.isCancelled)
        warn(
          `Could not refresh the tools of server "${server}"; the previous list stays in use: ${String(error)}`,
        );
    });
  }

  async #list(entry: CatalogEntry, identity: string, { context }: CallerOptions): Promise<CachedToolList> {
    const { source, store, clock, now, verify } = this.#deps;
    const { invalidations } = entry;
    let list: CachedToolList;
    entry.lastAttemptAt = clock.now();
    try {
      // A closed client would reconnect if it were used again.
      this.#closed.throwIfCancelled();
      let ttlMs: number | undefined;
      const onTtl = (value: number) => (ttlMs = value);
      // No caller's signal here: other callers wait for the same listing.
      const tools = await this.#closed.race(source.listTools({ context, onTtl }));
      await verify(tools, identity);
      list = toCachedToolList(tools, now(), { ttlMs, protocolVersion: source.protocolVersion });
      // Invalidated while it ran: the result may be outdated, so it is not cached.
      if (entry.invalidations !== invalidations) return list;
      this.#applyList(list, entry, identity);
    } finally {
      if (entry.invalidations === invalidations) entry.listing = undefined;
    }
    // The next listing may start now; its result is written after this one.
    if (list.tools.length > 0) entry.writing = entry.writing.then(() => store?.write(identity, list));
    await entry.writing;
    return list;
  }

  #applyList(list: CachedToolList, entry: CatalogEntry, identity: string): void {
    const isEmpty = list.tools.length === 0;
    entry.isInvalidated = false;
    entry.list = isEmpty ? undefined : list;
    if (isEmpty) entry.lastAttemptAt = Number.NEGATIVE_INFINITY;
    this.#deps.onListed?.(identity, list.tools);
  }

  #waitFor<T>(promise: Promise<T>, { signal }: CallerOptions): Promise<T> {
    if (signal === undefined) return promise;
    const cancellation = CancelScope.fromSignal(signal);
    return cancellation.race(promise).finally(() => cancellation.dispose());
  }

  #getAgeMs({ listedAt }: CachedToolList): number {
    return this.#deps.now() - listedAt;
  }
}

/** The cached list of one identity. */
interface CatalogEntry {
  list: CachedToolList | undefined;
  /** The list was reported as outdated. */
  isInvalidated: boolean;
  /** Incremented on invalidation: a listing that started earlier is outdated when it ends. */
  invalidations: number;
  listing: Promise<CachedToolList> | undefined;
  /** Resolves when all lists are written to the store, in order. Never rejects. */
  writing: Promise<void>;
  /** The store was read, and has reported no change since. */
  storeWasRead: boolean;
  /** When the last listing started, in clock time. */
  lastAttemptAt: number;
  /** The last listing started by `mustRefetch`. */
  recheck: { readonly startedAt: number; readonly listing: Promise<CachedToolList> } | undefined;
}

function createEntry(): CatalogEntry {
  return {
    list: undefined,
    isInvalidated: false,
    invalidations: 0,
    listing: undefined,
    writing: Promise.resolve(),
    storeWasRead: false,
    lastAttemptAt: Number.NEGATIVE_INFINITY,
    recheck: undefined,
  };
}
