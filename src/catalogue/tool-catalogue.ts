import { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { withDeadline } from "../concurrency/deadline.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { type CachedList, toCachedList } from "./cached-list.js";
import type { ListStore } from "./list-store.js";
import type { LookUp, LookUpOptions } from "./look-up.js";
import type { Asker, ToolSource } from "./tool-source.js";

/** Every default of the cache, in one place. The README's table is printed from here. */
export const CACHE_DEFAULTS = { freshMs: 300_000, keepMs: 30 * 24 * 60 * 60 * 1_000 } as const;

/** Where everybody is one. The lists of others are listed anew when they ask. */
const SHARED = "";
/** How long a server that changes its tools is given to finish. */
const QUIET_MS = 250;
/** How many users' lists are kept; the one that was made first goes first. */
const MOST_SLOTS = 1_000;

interface CatalogueParts {
  readonly server: string;
  readonly source: ToolSource;
  readonly freshMs: number;
  readonly store: ListStore | undefined;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Looks at every list that comes from the server or from a store, before anybody gets it. */
  readonly inspect: (tools: readonly McpToolInfo[]) => Promise<void>;
  /** The server has listed to this identity what is now the list. */
  readonly onListed?: ((identity: string, tools: readonly McpToolInfo[]) => void) | undefined;
  readonly warn: (message: string) => void;
}

/** What is known of one identity's tools. */
interface Slot {
  list: CachedList | undefined;
  /** Somebody said that the list is another one now. */
  isDirty: boolean;
  /** Counts what was said: a listing that began before is out of date when it ends. */
  invalidations: number;
  listing: Promise<CachedList> | undefined;
  /** When the last listing began, by the clock. */
  triedAt: number;
  /** The last listing for somebody who doubts the list. */
  doubt: { readonly askedAt: number; readonly listing: Promise<CachedList> } | undefined;
}

/**
 * What one server offers, by identity. A fresh list is given at once, an older one as well while one
 * listing runs, and where there is none the caller waits for that listing, which others share.
 */
export class ToolCatalogue {
  readonly #parts: CatalogueParts;
  readonly #slots = new Map<string, Slot>();
  readonly #closed = new Cancellation();
  readonly #stopWatching: (() => void) | undefined;
  #stopWaiting: (() => void) | undefined;

  constructor(parts: CatalogueParts) {
    this.#parts = parts;
    this.#stopWatching = parts.store?.watch(() => this.#forget());
  }

  /** The tools, from wherever they are at hand. The caller's signal ends only the caller's wait. */
  async list(asker: Asker = {}): Promise<readonly McpToolInfo[]> {
    const identity = this.#parts.source.identityOf(asker);
    const slot = this.#slot(identity);
    slot.list ??= await this.#fromStore(identity);
    if (slot.list === undefined) return (await this.#wait(this.#listing(slot, identity, asker), asker)).tools;
    if (slot.isDirty || this.#ageOf(slot.list) >= this.#parts.freshMs) this.#listAside(slot, identity, asker);
    return slot.list.tools;
  }

  /** The tools as far as they are at hand: nothing is sent, and nothing is listed aside. */
  async atHand(asker: Asker = {}): Promise<readonly McpToolInfo[] | undefined> {
    const identity = this.#parts.source.identityOf(asker);
    const slot = this.#slot(identity);
    slot.list ??= await this.#fromStore(identity);
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
      const { tools } = await (options.isDoubted === true ? this.#afresh(options) : this.#recent(options));
      const info = tools.find((tool) => tool.name === name);
      return info === undefined ? { state: "unlisted" } : { state: "listed", info };
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
    if (this.#stopWaiting !== undefined || !this.#slots.has(SHARED)) return;
    this.#stopWaiting = this.#parts.clock.after(QUIET_MS, () => {
      this.#stopWaiting = undefined;
      this.#listAside(this.#slot(SHARED), SHARED, {});
    });
  }

  /** Ends what is under way. */
  close(): void {
    this.#stopWatching?.();
    this.#stopWaiting?.();
    this.#closed.cancel(new McpRuntimeError("closed", "The catalogue was closed."));
  }

  /** Another process has listed: what it found is in the store. */
  #forget(): void {
    for (const slot of this.#slots.values()) slot.list = undefined;
  }

  #slot(identity: string): Slot {
    const known = this.#slots.get(identity);
    if (known !== undefined) return known;
    const slot: Slot = {
      list: undefined,
      isDirty: false,
      invalidations: 0,
      listing: undefined,
      triedAt: Number.NEGATIVE_INFINITY,
      doubt: undefined,
    };
    this.#slots.set(identity, slot);
    const [oldest] = this.#slots.keys();
    if (this.#slots.size > MOST_SLOTS && oldest !== undefined) this.#slots.delete(oldest);
    return slot;
  }

  async #recent(options: LookUpOptions): Promise<CachedList> {
    const { asker, maxAgeMs } = options;
    const { clock, source } = this.#parts;
    const identity = source.identityOf(asker);
    const slot = this.#slot(identity);
    const isYoung = slot.list !== undefined && !slot.isDirty && this.#ageOf(slot.list) < maxAgeMs;
    if (isYoung && slot.list !== undefined) return slot.list;
    const wasTried = slot.listing === undefined && clock.now() - slot.triedAt < maxAgeMs;
    if (wasTried)
      throw new McpRuntimeError("unavailable", "Its list of tools could not be had a moment ago.");
    return this.#within(this.#listing(slot, identity, asker), options);
  }

  async #afresh(options: LookUpOptions): Promise<CachedList> {
    const { asker, maxAgeMs } = options;
    const { clock, source } = this.#parts;
    const identity = source.identityOf(asker);
    const slot = this.#slot(identity);
    const now = clock.now();
    if (slot.doubt === undefined || now - slot.doubt.askedAt >= maxAgeMs)
      slot.doubt = { askedAt: now, listing: this.#listing(slot, identity, asker) };
    return this.#within(slot.doubt.listing, options);
  }

  #within(listing: Promise<CachedList>, { cancellation, waitMs: ms }: LookUpOptions): Promise<CachedList> {
    const expired = () => new McpRuntimeError("timeout", `Its list of tools did not come within ${ms} ms.`);
    const deadline = { ms, clock: this.#parts.clock, cancellation, expired };
    return withDeadline(deadline, (limited) => limited.race(listing));
  }

  async #fromStore(identity: string): Promise<CachedList | undefined> {
    const list = await this.#parts.store?.read(identity);
    if (list !== undefined) await this.#parts.inspect(list.tools);
    return list;
  }

  /** One for all who want it. */
  #listing(slot: Slot, identity: string, asker: Asker): Promise<CachedList> {
    slot.listing ??= this.#list(slot, identity, asker);
    return slot.listing;
  }

  #listAside(slot: Slot, identity: string, asker: Asker): void {
    const { server, warn } = this.#parts;
    if (slot.listing !== undefined) return;
    this.#listing(slot, identity, asker).catch((error: unknown) => {
      if (!this.#closed.isCancelled)
        warn(
          `The tools of server "${server}" could not be listed again, the last list stays: ${String(error)}`,
        );
    });
  }

  async #list(slot: Slot, identity: string, { context }: Asker): Promise<CachedList> {
    const { source, store, clock, now, onListed } = this.#parts;
    const { invalidations } = slot;
    slot.triedAt = clock.now();
    try {
      // A closed client that is asked opens again.
      this.#closed.throwIfCancelled();
      // Without a caller's signal: others wait for it, too.
      const tools = await this.#closed.race(source.listTools({ context }));
      await this.#parts.inspect(tools);
      const list = toCachedList(tools, now());
      // Overtaken: what it says may be the past.
      if (slot.invalidations !== invalidations) return list;
      slot.isDirty = false;
      slot.list = tools.length === 0 ? undefined : list;
      onListed?.(identity, list.tools);
      if (tools.length === 0) return list;
      await store?.write(identity, list);
      return list;
    } finally {
      if (slot.invalidations === invalidations) slot.listing = undefined;
    }
  }

  #wait(listing: Promise<CachedList>, { signal }: Asker): Promise<CachedList> {
    if (signal === undefined) return listing;
    const cancellation = Cancellation.fromSignal(signal);
    return cancellation.race(listing).finally(() => cancellation.release());
  }

  #ageOf({ listedAt }: CachedList): number {
    return this.#parts.now() - listedAt;
  }
}
