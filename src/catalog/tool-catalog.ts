import { CancelScope } from "../async/cancel-scope.js";
import { type Clock, delay, settleWithin, systemClock, withDeadline } from "../async/clock.js";
import { SingleFlight } from "../async/single-flight.js";
import type { ListToolsOptions, RequestOptions } from "../client/call-options.js";
import type { McpClient } from "../client/mcp-client.js";
import { type McpToolInfo, shareTools } from "../config/server-features.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { isUnauthorized, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { CatalogEntry, evictLargeLists, evictOldestEntry } from "./catalog-entry.js";
import type { CatalogEventEmitter } from "./catalog-events.js";
import type { CachedToolList, ToolListStore } from "./tool-list-store.js";

/** The part of a client that a catalog uses. */
type CatalogClient = Pick<
  McpClient,
  "name" | "state" | "identityOf" | "listTools" | "protocolVersion" | "on"
> & {
  /** Internal, so it is not in the published type of `McpClient`. */
  hintProtocolVersion(version: string): void;
};

/** Options of `ToolCatalog`. */
interface ToolCatalogOptions {
  /** The age in milliseconds from which a list is refreshed in the background when it is used. */
  readonly staleAfterMs: number;
  /** Persists the lists; without a store, they are cached in memory only. */
  readonly store: ToolListStore | undefined;
  /** Receives `catalogRead` and `toolsListed`. */
  readonly events: CatalogEventEmitter;
  /** Receives failures of background refreshes. */
  readonly warn: (message: string) => void;
  /** Checks each list from the server or a store before it is returned; rejects to discard the list. */
  readonly pins?: { check(tools: readonly McpToolInfo[], identity: string): Promise<void> } | undefined;
  /** Throws while no request may be sent to the server. */
  readonly assertEnabled?: () => void;
  /** Cancels the listings that begin now, when the server is disconnected. */
  readonly signal?: () => AbortSignal;
  /** The server returned a new current list for this identity. */
  readonly onListed?: (identity: string, tools: readonly McpToolInfo[]) => void;
  /** Timers and monotonic time. @default the system clock */
  readonly clock?: Clock;
  /** Unix time in milliseconds. @default Date.now */
  readonly now?: () => number;
}

/** Whether the server lists a tool. `unknown`: the list could not be fetched. */
export type ToolLookup =
  | { readonly state: "listed"; readonly info: McpToolInfo }
  | { readonly state: "unlisted" }
  | { readonly state: "unknown"; readonly error: unknown };

/** Options of `ToolCatalog.find`. */
export interface ToolLookupOptions {
  /** The caller whose list is searched. */
  readonly caller: CallerOptions;
  /** Ends the wait for the list. */
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

/** Default cache options. The table in the docs is generated from this. */
export const CACHE_DEFAULTS = { staleAfterMs: 300_000, ttlMs: 30 * 24 * 60 * 60 * 1_000 } as const;

/** Change notifications within this time lead to one listing. */
const CHANGE_DEBOUNCE_MS = 250;
/**
 * If the process that holds the lease dies, another one lists the tools after this time. The lease is renewed while the
 * process lists them.
 */
const LEASE_MS = 3_000;
/** How long a process waits for the list of another one, before it lists the tools itself: a store is not trusted. */
const MAX_LEASE_WAIT_MS = 20_000;
/** How often it requests the lease in the meantime, in case the other process has failed. */
const LEASE_POLL_MS = 500;
/** How long it waits at least between two requests: a store can report changes without end. */
const MIN_LEASE_WAIT_MS = 50;
/** How long `close()` waits for pending store writes; the stores have shorter timeouts of their own. */
const MAX_FLUSH_MS = 2_000;

/**
 * The catalog of each client that has one, for the registry: a tool that the registry finds in this process should be
 * callable.
 */
export const CATALOGS = new WeakMap<object, ToolCatalog>();

/**
 * The tool lists of one server, by identity. A fresh list is returned from the cache; a stale one is returned while it
 * is refreshed in the background. Without a list, callers wait for one shared listing. Of the processes that share a
 * store with leases, one lists the server and the others use its list.
 */
export class ToolCatalog {
  readonly #client: CatalogClient;
  readonly #options: ToolCatalogOptions;
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #closed = new CancelScope();
  readonly #unwatchStore: (() => void) | undefined;
  readonly #reads = new SingleFlight<CatalogEntry, void>();
  /** Listings that are not yet written to the store. */
  readonly #pending = new Set<Promise<CachedToolList>>();
  #cancelDebounce: (() => void) | undefined;
  #isFlushing = false;

