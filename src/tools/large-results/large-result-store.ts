import { createHash, randomBytes } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import { systemClock } from "../../async/clock.js";
import type { CallContext } from "../../config/call-context.js";
import { addIssueAt, option, type OptionsOf, optionsSchema } from "../../config/parse-options.js";
import { isPlainObject, isStringArray, omitUndefined } from "../../json/json.js";
import { type LimitedStore, limitStore } from "../../stores/driver-store.js";
import { memoryStore } from "../../stores/drivers/memory-store.js";
import type { KeyValueStore } from "../../stores/key-value-store.js";

/** The defaults of `LargeResultOptions`. */
const LARGE_RESULT_DEFAULTS = {
  ttlMs: 3_600_000,
  maxResults: 100,
  maxTotalBytes: 67_108_864,
  previewChars: 4_000,
  readChars: 20_000,
  mediaBytes: 3_000_000,
} as const;

const LARGE_RESULT_FIELDS = {
  /**
   * Keeps the results for all processes that use it, instead of the memory of this process. You close it. A result that
   * it rejects is truncated, with a warning.
   * @default the memory of the toolset
   */
  store: option.withMethods<KeyValueStore>(["get", "set"], "a store, such as fileStore() or redisStore()"),
  /** How long a result is kept. @default 3_600_000 */
  ttlMs: option.count,
  /** How many results are kept in memory; the least recently used are dropped first. Not with `store`. @default 100 */
  maxResults: option.count,
  /** The maximum size of all results in memory. Not with `store`. @default 67_108_864 */
  maxTotalBytes: option.count,
  /** How many characters of a kept result the model sees at first; never more than `limits.contentChars`. @default 4_000 */
  previewChars: option.count,
  /** How many characters one call of `read_result` returns; never more than `limits.contentChars`. @default 20_000 */
  readChars: option.count,
  /**
   * The maximum size of the images, audio and files of one result that the model sees. What is beyond stays in the
   * artifact, and one line describes it to the model.
   * @default 3_000_000
   */
  mediaBytes: option.count,
};

/** How large results are kept. All options are optional. */
export interface LargeResultOptions extends OptionsOf<typeof LARGE_RESULT_FIELDS> {}

export const LARGE_RESULTS_SCHEMA = option.oneOf("truncate", "keep").or(
  optionsSchema<LargeResultOptions>(LARGE_RESULT_FIELDS, {
    expected: "an object such as { store, ttlMs }",
  }).superRefine((options, context) => {
    if (options.store === undefined) return;
    for (const key of ["maxResults", "maxTotalBytes"] as const)
      if (options[key] !== undefined)
        addIssueAt(
          context,
          [key],
          "limits the memory, which is not used with a store: remove one of the two",
        );
  }),
);

/** A result that is kept, and what it belongs to. */
interface KeptResult {
  /** The server whose tool returned it. */
  readonly server: string;
  /** The caller and the thread of the call. */
  readonly context: CallContext;
  /** The text blocks. */
  readonly texts: readonly string[];
}

/** The tool with which a model reads kept results. */
interface ResultReader {
  /** The name that models see. */
  readonly name: string;
  /** Without it, all runs may call the tool. */
  readonly isAllowed: ((config: RunnableConfig) => boolean | Promise<boolean>) | undefined;
  readonly caller: { readonly totalMs: number };
  readonly warn: (message: string) => void;
}

/** Returns what identifies the caller on a server; `undefined` for an unknown server. Throws if that is unknown. */
export type IdentifyCaller = (server: string, context: CallContext) => string | undefined;

/** 128 bits: a handle cannot be guessed. */
const HANDLE_BYTES = 16;

/** Keeps the text of large results by handle. A handle belongs to the caller and the thread that it was created for. */
export class LargeResultStore {
  readonly options: Required<Omit<LargeResultOptions, "store">>;
  /** `undefined` while rules exclude the tool: then results are truncated. */
  reader: ResultReader | undefined;
  identify: IdentifyCaller = () => undefined;
  readonly #store: LimitedStore;

  /** @param contentChars limits what one read returns */
  constructor({ store, ...options }: LargeResultOptions, contentChars: number) {
    const resolved = { ...LARGE_RESULT_DEFAULTS, ...omitUndefined(options) };
    this.options = { ...resolved, readChars: Math.min(resolved.readChars, contentChars) };
    const { maxResults: maxEntries, maxTotalBytes } = this.options;
    this.#store = limitStore(store ?? memoryStore({ maxEntries, maxTotalBytes }), systemClock);
  }

  /** @throws McpRuntimeError why the store failed */
  async keep({ server, context, texts }: KeptResult): Promise<string> {
    const handle = randomBytes(HANDLE_BYTES).toString("hex");
    const owner = this.#getOwner(server, context);
    await this.#store.set(toKey(handle), { server, owner, texts }, { ttlMs: this.options.ttlMs });
    return handle;
  }

  /**
   * Returns the texts of a result, or `undefined`: in the same way for a handle that is unknown, that has expired, and
   * that belongs to another caller or thread.
   * @throws McpRuntimeError why the store failed
   */
  async find(handle: string, context: CallContext): Promise<readonly string[] | undefined> {
    const record: unknown = await this.#store.get(toKey(handle));
    if (!isPlainObject(record)) return undefined;
    const { server, owner, texts } = record;
    if (typeof server !== "string" || typeof owner !== "string" || !isStringArray(texts)) return undefined;
    return this.#isOwner(owner, server, context) ? texts : undefined;
  }

  #isOwner(owner: string, server: string, context: CallContext): boolean {
    try {
      return owner === this.#getOwner(server, context);
    } catch {
      // The caller has no identity on this server.
      return false;
    }
  }

  #getOwner(server: string, context: CallContext): string {
    const caller = this.identify(server, context);
    if (caller === undefined) throw new Error(`unknown server ${server}`);
    return hashOf(JSON.stringify([server, caller, context.configurable["thread_id"] ?? null]));
  }
}

/** Not the handle itself, so that a list of keys does not give access. */
function toKey(handle: string): string {
  return `large-results/1/${hashOf(handle)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** From how many characters on deep agents move a result to their file system (20,000 tokens). */
const DEEP_AGENT_LIMIT = 80_000;

/**
 * Whether a run belongs to a deep agent (package `deepagents`), which moves a result of this length to its own file system:
 * it has to get the whole result. Known by the state of its file system and summarization middleware (1.14); an agent that
 * is not recognized gets the start and the end, as others do.
 */
export function isMovedByDeepAgent(state: unknown, chars: number): boolean {
  if (chars <= DEEP_AGENT_LIMIT || !isPlainObject(state)) return false;
  return isPlainObject(state["files"]) && Object.hasOwn(state, "_summarizationSessionId");
}
