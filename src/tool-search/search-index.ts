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

  has(id: Id): boolean {
    return this.#documents.has(id);
  }

  /** The ids of all documents. They may be removed while they are iterated. */
  ids(): Iterable<Id> {
    return this.#documents.keys();
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

/** Words that do not describe a tool. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  "a an and any are as at be but by can do does for from get given has have how i if in into is it its me my need not of on or our please so some such than that the their them then there these they this to use used using want was we what when where which who will with would you your".split(
    " ",
  ),
);

/** Scripts that are written without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;
const WORD = /[\p{L}\p{N}]+/gu;
/** `getUserByID2` has the words get, user, by, id and 2. */
const INNER_BOUNDARY =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})/u;

/**
 * Splits a text into terms for search: words in lower case without endings, and pairs of characters of scripts that are
 * written without spaces.
 */
export function tokenize(text: string): string[] {
  const terms: string[] = [];
  for (const [word] of text.normalize("NFKC").replace(UNSPACED, toCharacterPairs).matchAll(WORD))
    for (const term of getTerms(word)) terms.push(term);
  return terms;
}

/** The terms of words: texts about tools repeat the same words. */
const termsByWord = new Map<string, readonly string[]>();
const MAX_CACHED_WORDS = 10_000;
const MAX_CACHED_LENGTH = 40;

function getTerms(word: string): readonly string[] {
  const known = termsByWord.get(word);
  if (known !== undefined) return known;
  const terms = word
    .split(INNER_BOUNDARY)
    .map((part) => part.toLowerCase())
    .filter((part) => !STOP_WORDS.has(part))
    .map((part) => (part.length <= MIN_STEM ? part : stem(part)));
  if (termsByWord.size >= MAX_CACHED_WORDS) termsByWord.clear();
  if (word.length <= MAX_CACHED_LENGTH) termsByWord.set(word, terms);
  return terms;
}

/** Writes a run of characters as its overlapping pairs, or as itself if it is a single character. */
function toCharacterPairs(run: string): string {
  const characters = Array.from(run);
  if (characters.length === 1) return ` ${run} `;
  return ` ${characters
    .slice(1)
    .map((character, index) => `${characters[index]}${character}`)
    .join(" ")} `;
}

/** Endings that are removed, longest first, with their replacements. */
const ENDINGS: readonly (readonly [ending: string, replacement: string])[] = [
  ["ization", "ize"],
  ["ations", "at"],
  ["ation", "at"],
  ["ments", ""],
  ["ment", ""],
  ["ings", ""],
  ["ing", ""],
  ["ies", "i"],
  ["ers", ""],
  ["ors", ""],
  ["ed", ""],
  ["er", ""],
  ["or", ""],
  ["es", ""],
  ["ly", ""],
  ["s", ""],
  ["e", ""],
  ["y", "i"],
];
const MIN_STEM = 3;

/** Removes common English endings, so that "searching", "searches" and "search" are one term. */
function stem(word: string): string {
  for (const [ending, replacement] of ENDINGS) {
    if (!word.endsWith(ending) || word.length - ending.length < MIN_STEM) continue;
    if (ending === "s" && word.endsWith("ss")) return word;
    const base = word.slice(0, -ending.length) + replacement;
    return base.replace(/([^aeiouls])\1$/, "$1");
  }
  return word;
}