  /** Sends nothing. Follows the change notifications of the client, but does not cause it to listen for them. */
  constructor(client: CatalogClient, options: ToolCatalogOptions) {
    this.#client = client;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#now = options.now ?? (() => Date.now());
    this.#unwatchStore = options.store?.watch((key) => this.#onStoreChanged(key));
    client.on("toolsChanged", () => this.onListChanged(), { passive: true });
    CATALOGS.set(client, this);
  }

  /** The tools, from memory, the store or the server. The caller's signal cancels only the caller's wait. */
  async list(caller: CallerOptions = {}): Promise<readonly McpToolInfo[]> {
    return this.#waitFor(this.#getCurrent(this.#getEntry(this.#client.identityOf(caller)), caller), caller);
  }

  /** Like `list` without a caller, but never starts a login. */
  async listInBackground(): Promise<readonly McpToolInfo[]> {
    return this.#getCurrent(this.#getEntry(this.#client.identityOf({})), BACKGROUND);
  }

  /** The tools from memory or the store. Sends nothing and starts no background refresh. */
  async getCached(): Promise<readonly McpToolInfo[] | undefined> {
    const entry = this.#getEntry(this.#client.identityOf({}));
    await this.#readStore(entry);
    return entry.list?.tools;
  }

  /** Fetches the list from the server, regardless of the cache. */
  async refresh(caller: CallerOptions = {}): Promise<readonly McpToolInfo[]> {
    const entry = this.#getEntry(this.#client.identityOf(caller));
    entry.invalidate(this.#now());
    return (await this.#waitFor(this.#getListing(entry, caller), caller)).tools;
  }

  /**
   * Fetches the list of requests without a caller, unless this or another process is known to have done so within
   * `maxAgeMs`. Does not read the store to find out. Never starts a login.
   */
  async refreshIfOlder(maxAgeMs: number): Promise<void> {
    const entry = this.#getEntry(this.#client.identityOf({}));
    const since = this.#now() - maxAgeMs;
    const isRecent = Math.max(entry.list?.listedAt ?? 0, entry.storeChangedAt) > since;
    if (!isRecent) await this.#getListing(entry, { ...BACKGROUND, minListedAt: since });
  }

  /** Looks up a tool in a list no older than `maxAgeMs`; the server is asked at most once in that time. */
  async find(name: string, options: ToolLookupOptions): Promise<ToolLookup> {
    const { cancellation, waitMs: ms } = options;
    const createError = () => new McpRuntimeError("timeout", `Listing its tools took longer than ${ms} ms.`);
    try {
      const deadline = { ms, clock: this.#clock, cancellation, createError };
      const { tools } = await withDeadline(deadline, (scope) => scope.race(this.#getRecent(options)));
      const info = tools.find((tool) => tool.name === name);
      return info === undefined ? { state: "unlisted" } : { state: "listed", info };
    } catch (error) {
      cancellation.throwIfCancelled();
      return { state: "unknown", error };
    }
  }

  /** Marks the lists of all identities as outdated. */
  invalidate(): void {
    const now = this.#now();
    for (const entry of this.#entries.values()) entry.invalidate(now);
  }

  /** Call when the server is disconnected: what is requested next does not join a listing that was aborted. */
  abandonListings(): void {
    for (const { listing } of this.#entries.values()) if (listing !== undefined) listing.isOutdated = true;
  }

  /**
   * Handles the server's list_changed notification; a burst of them leads to one listing, for the identity
   * that all callers share. Lists of other identities are refreshed on their next read.
   */
  onListChanged(): void {
    this.invalidate();
    if (this.#closed.isCancelled) return;
    const entry = this.#findSharedEntry();
    if (this.#cancelDebounce !== undefined || entry === undefined) return;
    this.#cancelDebounce = this.#clock.after(CHANGE_DEBOUNCE_MS, () => {
      this.#cancelDebounce = undefined;
      // A caller may have refreshed the list in the meantime.
      if (entry.isInvalidated) this.#refreshInBackground(entry, {});
    });
  }

  /**
   * Call before `close()`. Lists the tools once more if the server has announced a change that is not in the store yet:
   * a short run would leave an outdated list to the next one. Returns `undefined` if there is nothing to do.
   */
  flush(): Promise<void> | undefined {
    const { store } = this.#options;
    const entry = this.#findSharedEntry();
    const isOutdated = entry?.list !== undefined && entry.isInvalidated;
    if (store === undefined || !isOutdated || this.#client.state !== "ready") return undefined;
    this.#cancelDebounce?.();
    this.#isFlushing = true;
    return this.#flushEntry(entry, store);
  }

  async #flushEntry(entry: CatalogEntry, store: ToolListStore): Promise<void> {
    await settleWithin(MAX_FLUSH_MS, this.#clock, () => this.#getListing(entry, BACKGROUND));
    const { list, identity } = entry;
    if (list === undefined || !entry.isInvalidated) return;
    // The next run uses the list, but refreshes it at once.
    entry.writing = entry.writing.then(() => store.write(identity, { ...list, ttlMs: 0 }));
    await entry.writing;
  }

  /** The list of requests without a caller; `undefined` if it was not read yet, or the server requires a caller. */
  #findSharedEntry(): CatalogEntry | undefined {
    try {
      return this.#entries.get(this.#client.identityOf({}));
    } catch {
      return undefined;
    }
  }

  /** Cancels running listings and waits for pending store writes, as the store may be closed next. */
  async close(): Promise<void> {
    this.#unwatchStore?.();
    this.#cancelDebounce?.();
    this.#closed.cancel(new McpRuntimeError("closed", "The catalog was closed."));
    await settleWithin(MAX_FLUSH_MS, this.#clock, () => Promise.allSettled(this.#pending));
  }

  /** Another process may have written a newer list. The cached list is used until the store is read. */
  #onStoreChanged(key: string | undefined): void {
    const now = this.#now();
    for (const entry of this.#entries.values()) {
      entry.storeKey ??= this.#options.store?.toKey(entry.identity);
      if (key !== undefined && key !== entry.storeKey) continue;
      entry.storeWasRead = false;
      if (key !== undefined) entry.storeChangedAt = now;
      entry.wake?.();
    }
  }

  #getEntry(identity: string): CatalogEntry {
    const entry = this.#entries.get(identity) ?? new CatalogEntry(identity);
    this.#entries.delete(identity);
    this.#entries.set(identity, entry);
    evictOldestEntry(this.#entries);
    return entry;
  }

  async #getCurrent(entry: CatalogEntry, caller: ListingRequest): Promise<readonly McpToolInfo[]> {
    await this.#readStore(entry);
    const { identity, list } = entry;
    const isStale =
      list !== undefined && (entry.isInvalidated || this.#getAgeMs(list) >= this.#getFreshMs(list));
    const result = list === undefined ? "miss" : isStale ? "stale" : "fresh";
    this.#options.events.emit("catalogRead", { server: this.#client.name, identity, result });
    if (list === undefined)
      return (await this.#getListing(entry, { ...caller, minListedAt: Number.NEGATIVE_INFINITY })).tools;
    if (isStale) this.#refreshInBackground(entry, caller);
    return list.tools;
  }

  async #getRecent({ caller, maxAgeMs, mustRefetch }: ToolLookupOptions): Promise<CachedToolList> {
    const entry = this.#getEntry(this.#client.identityOf(caller));
    if (mustRefetch === true) return this.#recheck(entry, caller, maxAgeMs);
    const isRecent = (list: CachedToolList | undefined): list is CachedToolList =>
      list !== undefined && !entry.isInvalidated && this.#getAgeMs(list) < maxAgeMs;
    if (!isRecent(entry.list)) await this.#readStore(entry);
    if (isRecent(entry.list)) return entry.list;
    const wasAttempted = entry.listing === undefined && this.#clock.now() - entry.lastAttemptAt < maxAgeMs;
    if (wasAttempted)
      throw new McpRuntimeError("unavailable", "The last attempt to list its tools failed moments ago.");
    return this.#getListing(entry, { ...caller, minListedAt: this.#now() - maxAgeMs });
  }

  #recheck(entry: CatalogEntry, caller: CallerOptions, maxAgeMs: number): Promise<CachedToolList> {
    const startedAt = this.#clock.now();
    if (entry.recheck === undefined || startedAt - entry.recheck.startedAt >= maxAgeMs)
      entry.recheck = { startedAt, listing: this.#getListing(entry, caller) };
    return entry.recheck.listing;
  }

  /** Loads the stored list unless memory has one already. Concurrent callers share one read. */
  async #readStore(entry: CatalogEntry): Promise<void> {
    const { store } = this.#options;
    if (store === undefined || (entry.storeWasRead && entry.list !== undefined)) return;
    await this.#reads.run(entry, () => this.#read(store, entry));
  }

  async #read(store: ToolListStore, entry: CatalogEntry): Promise<void> {
    entry.storeWasRead = true;
    const list = await store.read(entry.identity);
    if (list === undefined) return;
    if (list.protocolVersion !== undefined) this.#client.hintProtocolVersion(list.protocolVersion);
    await this.#options.pins?.check(list.tools, entry.identity);
    // A listing may have completed in the meantime.
    if (entry.list !== undefined && entry.list.listedAt >= list.listedAt) return;
    entry.list = list;
    evictLargeLists(this.#entries);
  }

  /**
   * Starts a listing, or joins the one in progress. There is at most one at a time: if the list was invalidated since
   * that one started, one more follows it. If one in the background requires a login, a caller who waits for it lists
   * the tools again.
   */
  #getListing(entry: CatalogEntry, request: ListingRequest): Promise<CachedToolList> {
    const { listing } = entry;
    const { isBackground = false } = request;
    if (listing === undefined) return this.#startListing(entry, request);
    if (!listing.isOutdated) {
      if (isBackground || !listing.isBackground) return listing.stored;
      return listing.stored.catch((error: unknown) => {
        if (isUnauthorized(error)) return this.#getListing(entry, request);
        throw error;
      });
    }
    entry.isNextInBackground = isBackground && (entry.nextListing === undefined || entry.isNextInBackground);
    entry.nextListing ??= this.#track(
      Promise.allSettled([listing.fetched]).then(() =>
        this.#getListing(entry, { ...request, isBackground: entry.isNextInBackground }),
      ),
    );
    return entry.nextListing;
  }

  #startListing(entry: CatalogEntry, request: ListingRequest): Promise<CachedToolList> {
    const leaseOutcome = this.#acquireLease(entry, request);
    const listing = leaseOutcome.then(({ list }) => list ?? this.#fetchList(entry, request));
    // Tracked, because no caller waits for it if there is no lease outcome.
    const fetched = this.#track(listing.finally(() => (entry.listing = undefined)));
    const write = async (): Promise<CachedToolList> => {
      const { list, end } = await leaseOutcome;
      try {
        return list ?? (await this.#write(entry, await fetched));
      } finally {
        await end?.();
      }
    };
    const stored = this.#track(write());
    entry.listing = { fetched, stored, isOutdated: false, isBackground: request.isBackground === true };
    entry.nextListing = undefined;
    return stored;
  }

  /**
   * Waits until this process holds the lease, or until another process that shares the store has listed the tools: then
   * returns that list. Gives up after a while, and if the store fails: then the tools are listed without a lease.
   */
  async #acquireLease(entry: CatalogEntry, { minListedAt }: ListingRequest): Promise<LeaseOutcome> {
    const { store } = this.#options;
    if (minListedAt === undefined || store?.hasLeases !== true) return {};
    const givesUpAt = this.#clock.now() + MAX_LEASE_WAIT_MS;
    let hasWaited = false;
    let previous: CachedToolList | undefined;
    const isUsable = () =>
      this.#isUsable(entry, { minListedAt, isAwaited: hasWaited && entry.list !== previous });
    while (this.#clock.now() < givesUpAt && !this.#closed.isCancelled) {
      if (!entry.storeWasRead) await this.#read(store, entry);
      if (isUsable()) return { list: this.#useStoredList(entry) };
      const end = await store.lease(entry.identity, { ttlMs: LEASE_MS, clock: this.#clock });
      if (end === undefined) return {};
      if (end === "taken") {
        if (!hasWaited) previous = entry.list;
        hasWaited = true;
        await delay(MIN_LEASE_WAIT_MS, this.#clock, this.#closed);
        await this.#waitForStoreChange(entry);
      } else {
        // Another process may have just released the lease.
        await this.#read(store, entry).catch(async (error: unknown) => {
          await end();
          throw error;
        });
        if (isUsable()) return { end, list: this.#useStoredList(entry) };
        const { list } = entry;
        const isOutdated = list !== undefined && list !== previous && this.#getFreshMs(list) > 0;
        if (!hasWaited || isOutdated) return { end };
        // The other process has stored no list that can be shared: the server has no tools, or fails, or its lists
        // expire at once. The processes that have waited list the tools without a lease.
        await end();
        return {};
      }
    }
    return {};
  }

  /** Whether a list was requested late enough to be used instead of one that would be requested now. */
  #isUsable(
    entry: CatalogEntry,
    { minListedAt, isAwaited }: { readonly minListedAt: number; readonly isAwaited: boolean },
  ): boolean {
    const { list } = entry;
    if (list === undefined || list.listedAt < minListedAt) return false;
    // A process whose clock is ahead may have listed the tools before the change: its list must be written after it, too.
    const isOld = list.listedAt < entry.invalidatedAt || entry.storeChangedAt <= entry.invalidatedAt;
    if (entry.isInvalidated && isOld) return false;
    const freshMs = this.#getFreshMs(list);
    // A list that was written while this process waited is as current as one that it would fetch itself.
    return isAwaited ? freshMs > 0 : this.#getAgeMs(list) < freshMs;
  }

  #waitForStoreChange(entry: CatalogEntry): Promise<void> {
    // It may have changed while the lease was requested.
    if (!entry.storeWasRead) return Promise.resolve();
    return new Promise((resolve) => {
      const cancelTimer = this.#clock.after(LEASE_POLL_MS, () => {
        // A store may have no change feed.
        entry.storeWasRead = false;
        entry.wake?.();
      });
      const unsubscribe = this.#closed.onCancel(() => entry.wake?.());
      entry.wake = () => {
        entry.wake = undefined;
        cancelTimer();
        unsubscribe();
        resolve();
      };
    });
  }

  /** Uses the list of another process like a response of the server. */
  #useStoredList(entry: CatalogEntry): CachedToolList | undefined {
    if (entry.listing !== undefined) entry.listing.isOutdated = false;
    const { list } = entry;
    if (list !== undefined) this.#applyList(list, entry);
    return list;
  }

  #track(listing: Promise<CachedToolList>): Promise<CachedToolList> {
    const untrack = () => this.#pending.delete(listing);
    this.#pending.add(listing);
    listing.then(untrack, untrack);
    return listing;
  }

  #refreshInBackground(entry: CatalogEntry, caller: CallerOptions): void {
    if (entry.nextListing !== undefined || entry.listing?.isOutdated === false) return;
    const minListedAt = (entry.list?.listedAt ?? Number.NEGATIVE_INFINITY) + 1;
    this.#getListing(entry, { ...caller, ...BACKGROUND, minListedAt }).catch((error: unknown) => {
      const text = `Could not refresh the tools of server "${this.#client.name}"; the previous list stays in use: ${printValue(error)}`;
      if (!this.#closed.isCancelled) this.#options.warn(text);
    });
  }

