import { truncate } from "../errors/sanitize-text.js";

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" });
const PLAIN = /^[\x20-\x7e]*$/;
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}])/u;
const INVISIBLE = /^[\p{M}\p{Cc}\p{Cf}]/u;
/** Variation selector that requests the emoji form of a character. */
const EMOJI_SELECTOR = "\ufe0f";

/** The selector and the joiner of emoji, which are visible as part of one. */
const EMOJI_FORMAT =
  "(?<=\\p{Extended_Pictographic})\\ufe0f|\\ufe0f\\u20e3|(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})";
/** Control characters (C0 and C1), line separators, bidirectional and other format characters, and invisible ones. */
const UNPRINTABLE = new RegExp(
  `(?!${EMOJI_FORMAT})[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`,
  "gu",
);
const SHORT_ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Returns a text that a terminal prints as is, on one line: what would move the cursor, change the terminal, reorder
 * the text or be invisible is printed as an escape such as `\u001b`. JSON stays the same document. Everything that is
 * printed passes through here, because files and servers may have written it: the functions of this file apply it
 * before they measure a text, and `writeLines` applies it to all output.
 */
export function escapeText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(UNPRINTABLE, (character) => SHORT_ESCAPES[character] ?? toUnicodeEscapes(character));
}

/** One escape per UTF-16 unit, as in JSON. */
function toUnicodeEscapes(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}

const MAX_EXCERPT_LENGTH = 300;

/** Escapes and shortens a text of a server for a sentence. */
export function escapeExcerpt(text: string): string {
  return truncate(escapeText(truncate(text.trim(), MAX_EXCERPT_LENGTH)), MAX_EXCERPT_LENGTH);
}

/** Returns the number of terminal columns of a text, escaped. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return splitGraphemes(escapeText(text)).reduce((width, grapheme) => width + graphemeWidth(grapheme), 0);
}

/** Escapes a text and truncates it to a number of columns, with an ellipsis. */
export function truncateToWidth(text: string, columns: number): string {
  if (columns < 1) return "";
  const escaped = escapeText(text);
  if (textWidth(escaped) <= columns) return escaped;
  let remaining = columns - 1;
  const kept = splitGraphemes(escaped).filter((grapheme) => {
    remaining -= graphemeWidth(grapheme);
    return remaining >= 0;
  });
  return `${kept.join("").trimEnd()}…`;
}

/** Escapes a text and pads it to a number of columns. */
export function padToWidth(text: string, columns: number): string {
  const escaped = escapeText(text);
  return escaped + " ".repeat(Math.max(0, columns - textWidth(escaped)));
}

/** Escapes a text and wraps it at word boundaries; words longer than a line are broken. */
export function wrapToWidth(text: string, columns: number): string[] {
  const escaped = escapeText(text);
  if (textWidth(escaped) <= columns) return [escaped];
  const lines: string[] = [];
  let current = "";
  for (const word of escaped.split(" ").flatMap((item) => breakWord(item, columns))) {
    const longer = current === "" ? word : `${current} ${word}`;
    if (current !== "" && textWidth(longer) > columns) lines.push(current);
    current = current !== "" && textWidth(longer) > columns ? word : longer;
  }
  return [...lines, current];
}

/** Marks the further lines of a text, so that they do not look like output of their own. */
const QUOTE = "│ ";

/** Escapes a text of others and wraps it at `columns`. All lines but the first are quoted. */
export function quoteLines(text: string, columns: number): string[] {
  const lines = text.split("\n").flatMap((line) => wrapToWidth(line, columns - QUOTE.length));
  return lines.map((line, index) => (index === 0 ? line : QUOTE + line));
}

/**
 * Escapes a text and wraps it at `columns`, after a prefix of `indent` columns. The lines after the first are
 * indented. If the text itself has several lines, such as the output of a command, the further ones are quoted.
 */
export function wrapIndented(
  text: string,
  columns: number,
  indent: number,
  prefix = " ".repeat(indent),
): string[] {
  const [first = "", ...others] = text.split("\n");
  const quoted = others.flatMap((line) => wrapToWidth(line, columns - indent - QUOTE.length));
  const lines = [...wrapToWidth(first, columns - indent), ...quoted.map((line) => QUOTE + line)];
  return lines.map((line, index) => (index === 0 ? prefix : " ".repeat(indent)) + line);
}

function breakWord(word: string, columns: number): string[] {
  if (textWidth(word) <= columns) return [word];
  const pieces: string[] = [];
  let current = "";
  let width = 0;
  for (const grapheme of splitGraphemes(word)) {
    width += graphemeWidth(grapheme);
    if (width > columns) {
      pieces.push(current);
      current = "";
      width = graphemeWidth(grapheme);
    }
    current += grapheme;
  }
  return [...pieces, current];
}

/** In chunks, because the time of `Intl.Segmenter` grows with the square of the length. */
function splitGraphemes(text: string): string[] {
  if (PLAIN.test(text)) return text.split("");
  const chunks = text.match(/.{1,1000}/gsu) ?? [];
  return chunks.flatMap((chunk) => Array.from(GRAPHEMES.segment(chunk), ({ segment }) => segment));
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
