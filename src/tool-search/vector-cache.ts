import { createHash } from "node:crypto";
import { printValue } from "../errors/sanitize-text.js";
import { systemClock } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { limitStore, type LimitedStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";

/** LangChain's `Embeddings`, as far as a search needs them. */
export interface EmbeddingsLike {
  /** Returns the vector of a query. */
  embedQuery(text: string): Promise<number[]>;
  /** Returns the vectors of documents, in their order. */
  embedDocuments(texts: string[]): Promise<number[][]>;
}

const STORE_PREFIX = "tool-vectors/";
const STORE_TTL_MS = 30 * 86_400_000;
const MAX_VECTORS = 20_000;
const STORE_READS = 16;

/** The vectors of texts, by their hash: in memory, in a store, or made once for all texts that are missing. */
export class VectorCache {
  readonly #embeddings: EmbeddingsLike;
  readonly #store: LimitedStore | undefined;
  readonly #warn: (message: string) => void;
  readonly #vectors = new Map<string, readonly number[]>();
  /** Vectors of different models cannot be compared, so the keys of a shared store depend on it. */
  readonly #model: string;

  constructor(embeddings: EmbeddingsLike, store: KeyValueStore | undefined, warn: (message: string) => void) {
    this.#embeddings = embeddings;
    const { model, modelName, dimensions } = embeddings as { [name: string]: unknown } & EmbeddingsLike;
    this.#model = JSON.stringify([embeddings.constructor.name, model ?? modelName, dimensions]);
    this.#store = store === undefined ? undefined : limitStore(store, systemClock);
    this.#warn = warn;
  }

  /** Returns how similar each text is to the query; `undefined` if the embeddings fail. */
  async compare(query: string, texts: readonly string[]): Promise<number[] | undefined> {
    try {
      const [queryVector, vectors] = await Promise.all([
        this.#embeddings.embedQuery(query),
        this.#embed(texts),
      ]);
      return vectors.map((vector) => getCosine(queryVector, vector));
    } catch (error) {
      this.#warn(`The embeddings failed; tools are ranked by words alone: ${printValue(error)}`);
      return undefined;
    }
  }

  async #embed(texts: readonly string[]): Promise<(readonly number[])[]> {
    const keys = texts.map((text) => createHash("sha256").update(`${this.#model}\n${text}`).digest("hex"));
    const byKey = new Map(keys.map((key, index) => [key, texts[index] as string]));
    await this.#readStored(keys);
    const missing = [...new Set(keys)].filter((key) => !this.#vectors.has(key));
    if (missing.length > 0) {
      const made = await this.#embeddings.embedDocuments(missing.map((key) => byKey.get(key) as string));
      for (const [index, key] of missing.entries()) {
        const vector = made[index] ?? [];
        this.#vectors.set(key, vector);
        void this.#store
          ?.set(`${STORE_PREFIX}${key}`, vector, { ttlMs: STORE_TTL_MS })
          .catch(() => undefined);
      }
    }
    const vectors = keys.map((key) => this.#vectors.get(key) ?? []);
    if (this.#vectors.size > MAX_VECTORS) this.#evict(new Set(keys));
    return vectors;
  }

  async #readStored(keys: readonly string[]): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    const missing = keys.filter((key) => !this.#vectors.has(key));
    try {
      await mapConcurrent(missing, STORE_READS, async (key) => {
        const stored = await store.get(`${STORE_PREFIX}${key}`);
        if (isVector(stored)) this.#vectors.set(key, stored);
      });
    } catch {
      // A store that hangs would delay each read: the vectors that are missing are made instead.
    }
  }

  #evict(used: ReadonlySet<string>): void {
    for (const key of this.#vectors.keys()) if (!used.has(key)) this.#vectors.delete(key);
  }
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");
}

function getCosine(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length) return 0;
  let [dot, leftSquares, rightSquares] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    dot += value * other;
    leftSquares += value * value;
    rightSquares += other * other;
  }
  const norm = Math.sqrt(leftSquares * rightSquares);
  return norm === 0 ? 0 : dot / norm;
}