  async #fetchList(
    entry: CatalogEntry,
    { context, isBackground = false }: ListingRequest,
  ): Promise<CachedToolList> {
    // A closed client would reconnect if it were used again.
    this.#closed.throwIfCancelled();
    entry.lastAttemptAt = this.#clock.now();
    const listedAt = this.#now();
    // Changes that were announced before the request are in the response.
    if (entry.listing !== undefined) entry.listing.isOutdated = false;
    let ttlMs: number | undefined;
    // No caller's signal here: other callers wait for the same listing.
    const onTtl = (value: number) => (ttlMs = value);
    const tools = await this.#closed.race(this.#fetch({ context, onTtl }, isBackground));
    await this.#options.pins?.check(tools, entry.identity);
    // Invalidated while it ran: the list is used, but others that read the store refresh it at once.
    if (entry.listing?.isOutdated === true) ttlMs = 0;
    const { protocolVersion } = this.#client;
    const list = { tools: shareTools([...tools]), listedAt, ttlMs, protocolVersion };
    this.#applyList(list, entry);
    return list;
  }

  /** Lists are written in the order in which they were fetched. An empty one is not: it may be temporary. */
  async #write(entry: CatalogEntry, list: CachedToolList): Promise<CachedToolList> {
    const { store } = this.#options;
    if (list.tools.length > 0) entry.writing = entry.writing.then(() => store?.write(entry.identity, list));
    await entry.writing;
    return list;
  }

  /** Sends `tools/list` and emits how it ended. */
  async #fetch(options: ListToolsOptions, isBackground: boolean): Promise<McpToolInfo[]> {
    if (!this.#isFlushing) this.#options.assertEnabled?.();
    const startedAt = this.#clock.now();
    const emit = (tools: number | undefined, kind: FailureKind | undefined) => {
      const latencyMs = this.#clock.now() - startedAt;
      this.#options.events.emit("toolsListed", { server: this.#client.name, latencyMs, tools, kind });
    };
    try {
      const signal = this.#options.signal?.();
      const tools = await this.#client.listTools({ ...options, signal }, { isBackground });
      emit(tools.length, undefined);
      return tools;
    } catch (error) {
      emit(undefined, error instanceof McpRuntimeError ? error.kind : "cancelled");
      throw error;
    }
  }

  #applyList(list: CachedToolList, entry: CatalogEntry): void {
    const isEmpty = list.tools.length === 0;
    entry.isInvalidated = entry.listing?.isOutdated ?? false;
    entry.list = isEmpty ? undefined : list;
    if (isEmpty) entry.lastAttemptAt = Number.NEGATIVE_INFINITY;
    evictLargeLists(this.#entries);
    this.#options.onListed?.(entry.identity, list.tools);
  }

  #waitFor<T>(promise: Promise<T>, { signal }: CallerOptions): Promise<T> {
    if (signal === undefined) return promise;
    const cancellation = CancelScope.fromSignal(signal);
    return cancellation.race(promise).finally(() => cancellation.dispose());
  }

  /** How long a list is used without listing the tools again. */
  #getFreshMs({ ttlMs = Number.POSITIVE_INFINITY }: CachedToolList): number {
    return Math.min(this.#options.staleAfterMs, ttlMs);
  }

  #getAgeMs({ listedAt }: CachedToolList): number {
    return this.#now() - listedAt;
  }
}

interface ListingRequest extends CallerOptions {
  /**
   * A list that another process has requested since then (Unix time in milliseconds) may be used. Without it, the
   * server is asked.
   */
  readonly minListedAt?: number;
  /** No caller waits for the list, so requesting it must not start a login. */
  readonly isBackground?: boolean;
}

const BACKGROUND = { isBackground: true } as const;

/** Either the lease for listing the tools, or the list of the process that held it. */
interface LeaseOutcome {
  readonly end?: (() => Promise<void>) | undefined;
  readonly list?: CachedToolList | undefined;
}
