import type { KeyValueStore } from "../stores/key-value-store.js";
import { type CachedToolList, parseStoredList, toStoredList } from "./stored-tool-list.js";
import { fullHash } from "../json-schema/schema-hash.js";
import { toStoreKeyPrefix } from "./store-key-prefix.js";

/** Part of the key. Increment it when the format changes, so that older entries are ignored. */
const FORMAT = 3;

interface ToolListStoreOptions {
  readonly server: string;
  /** Identifies address and credentials: with other credentials, the server may list other tools. */
  readonly fingerprint: string;
  readonly store: KeyValueStore;
  readonly ttlMs: number;
  readonly now: () => number;
  /** Receives the MCP version that was negotiated when a stored list was written. */
  readonly onProtocolVersion?: ((version: string) => void) | undefined;
  readonly warn: (message: string) => void;
}

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
    const { store, now, onProtocolVersion } = this.#options;
    try {
      const list = parseStoredList(await store.get(this.#toKey(identity)), now());
      if (list?.metadata.protocolVersion !== undefined) onProtocolVersion?.(list.metadata.protocolVersion);
      return list;
    } catch (error) {
      this.#warn("read", error);
      return undefined;
    }
  }

  async write(identity: string, list: CachedToolList): Promise<void> {
    const { store, ttlMs } = this.#options;
    try {
      await store.set(this.#toKey(identity), toStoredList(list), { ttlMs });
    } catch (error) {
      this.#warn("written", error);
    }
  }

  /** Calls `onChange` when another process has written a list of this server. Returns a function that stops. */
  watch(onChange: () => void): () => void {
    const { store } = this.#options;
    if (store.watch === undefined) return () => undefined;
    const watching = store.watch((key) => {
      if (key === undefined || key.startsWith(this.#prefix)) onChange();
    });
    watching.catch((error: unknown) => this.#warn("watched", error));
    return () => void watching.then((unwatch) => unwatch()).catch(() => undefined);
  }

  /** An identity may be personal data, such as an email address: only its hash is stored. */
  #toKey(identity: string): string {
    return `${this.#prefix}${identity === "" ? "shared" : fullHash(identity)}`;
  }

  #warn(operation: "read" | "written" | "watched", error: unknown): void {
    const { server, warn } = this.#options;
    warn(`The stored tools of server "${server}" could not be ${operation}: ${String(error)}`);
  }
}
