import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { type CachedToolList, parseStoredList, toStoredList } from "./stored-tool-list.js";
import { fullHash } from "../json-schema/schema-hash.js";
import { toStoreKeyPrefix } from "./store-key-prefix.js";

/** Part of the key. Increment it when the format changes, so that older entries are ignored. */
const FORMAT = 2;

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
  /** Identities whose stored list was corrupt: not read again until a new list is written. */
  readonly #dropped = new Set<string>();

  constructor(options: ToolListStoreOptions) {
    this.#options = options;
    this.#prefix = `tools/${FORMAT}/${toStoreKeyPrefix(options.server, options.fingerprint)}/`;
  }

  /** `onCorrupt` is called once, when a tool of the returned list is accessed and cannot be parsed. */
  async read(identity: string, onCorrupt?: () => void): Promise<CachedToolList | undefined> {
    const { store, now, onProtocolVersion } = this.#options;
    if (this.#dropped.has(identity)) return undefined;
    let isDropped = false;
    const createError = (tool: string) => {
      if (!isDropped) {
        isDropped = true;
        this.#drop(identity);
        onCorrupt?.();
      }
      return this.#createCorruptError(tool);
    };
    try {
      const list = parseStoredList(await store.get(this.#toKey(identity)), { now: now(), createError });
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
      this.#dropped.delete(identity);
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

  /** The access to a corrupt list fails; the next read asks the server. */
  #drop(identity: string): void {
    this.#dropped.add(identity);
    this.#options.store.delete(this.#toKey(identity)).catch((error: unknown) => this.#warn("removed", error));
  }

  #createCorruptError(tool: string): McpRuntimeError {
    const { server } = this.#options;
    const text = `The stored definition of tool "${stripHiddenCharacters(tool)}" of server "${server}" is corrupt. The stored list was removed: try again to list the tools from the server.`;
    return new McpRuntimeError("invalid-response", text, { server, tool });
  }

  /** An identity may be personal data, such as an email address: only its hash is stored. */
  #toKey(identity: string): string {
    return `${this.#prefix}${identity === "" ? "shared" : fullHash(identity)}`;
  }

  #warn(operation: "read" | "written" | "watched" | "removed", error: unknown): void {
    const { server, warn } = this.#options;
    warn(`The stored tools of server "${server}" could not be ${operation}: ${String(error)}`);
  }
}
