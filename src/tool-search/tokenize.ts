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
    terms.push(...getTerms(word));
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
