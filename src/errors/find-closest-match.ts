/** Maximum edit distance; 1 for short words. */
const MAX_DISTANCE = 2;
const SHORT_WORD = 4;
/** Longer names are not compared: files, servers and models choose them, and the time grows with both lengths. */
const MAX_LENGTH = 200;

/** Returns the most similar candidate, if one is close enough. */
export function findClosestMatch(input: string, candidates: readonly string[]): string | undefined {
  if (input.length > MAX_LENGTH) return undefined;
  const limit = input.length <= SHORT_WORD ? 1 : MAX_DISTANCE;
  // An asterisk would match everything.
  const word = input.toLowerCase().replaceAll("*", "?");
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate.toLowerCase(), limit) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance);
  return best?.candidate;
}

/** Returns ` Did you mean "weather"?` if a candidate is close enough. */
export function suggestMatch(input: string, candidates: readonly string[], otherwise = ""): string {
  const closest = findClosestMatch(input, candidates);
  return closest === undefined ? otherwise : ` Did you mean "${closest}"?`;
}

/**
 * The edit distance between a name and the closest text that the pattern matches, in which `*` stands for any
 * characters; infinite above the limit. Swapped neighbors are one edit.
 */
export function editDistance(pattern: string, name: string, limit: number): number {
  const isOtherLength = Math.abs(name.length - pattern.length) > limit && !pattern.includes("*");
  if (isOtherLength) return Number.POSITIVE_INFINITY;
  let rowBefore = new Uint16Array(name.length + 1);
  let row = new Uint16Array(name.length + 1).map((_, index) => index);
  let nextRow = new Uint16Array(name.length + 1);
  for (let i = 0; i < pattern.length; i += 1) {
    const isAny = pattern[i] === "*";
    let left = (row[0] ?? 0) + (isAny ? 0 : 1);
    let smallest = left;
    nextRow[0] = left;
    for (let j = 1; j <= name.length; j += 1) {
      const above = row[j] ?? 0;
      const replaced = (row[j - 1] ?? 0) + (pattern[i] === name[j - 1] ? 0 : 1);
      left = isAny ? Math.min(above, left) : Math.min(replaced, above + 1, left + 1);
      const isSwapped = i > 0 && j > 1 && pattern[i] === name[j - 2] && pattern[i - 1] === name[j - 1];
      if (isSwapped) left = Math.min(left, (rowBefore[j - 2] ?? 0) + 1);
      smallest = Math.min(smallest, left);
      nextRow[j] = left;
    }
    if (smallest > limit) return Number.POSITIVE_INFINITY;
    [rowBefore, row, nextRow] = [row, nextRow, rowBefore];
  }
  return row[name.length] ?? 0;
}
