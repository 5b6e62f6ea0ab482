import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toReadable } from "../errors/sanitize-text.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { CachedList } from "./cached-tool-list.js";
import { wholeHash } from "../json-schema/schema-hash.js";
import { serverPlace } from "./store-key-prefix.js";
import { parseStoredList, toStoredList } from "./stored-list.js";

/** Changes when what is written does: what an older version wrote is then not there. */
const FORMAT = 2;

interface ListStoreParts {
  readonly server: string;
  /** Of where the server is and what it is reached with: others may be offered other tools. */
  readonly fingerprint: string;
  readonly store: KeyValueStore;
  /** How long an entry stays. */
  readonly ttlMs: number;
  readonly now: () => number;
  /** Told which revision of MCP the server spoke when a list that was read was written. */
  readonly onProtocol?: ((version: string) => void) | undefined;
  readonly warn: (message: string) => void;
}

/** The lists of one server in a store that outlives this process or is shared with others. It may fail. */
export class ListStore {
  readonly #parts: ListStoreParts;
  readonly #prefix: string;
  /** Whose list turned out to be a planted one: until another is written, there is none. */
  readonly #discarded = new Set<string>();

  constructor(parts: ListStoreParts) {
    this.#parts = parts;
    this.#prefix = `tools/${FORMAT}/${serverPlace(parts.server, parts.fingerprint)}/`;
  }

  /** `onUnreadable`: the list that was read is worth nothing. Said once, when somebody looks at it. */
  async read(identity: string, onUnreadable?: () => void): Promise<CachedList | undefined> {
    const { store, now, onProtocol } = this.#parts;
    if (this.#discarded.has(identity)) return undefined;
    let isDiscarded = false;
    const unreadable = (tool: string) => {
      if (!isDiscarded) {
        isDiscarded = true;
        this.#discard(identity);
        onUnreadable?.();
      }
      return this.#unreadable(tool);
    };
    try {
      const list = parseStoredList(await store.get(this.#keyOf(identity)), { now: now(), unreadable });
      if (list?.notes.protocolVersion !== undefined) onProtocol?.(list.notes.protocolVersion);
      return list;
    } catch (error) {
      this.#warn("read", error);
      return undefined;
    }
  }

  async write(identity: string, list: CachedList): Promise<void> {
    const { store, ttlMs } = this.#parts;
    try {
      await store.set(this.#keyOf(identity), toStoredList(list), { ttlMs });
      this.#discarded.delete(identity);
    } catch (error) {
      this.#warn("written", error);
    }
  }

  /** Tells when another process has written a list of this server. The function that comes back ends it. */
  watch(onChange: () => void): () => void {
    const { store } = this.#parts;
    if (store.watch === undefined) return () => undefined;
    const watching = store.watch((key) => {
      if (key === undefined || key.startsWith(this.#prefix)) onChange();
    });
    watching.catch((error: unknown) => this.#warn("watched", error));
    return () => void watching.then((stop) => stop()).catch(() => undefined);
  }

  /** A list that somebody has planted: whoever looks at it is told, and the next one asks the server. */
  #discard(identity: string): void {
    this.#discarded.add(identity);
    this.#parts.store.delete(this.#keyOf(identity)).catch((error: unknown) => this.#warn("removed", error));
  }

  #unreadable(tool: string): McpRuntimeError {
    const { server } = this.#parts;
    const text = `What is stored of tool "${toReadable(tool)}" of server "${server}" cannot be read, and nothing can be said of it. The stored list is removed: try again, and the server is asked.`;
    return new McpRuntimeError("invalid-response", text, { server, tool });
  }

  /** A name may be somebody's address: only its hash leaves the process. */
  #keyOf(identity: string): string {
    return `${this.#prefix}${identity === "" ? "shared" : wholeHash(identity)}`;
  }

  #warn(what: "read" | "written" | "watched" | "removed", error: unknown): void {
    const { server, warn } = this.#parts;
    warn(`The stored tools of server "${server}" could not be ${what}: ${String(error)}`);
  }
}
