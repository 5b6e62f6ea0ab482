import { tokenize } from "./tokenize.js";

/** A text of a document and the weight of a match in it. */
export interface SearchField {
  readonly text: string;
  readonly weight: number;
}

/** A document and its score, for one query. */
export interface SearchHit<Id> {
  readonly id: Id;
  readonly score: number;
}

/** Saturation of repeated terms, and how much the length of a document matters; the usual values of BM25. */
const K1 = 1.2;
const B = 0.6;

interface IndexedDocument {
  /** The weighted number of occurrences, by term. */
  readonly weights: ReadonlyMap<string, number>;
  readonly length: number;
}

/**
 * A full-text index that ranks by BM25 over weighted fields. Documents are added and removed one by one; a query visits
 * only the documents that have one of its terms.
 */
export class SearchIndex<Id> {
  readonly #documents = new Map<Id, IndexedDocument>();
  readonly #postings = new Map<string, Map<Id, number>>();
  #totalLength = 0;

  get size(): number {
    return this.#documents.size;
  }

  /** Adds a document, or replaces the one with the same id. */
  add(id: Id, fields: readonly SearchField[]): void {
    this.remove(id);
    const weights = new Map<string, number>();
    let length = 0;
    for (const { text, weight } of fields)
      for (const term of tokenize(text)) {
        weights.set(term, (weights.get(term) ?? 0) + weight);
        length += weight;
      }
    this.#documents.set(id, { weights, length });
    this.#totalLength += length;
    for (const [term, weight] of weights) {
      const posting = this.#postings.get(term);
      if (posting === undefined) this.#postings.set(term, new Map([[id, weight]]));
      else posting.set(id, weight);
    }
  }

  remove(id: Id): void {
    const document = this.#documents.get(id);
    if (document === undefined) return;
    this.#documents.delete(id);
    this.#totalLength -= document.length;
    for (const term of document.weights.keys()) {
      const posting = this.#postings.get(term);
      posting?.delete(id);
      if (posting?.size === 0) this.#postings.delete(term);
    }
  }

  /** Returns all documents with a term of the query, the best first. Documents of equal score keep their order. */
  search(query: string): SearchHit<Id>[] {
    const scores = new Map<Id, number>();
    const averageLength = this.#totalLength / Math.max(1, this.#documents.size);
    for (const term of new Set(tokenize(query))) {
      const posting = this.#postings.get(term);
      if (posting === undefined) continue;
      const idf = Math.log(1 + (this.#documents.size - posting.size + 0.5) / (posting.size + 0.5));
      for (const [id, weight] of posting) {
        const length = this.#documents.get(id)?.length ?? averageLength;
        const saturation = weight / (weight + K1 * (1 - B + (B * length) / averageLength));
        scores.set(id, (scores.get(id) ?? 0) + idf * saturation * (K1 + 1));
      }
    }
    return [...scores]
      .map(([id, score]) => ({ id, score }))
      .toSorted((left, right) => right.score - left.score);
  }
}
