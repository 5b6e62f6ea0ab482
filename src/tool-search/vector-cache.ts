import { createHash } from "node:crypto";
import { systemClock } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { limitStore, type LimitedStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { OptionalStep } from "./optional-step.js";

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
const EMBEDDINGS_TIMEOUT_MS = 5_000;

/** The vectors of texts, by their hash: in memory, in a store, or made once for all texts that are missing. */
export class VectorCache {
  readonly #embeddings: EmbeddingsLike;
  readonly #store: LimitedStore | undefined;
  readonly #step: OptionalStep;
  readonly #vectors = new Map<string, readonly number[]>();
  /** Vectors of different models cannot be compared, so the keys of a shared store depend on it. */
  readonly #model: string;

  constructor(embeddings: EmbeddingsLike, store: KeyValueStore | undefined, warn: (message: string) => void) {
    this.#embeddings = embeddings;
    const { model, modelName, dimensions } = embeddings as { [name: string]: unknown } & EmbeddingsLike;
    this.#model = JSON.stringify([embeddings.constructor.name, model ?? modelName, dimensions]);
    this.#store = store === undefined ? undefined : limitStore(store, systemClock);
    this.#step = new OptionalStep({
      timeoutMs: EMBEDDINGS_TIMEOUT_MS,
      failure: "The embeddings failed; tools are ranked by words alone",
      warn,
    });
  }

  /** Returns how similar each text is to the query; `undefined` if the embeddings fail or take too long. */
  async compare(query: string, texts: readonly string[]): Promise<number[] | undefined> {
    const queryVector = await this.#step.run(async () => {
      const vector: unknown = await this.#embeddings.embedQuery(query);
      if (isVector(vector)) return vector;
      throw new TypeError("embedQuery did not return an array of finite numbers");
    });
    if (queryVector === undefined) return undefined;
    const { length } = queryVector;
    const keys = texts.map((text) => createHash("sha256").update(`${this.#model}\n${text}`).digest("hex"));
    await this.#readStored(this.#findMissing(keys, length), length);
    const missing = this.#findMissing(keys, length);
    if (missing.length > 0) {
      const textByKey = new Map(keys.map((key, index) => [key, texts[index] as string]));
      const missingTexts = new Map(missing.map((key) => [key, textByKey.get(key) as string]));
      // Vectors that come after the time limit are used by later searches.
      const added = await this.#step.run(() => this.#embed(missingTexts, length));
      if (added === undefined) return undefined;
    }
    const similarities = keys.map((key) => getCosine(queryVector, this.#vectors.get(key) ?? []));
    if (this.#vectors.size > MAX_VECTORS) this.#evict(new Set(keys));
    return similarities;
  }

  /** The texts without a vector that can be compared with a vector of this length. */
  #findMissing(keys: readonly string[], length: number): string[] {
    return [...new Set(keys)].filter((key) => this.#vectors.get(key)?.length !== length);
  }

  /** Adds the vectors of all texts, or none: the order of an incomplete array is not known. */
  async #embed(textByKey: ReadonlyMap<string, string>, length: number): Promise<true> {
    const vectors: unknown = await this.#embeddings.embedDocuments([...textByKey.values()]);
    if (!Array.isArray(vectors) || vectors.length !== textByKey.size)
      throw new TypeError(`embedDocuments did not return an array of ${textByKey.size} vectors`);
    // A copy, in which holes are `undefined`.
    if (![...vectors].every((vector) => isVector(vector, length)))
      throw new TypeError(
        `embedDocuments did not return arrays of ${length} finite numbers, as embedQuery does`,
      );
    for (const [index, key] of [...textByKey.keys()].entries()) {
      const vector = vectors[index] as readonly number[];
      this.#vectors.set(key, vector);
      void this.#store?.set(`${STORE_PREFIX}${key}`, vector, { ttlMs: STORE_TTL_MS }).catch(() => undefined);
    }
    return true;
  }

  /** A stored vector of another length is not used: the model may have changed. */
  async #readStored(keys: readonly string[], length: number): Promise<void> {
    const store = this.#store;
    if (store === undefined) return;
    try {
      await mapConcurrent(keys, STORE_READS, async (key) => {
        const stored = await store.get(`${STORE_PREFIX}${key}`);
        if (isVector(stored, length)) this.#vectors.set(key, stored);
      });
    } catch {
      // A store that hangs would delay each read: the vectors that are missing are made instead.
    }
  }

  #evict(used: ReadonlySet<string>): void {
    for (const key of this.#vectors.keys()) if (!used.has(key)) this.#vectors.delete(key);
  }
}

function isVector(value: unknown, length?: number): value is readonly number[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  if (length !== undefined && value.length !== length) return false;
  return [...value].every((item) => Number.isFinite(item));
}

/** Returns 0 for vectors that cannot be compared. */
function getCosine(left: readonly number[], right: readonly number[]): number {
  if (left.length !== right.length) return 0;
  let [dot, leftSquares, rightSquares] = [0, 0, 0];
  for (const [index, value] of left.entries()) {
    const other = right[index] ?? 0;
    dot += value * other;
    leftSquares += value * value;
    rightSquares += other * other;
  }
  const cosine = dot / (Math.sqrt(leftSquares) * Math.sqrt(rightSquares));
  return Number.isFinite(cosine) ? cosine : 0;
}
