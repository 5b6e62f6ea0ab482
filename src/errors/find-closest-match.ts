/** Maximum edit distance; 1 for short words. */
const MAX_DISTANCE = 2;
const SHORT_WORD = 4;

/** Returns the most similar candidate, if one is close enough. */
export function findClosestMatch(input: string, candidates: readonly string[]): string | undefined {
  const limit = input.length <= SHORT_WORD ? 1 : MAX_DISTANCE;
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(input.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/** The distance of optimal string alignment, computed row by row: two swapped neighbors are one edit. */
function editDistance(a: string, b: string): number {
  const [source, target] = [Array.from(a), Array.from(b)];
  let rowBefore: number[] = [];
  let row = Array.from({ length: target.length + 1 }, (_, index) => index);
  for (const [i, letter] of source.entries()) {
    const nextRow = [i + 1];
    for (const [j, targetLetter] of target.entries()) {
      const replaced = (row[j] ?? 0) + (letter === targetLetter ? 0 : 1);
      const isSwapped = i > 0 && j > 0 && letter === target[j - 1] && source[i - 1] === targetLetter;
      const swapped = isSwapped ? (rowBefore[j - 1] ?? 0) + 1 : replaced;
      nextRow.push(Math.min(replaced, swapped, (row[j + 1] ?? 0) + 1, (nextRow[j] ?? 0) + 1));
    }
    [rowBefore, row] = [row, nextRow];
  }
  return row[target.length] ?? 0;
}
