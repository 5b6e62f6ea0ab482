import { crc32 } from "node:zlib";
import type { Clock } from "../async/clock.js";
import { SHARED_IDENTITY } from "../session/session.js";
import { type McpToolInfo, parseToolInfo, shareTools } from "../config/server-features.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { fullHash } from "../json-schema/schema-hash.js";
import { isPlainObject, tryParseJson } from "../json/json.js";
import type { LimitedStore } from "../stores/driver-store.js";
import type { StoreLease, StoreLeaseOptions } from "../stores/key-value-store.js";
import { findUnsafeJson, toStorableJson } from "../stores/entry-codec.js";

/** The result of one `tools/list`. */
export interface CachedToolList {
  /** Shared by all callers: see `shareTools`. */
  readonly tools: readonly McpToolInfo[];
  /** When the server was asked for the list (Unix time in milliseconds). */
  readonly listedAt: number;
  /** How long the list is valid according to the server; `undefined` if it does not specify that. */
  readonly ttlMs?: number | undefined;
  /** The MCP version that was negotiated when the list was fetched. */
  readonly protocolVersion?: string | undefined;
}

interface ToolListStoreOptions {
  readonly server: string;
  /** Identifies address and credentials: with other credentials, the server may list other tools. */
  readonly fingerprint: string;
  readonly store: LimitedStore;
  readonly ttlMs: number;
  /** A longer list is not used: others may have written it. */
  readonly maxTools: number;
  readonly now: () => number;
  readonly warn: (message: string) => void;
}

/** Part of the key. Increment it when the format changes, so that older entries are ignored. */
const FORMAT = 3;

/** The tool lists of one server in a persistent or shared store. Store failures are logged, not thrown. */
export class ToolListStore {
  readonly #options: ToolListStoreOptions;
  readonly #prefix: string;

  constructor(options: ToolListStoreOptions) {
    this.#options = options;
    this.#prefix = `tools/${FORMAT}/${toStoreKeyPrefix(options.server, options.fingerprint)}/`;
  }

  /** Returns `undefined` if there is no list, or an invalid one. */
  async read(identity: string): Promise<CachedToolList | undefined> {
    const { store, now, maxTools } = this.#options;
    try {
      const value = await store.get(this.toKey(identity));
      this.#onSuccess();
      return parseStoredList(value, now(), maxTools);
    } catch (error) {
      this.#warn("read", error);
      return undefined;
    }
  }

  /** Replaces the list of an identity. */
  async write(identity: string, list: CachedToolList): Promise<void> {
    const { store, ttlMs } = this.#options;
    try {
      await store.set(this.toKey(identity), toStoredList(list), { ttlMs });
      this.#onSuccess();
    } catch (error) {
      this.#warn("written", error);
    }
  }

  /** Whether processes can agree on which of them lists the server. */
  get hasLeases(): boolean {
    return this.#options.store.lease !== undefined;
  }

  /**
   * Takes the lease for listing the server for an identity, and renews it until the returned function is called.
   * Returns `"taken"` if another process has it; `undefined` if the store fails.
   */
  async lease(identity: string, options: LeaseOptions): Promise<(() => Promise<void>) | "taken" | undefined> {
    try {
      const lease = await this.#options.store.lease?.(`leases/${this.toKey(identity)}`, {
        ttlMs: options.ttlMs,
      });
      const onError = (error: unknown) => this.#warnDenied(error);
      return lease === undefined ? "taken" : keepLease(lease, { ...options, onError });
    } catch (error) {
      this.#warn("leased", error);
      return undefined;
    }
  }

  /**
   * Calls `onChange` with the key of a list of this server that another process has written, or with `undefined` if one
   * may have been. Returns a function that stops.
   */
  watch(onChange: ChangeListener): () => void {
    const { store } = this.#options;
    if (store.watch === undefined) return () => undefined;
    const feed = FEEDS.get(store) ?? new ToolListFeed(store);
    FEEDS.set(store, feed);
    feed.add(this.#prefix, onChange).catch((error: unknown) => this.#warn("watched", error));
    return () => feed.remove(this.#prefix, onChange);
  }

  /** An identity may be personal data, such as an email address: only its hash is stored. */
  toKey(identity: string): string {
    return `${this.#prefix}${identity === SHARED_IDENTITY ? "shared" : fullHash(identity)}`;
  }

  #warn(operation: "read" | "written" | "watched" | "leased", error: unknown): void {
    const { server, warn } = this.#options;
    const isOutage = error instanceof McpRuntimeError && OUTAGE_KINDS.has(error.kind);
    if (isOutage && OUTAGES.has(warn)) return;
    if (isOutage) OUTAGES.add(warn);
    const consequence = isOutage ? " Tools are listed from the servers until it works again." : "";
    warn(
      `The stored tools of server "${server}" could not be ${operation}: ${printValue(error)}${consequence}`,
    );
  }

  /**
   * Other failures are temporary, and the lease expires. A missing permission is permanent, and delays every listing
   * until the lease expires.
   */
  #warnDenied(error: unknown): void {
    const { warn } = this.#options;
    const isDenied = error instanceof McpRuntimeError && error.kind === "unauthorized";
    if (!isDenied || DENIALS.has(warn)) return;
    DENIALS.add(warn);
    warn(`Leases cannot be renewed or released, so processes wait until they expire: ${error.message}`);
  }

  #onSuccess(): void {
    OUTAGES.delete(this.#options.warn);
  }
}

type ChangeListener = (key: string | undefined) => void;

/** One subscription for all servers on a store. Listeners are found by prefix: a change concerns one of many servers. */
class ToolListFeed {
  readonly #store: LimitedStore;
  readonly #listeners = new Map<string, Set<ChangeListener>>();
  #watching: Promise<(() => Promise<void>) | undefined> | undefined;

