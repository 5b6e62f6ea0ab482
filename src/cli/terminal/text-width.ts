const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const INVISIBLE = /^[\p{M}\p{Cc}\p{Cf}]/u;
/** Asks for the coloured form of a character that also has a plain one. */
const AS_EMOJI = "\ufe0f";

/** How many columns a text without escapes takes on a terminal. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemesOf(text).reduce((width, grapheme) => width + widthOfGrapheme(grapheme), 0);
}

/** At most so many columns; what is missing is told by an ellipsis. */
export function cutToWidth(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let room = columns - 1;
  const kept = graphemesOf(text).filter((grapheme) => {
    room -= widthOfGrapheme(grapheme);
    return room >= 0;
  });
  return `${kept.join("").trimEnd()}…`;
}

export function padToWidth(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - widthOf(text)));
}

/** In lines of at most so many columns, broken between words, and inside of those that are longer. */
export function wrapToWidth(text: string, columns: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, columns));
}

function wrapLine(line: string, columns: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ").flatMap((long) => brokenWord(long, columns))) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (current !== "" && widthOf(longer) > columns) lines.push(current);
    current = current !== "" && widthOf(longer) > columns ? word : longer;
  }
  return [...lines, current];
}

function brokenWord(word: string, columns: number): string[] {
  if (widthOf(word) <= columns) return [word];
  const pieces: string[] = [];
  let current = "";
  for (const grapheme of graphemesOf(word)) {
    if (widthOf(current) + widthOfGrapheme(grapheme) > columns) {
      pieces.push(current);
      current = "";
    }
    current += grapheme;
  }
  return [...pieces, current];
}

function graphemesOf(text: string): string[] {
  return Array.from(GRAPHEMES.segment(text), ({ segment }) => segment);
}

function widthOfGrapheme(grapheme: string): number {
  if (WIDE.test(grapheme) || grapheme.includes(AS_EMOJI)) return 2;
  return INVISIBLE.test(grapheme) ? 0 : 1;
}
