/** Two slips of the pen, or one in a short word. */
const MOST_SLIPS = 2;
const SHORT = 4;

/** The one that was probably meant. */
export function closestWord(word: string, words: readonly string[]): string | undefined {
  const limit = word.length <= SHORT ? 1 : MOST_SLIPS;
  const [best] = words
    .map((candidate) => ({ candidate, slips: slipsBetween(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ slips }) => slips <= limit)
    .toSorted((a, b) => a.slips - b.slips);
  return best?.candidate;
}

/** Levenshtein's distance, row by row. */
function slipsBetween(a: string, b: string): number {
  const [word, other] = [Array.from(a), Array.from(b)];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [i, letter] of word.entries()) {
    const next = [i + 1];
    for (const [j, theirs] of other.entries()) {
      const replaced = (row[j] ?? 0) + (letter === theirs ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
