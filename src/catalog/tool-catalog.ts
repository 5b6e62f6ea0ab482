import { CancelScope } from "../async/cancel-scope.js";
import { withDeadline } from "../async/deadline.js";
import { within } from "../async/settle-within.js";
import type { McpToolInfo } from "../config/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CachedList, freshMsOf, toCachedList } from "./cached-tool-list.js";
import type { CatalogueParts } from "./catalog-dependencies.js";
import type { ListStore } from "./tool-list-store.js";
import { type ListSlot, emptySlot } from "./catalog-entry.js";
import type { LookUp, LookUpOptions } from "./tool-lookup.js";
import type { Asker } from "./tool-source.js";

/** Every default of the cache, in one place. The README's table is printed from here. */
export const CACHE_DEFAULTS = { staleAfterMs: 300_000, ttlMs: 30 * 24 * 60 * 60 * 1_000 } as const;

/** Where everybody is one. The lists of others are listed anew when they ask. */
const SHARED = "";
/** How long a server that changes its tools is given to finish. */
const QUIET_MS = 250;
/** How many users' lists are kept; the one that was not used for longest goes first. */
const MOST_SLOTS = 1_000;
/** How long the end waits for what is being kept: a store that takes longer has given up by itself. */
const LONGEST_KEEPING_MS = 2_000;

/**
 * What one server offers, by identity. A fresh list is given at once, an older one as well while one
 * listing runs, and where there is none the caller waits for that listing, which others share.
 */
