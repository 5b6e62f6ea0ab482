/** Maximum edit distance; 1 for short words. */
const MAX_DISTANCE = 2;
const SHORT_WORD = 4;

/** Returns the most similar candidate, if one is close enough. */
export function findClosestMatch(input: string, candidates: readonly string[]): string | undefined {
  const limit = input.length <= SHORT_WORD ? 1 : MAX_DISTANCE;
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: levenshtein(input.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/** Levenshtein distance, computed row by row. */
function levenshtein(a: string, b: string): number {
  const [source, target] = [Array.from(a), Array.from(b)];
  let row = Array.from({ length: target.length + 1 }, (_, index) => index);
  for (const [i, letter] of source.entries()) {
    const nextRow = [i + 1];
    for (const [j, targetLetter] of target.entries()) {
      const replaced = (row[j] ?? 0) + (letter === targetLetter ? 0 : 1);
      nextRow.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (nextRow[j] ?? 0) + 1));
    }
    row = nextRow;
  }
  return row[target.length] ?? 0;
}
