const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const INVISIBLE = /^[\p{M}\p{Cc}\p{Cf}]/u;
/** Variation selector that requests the emoji form of a character. */
const EMOJI_SELECTOR = "\ufe0f";

/** Returns the number of terminal columns of a text without escape sequences. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return splitGraphemes(text).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0);
}

/** Truncates a text to a number of columns, with an ellipsis. */
export function truncateToWidth(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let remaining = columns - 1;
  const kept = splitGraphemes(text).filter((grapheme) => {
    remaining -= graphemeWidth(grapheme);
    return remaining >= 0;
  });
  return `${kept.join("").trimEnd()}…`;
}

export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - textWidth(text)));
}

/** Wraps a text at word boundaries; words longer than a line are broken. */
export function wrapToWidth(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, columns));
}

/** Wraps a text at `columns`, after a prefix of `indent` columns. The lines after the first are indented. */
export function wrapIndented(
  text: string,
  columns: number,
  indent: number,
  prefix = " ".repeat(indent),
): string[] {
  const lines = wrapToWidth(text, columns - indent);
  return lines.map((line, index) => (index === 0 ? prefix : " ".repeat(indent)) + line);
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ").flatMap((item) => breakWord(item, columns))) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (current !== "" && textWidth(longer) > columns) lines.push(current);
    current = current !== "" && textWidth(longer) > columns ? word : longer;
  }
  return [...lines, current];
}

function breakWord(word: string, columns: number): string[] {
  if (textWidth(word) <= columns) return [word];
  const pieces: string[] = [];
  let current = "";
  for (const grapheme of splitGraphemes(word)) {
    if (textWidth(current) + graphemeWidth(grapheme) > columns) {
      pieces.push(current);
      current = "";
    }
    current += grapheme;
  }
  return [...pieces, current];
}

function splitGraphemes(text: string): string[] {
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

function graphemeWidth(grapheme: string): number {
  if (WIDE.test(grapheme) || grapheme.includes(EMOJI_SELECTOR)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}

/** Formats as `34 ms` or `1.2 s`. */
export function formatTime(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : formatSeconds(ms);
}

/** Formats as `0.3 s`, for a running time. */
export function formatSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