export class ToolCatalog {
  readonly #parts: CatalogueParts;
  readonly #slots = new Map<string, ListSlot>();
  readonly #closed = new CancelScope();
  readonly #stopWatching: (() => void) | undefined;
  /** Listings, until what they found is in the store. */
  readonly #pending = new Set<Promise<CachedList>>();
  #stopWaiting: (() => void) | undefined;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
    this.#stopWatching = parts.store?.watch(() => this.#forget());
  }

  /** The tools, from wherever they are at hand. The caller's signal ends only the caller's wait. */
  async list(asker: Asker = {}): Promise<readonly McpToolInfo[]> {
    const identity = this.#parts.source.identityOf(asker);
    return this.#wait(this.#current(this.#slot(identity), identity, asker), asker);
  }

  /** The tools as far as they are at hand: nothing is sent, and nothing is listed aside. */
  async atHand(asker: Asker = {}): Promise<readonly McpToolInfo[] | undefined> {
    const identity = this.#parts.source.identityOf(asker);
    const slot = this.#slot(identity);
    await this.#readStore(slot, identity);
    return slot.list?.tools;
  }

  /** Lists now, whatever is at hand. */
  async refresh(asker: Asker = {}): Promise<readonly McpToolInfo[]> {
    const identity = this.#parts.source.identityOf(asker);
    this.invalidate(identity);
    return (await this.#wait(this.#listing(this.#slot(identity), identity, asker), asker)).tools;
  }

  /** Where a tool stands in a list that is not older than `maxAgeMs`; no list is asked for more often. */
  async lookUp(name: string, options: LookUpOptions): Promise<LookUp> {
    try {
      const { tools } = await this.#within(options, () => this.#recent(options));
      const info = tools.find((tool) => tool.name === name);
      // Read here: of what cannot be read, nothing is known.
      return info === undefined ? { state: "unlisted" } : { state: "listed", info: { ...info } };
    } catch (error) {
      options.cancellation.throwIfCancelled();
      return { state: "unknown", error };
    }
  }

  /** The list is another one now: for one identity, or for all. */
  invalidate(identity?: string): void {
    const slots = identity === undefined ? [...this.#slots.values()] : [this.#slot(identity)];
    for (const slot of slots) {
      slot.isDirty = true;
      slot.invalidations += 1;
      slot.listing = undefined;
      slot.triedAt = Number.NEGATIVE_INFINITY;
      slot.doubt = undefined;
    }
  }

  /** The server says that its list has changed: one listing for all that it says in a short time. */
  hearChange(): void {
    this.invalidate();
    if (this.#closed.isCancelled) return;
    if (this.#stopWaiting !== undefined || !this.#slots.has(SHARED)) return;
    this.#stopWaiting = this.#parts.clock.after(QUIET_MS, () => {
      this.#stopWaiting = undefined;
      this.#listAside(this.#slot(SHARED), SHARED, {});
    });
  }

  /** Ends listings that are under way. What has been listed is kept before it is over: the store may be closed next. */
  async close(): Promise<void> {
    this.#stopWatching?.();
    this.#stopWaiting?.();
    this.#closed.cancel(new McpRuntimeError("closed", "The catalogue was closed."));
    await within(LONGEST_KEEPING_MS, this.#parts.clock, () => Promise.allSettled(this.#pending));
  }

  /** Another process may have listed: what it found is in the store. What is known stays until it is read. */
  #forget(): void {
    for (const slot of this.#slots.values()) slot.isRead = false;
  }

  #slot(identity: string): ListSlot {
    const slot = this.#slots.get(identity) ?? emptySlot();
    this.#slots.delete(identity);
    this.#slots.set(identity, slot);
    const [oldest] = this.#slots.keys();
    if (this.#slots.size > MOST_SLOTS && oldest !== undefined) this.#slots.delete(oldest);
    return slot;
  }

  async #current(slot: ListSlot, identity: string, asker: Asker): Promise<readonly McpToolInfo[]> {
    const { staleAfterMs, onRead } = this.#parts;
    await this.#readStore(slot, identity);
    const { list } = slot;
    const isStale =
      list !== undefined && (slot.isDirty || this.#ageOf(list) >= freshMsOf(list, staleAfterMs));
    onRead?.(identity, list === undefined ? "miss" : isStale ? "stale" : "fresh");
    if (list === undefined) return (await this.#listing(slot, identity, asker)).tools;
    if (isStale) this.#listAside(slot, identity, asker);
    return list.tools;
  }

  async #recent(options: LookUpOptions): Promise<CachedList> {
    const { asker, maxAgeMs, isDoubted } = options;
    const { clock, source } = this.#parts;
    const identity = source.identityOf(asker);
    const slot = this.#slot(identity);
    if (isDoubted === true) return this.#afresh(slot, identity, options);
    const isYoung = (list: CachedList | undefined): list is CachedList =>
      list !== undefined && !slot.isDirty && this.#ageOf(list) < maxAgeMs;
    if (!isYoung(slot.list)) await this.#readStore(slot, identity);
    if (isYoung(slot.list)) return slot.list;
    const wasTried = slot.listing === undefined && clock.now() - slot.triedAt < maxAgeMs;
    if (wasTried)
      throw new McpRuntimeError("unavailable", "Its list of tools could not be had a moment ago.");
    return this.#listing(slot, identity, asker);
  }

  #afresh(slot: ListSlot, identity: string, { asker, maxAgeMs }: LookUpOptions): Promise<CachedList> {
    const askedAt = this.#parts.clock.now();
    if (slot.doubt === undefined || askedAt - slot.doubt.askedAt >= maxAgeMs)
      slot.doubt = { askedAt, listing: this.#listing(slot, identity, asker) };
    return slot.doubt.listing;
  }

  #within<T>({ cancellation, waitMs: ms }: LookUpOptions, work: () => Promise<T>): Promise<T> {
    const expired = () => new McpRuntimeError("timeout", `Its list of tools did not come within ${ms} ms.`);
    const deadline = { ms, clock: this.#parts.clock, cancellation, expired };
    return withDeadline(deadline, (limited) => limited.race(work()));
  }

  /** Takes what the store has, when there is nothing newer at hand. One read for all who want it. */
  async #readStore(slot: ListSlot, identity: string): Promise<void> {
    const { store } = this.#parts;
    if (store === undefined || (slot.isRead && slot.list !== undefined)) return;
    slot.reading ??= this.#read(store, slot, identity).finally(() => {
      slot.reading = undefined;
    });
    await slot.reading;
  }

  async #read(store: ListStore, slot: ListSlot, identity: string): Promise<void> {
    slot.isRead = true;
    const list: CachedList | undefined = await store.read(identity, () => {
      if (slot.list === list) slot.list = undefined;
    });
    if (list === undefined) return;
    await this.#parts.inspect(list.tools, identity);
    // A listing may have ended meanwhile.
    if (slot.list === undefined || slot.list.listedAt < list.listedAt) slot.list = list;
  }

  /** One for all who want it. */
  #listing(slot: ListSlot, identity: string, asker: Asker): Promise<CachedList> {
    slot.listing ??= this.#followed(this.#list(slot, identity, asker));
    return slot.listing;
  }

  #followed(listing: Promise<CachedList>): Promise<CachedList> {
    const forget = () => this.#pending.delete(listing);
    this.#pending.add(listing);
    listing.then(forget, forget);
    return listing;
  }

  #listAside(slot: ListSlot, identity: string, asker: Asker): void {
    const { server, warn } = this.#parts;
    if (slot.listing !== undefined) return;
    this.#listing(slot, identity, asker).catch((error: unknown) => {
      if (!this.#closed.isCancelled)
        warn(
          `The tools of server "${server}" could not be listed again, the last list stays: ${String(error)}`,
        );
    });
  }

  async #list(slot: ListSlot, identity: string, { context }: Asker): Promise<CachedList> {
    const { source, store, clock, now, inspect } = this.#parts;
    const { invalidations } = slot;
    let list: CachedList;
    slot.triedAt = clock.now();
    try {
      // A closed client that is asked opens again.
      this.#closed.throwIfCancelled();
      let ttlMs: number | undefined;
      const onTimeToLive = (said: number) => (ttlMs = said);
      // Without a caller's signal: others wait for it, too.
      const tools = await this.#closed.race(source.listTools({ context, onTimeToLive }));
      await inspect(tools, identity);
      list = toCachedList(tools, now(), { ttlMs, protocolVersion: source.protocolVersion });
      // Overtaken: what it says may be the past.
      if (slot.invalidations !== invalidations) return list;
      this.#take(list, slot, identity);
    } finally {
      if (slot.invalidations === invalidations) slot.listing = undefined;
    }
    // The next one may begin; what it finds is written after this.
    if (list.tools.length > 0) slot.writing = slot.writing.then(() => store?.write(identity, list));
    await slot.writing;
    return list;
  }

  #take(list: CachedList, slot: ListSlot, identity: string): void {
    const isEmpty = list.tools.length === 0;
    slot.isDirty = false;
    slot.list = isEmpty ? undefined : list;
    if (isEmpty) slot.triedAt = Number.NEGATIVE_INFINITY;
    this.#parts.onListed?.(identity, list.tools);
  }

  #wait<T>(promise: Promise<T>, { signal }: Asker): Promise<T> {
    if (signal === undefined) return promise;
    const cancellation = CancelScope.fromSignal(signal);
    return cancellation.race(promise).finally(() => cancellation.release());
  }

  #ageOf({ listedAt }: CachedList): number {
    return this.#parts.now() - listedAt;
  }
}