  constructor(store: LimitedStore) {
    this.#store = store;
  }

  /** Rejects if the store cannot be watched. */
  async add(prefix: string, listener: ChangeListener): Promise<void> {
    const listeners = this.#listeners.get(prefix) ?? new Set();
    this.#listeners.set(prefix, listeners.add(listener));
    const watching = (this.#watching ??= this.#watch());
    try {
      await watching;
    } catch (error) {
      // The next server tries again.
      if (this.#watching === watching) this.#watching = undefined;
      throw error;
    }
  }

  remove(prefix: string, listener: ChangeListener): void {
    const listeners = this.#listeners.get(prefix);
    listeners?.delete(listener);
    if (listeners?.size === 0) this.#listeners.delete(prefix);
    if (this.#listeners.size > 0) return;
    const watching = this.#watching;
    this.#watching = undefined;
    watching?.then((unwatch) => unwatch?.()).catch(() => undefined);
  }

  async #watch(): Promise<(() => Promise<void>) | undefined> {
    return this.#store.watch?.((key) => this.#notify(key));
  }

  #notify(key: string | undefined): void {
    const found =
      key === undefined
        ? [...this.#listeners.values()].flatMap((listeners) => [...listeners])
        : (this.#listeners.get(key.slice(0, key.lastIndexOf("/") + 1)) ?? []);
    for (const listener of found) listener(key);
  }
}

const FEEDS = new WeakMap<LimitedStore, ToolListFeed>();

interface LeaseOptions extends Pick<StoreLeaseOptions, "ttlMs"> {
  readonly clock: Clock;
}

/** Two renewals may fail before a lease expires. */
const RENEWALS_PER_TTL = 3;

/** Renews a lease until the returned function releases it. A lease that cannot be released expires. */
function keepLease(
  lease: StoreLease,
  { ttlMs, clock, onError }: LeaseOptions & { readonly onError: (error: unknown) => void },
): () => Promise<void> {
  let isEnded = false;
  const schedule = () => clock.after(ttlMs / RENEWALS_PER_TTL, renew, { unref: true });
  let cancelTimer = schedule();
  function renew(): void {
    void lease
      .renew()
      .catch((error: unknown) => {
        onError(error);
        return true;
      })
      .then((isRenewed) => {
        if (isRenewed && !isEnded) cancelTimer = schedule();
      });
  }
  return async () => {
    isEnded = true;
    cancelTimer();
    await lease.release().catch(onError);
  };
}

/** Failures that concern all servers alike: each outage is logged once, and not for every server and operation. */
const OUTAGE_KINDS: ReadonlySet<string> = new Set(["unavailable", "timeout", "unauthorized"]);
/** The loggers that have logged the current outage. Those of one manager share the store. */
const OUTAGES = new WeakSet<(message: string) => void>();
/** The loggers that have logged that leases are denied. */
const DENIALS = new WeakSet<(message: string) => void>();

const MAX_NAME_LENGTH = 60;

/** A key prefix for one server: readable, of limited length and safe characters, and unique by hash. */
export function toStoreKeyPrefix(server: string, address: unknown): string {
  const safeName = server.replaceAll(/[^\w.-]/g, "_").slice(0, MAX_NAME_LENGTH);
  return `${safeName}/${fullHash({ server, address })}`;
}

/** Tolerated clock difference between machines; an entry dated further in the future is rejected. */
export const MAX_CLOCK_SKEW_MS = 60_000;

/** Serializes a list as two lines of JSON: a header with a checksum, and the tools. */
export function toStoredList({ tools, listedAt, ttlMs, protocolVersion }: CachedToolList): string {
  const body = `[${tools.map(({ meta, ...tool }) => toStorableJson({ ...tool, _meta: meta }).text).join(",")}]`;
  return `${JSON.stringify({ listedAt, ttlMs, protocolVersion, checksum: crc32(body) })}\n${body}`;
}

/**
 * Parses a stored list, which is untrusted input. Returns `undefined` if anything about it is invalid; the
 * checksum detects corruption.
 */
export function parseStoredList(value: unknown, now: number, maxTools: number): CachedToolList | undefined {
  if (typeof value !== "string") return undefined;
  const headerEnd = value.indexOf("\n");
  const header = tryParseJson(value.slice(0, headerEnd));
  const body = value.slice(headerEnd + 1);
  if (!isPlainObject(header) || crc32(body) !== header["checksum"]) return undefined;
  const { listedAt, ttlMs, protocolVersion } = header;
  if (typeof listedAt !== "number" || !Number.isFinite(listedAt) || listedAt > now + MAX_CLOCK_SKEW_MS)
    return undefined;
  const tools = parseTools(body, maxTools);
  if (tools === undefined) return undefined;
  return {
    tools: shareTools(tools),
    listedAt: Math.min(listedAt, now),
    ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined,
    protocolVersion: typeof protocolVersion === "string" ? protocolVersion : undefined,
  };
}

/** Returns `undefined` for an empty or too long list, an invalid tool or two tools with the same name. */
function parseTools(body: string, maxTools: number): McpToolInfo[] | undefined {
  const values = tryParseJson(body);
  if (!Array.isArray(values) || values.length > maxTools) return undefined;
  const tools = values.flatMap((value) => {
    const parsed = parseToolInfo(findUnsafeJson(value) === undefined ? value : undefined);
    return "item" in parsed ? [parsed.item] : [];
  });
  const names = new Set(tools.map(({ name }) => name));
  return names.size > 0 && names.size === values.length ? tools : undefined;
}
