const MAX_EXCERPT_LENGTH = 300;
/** The limit for a text that may have several lines. */
export const MAX_TEXT_LENGTH = 4_096;

/**
 * Terminal escapes, control characters, interlinear annotations, and every character that Unicode calls default
 * ignorable: zero-width and bidirectional characters, tags, fillers, and all variation selectors.
 */
const HIDDEN_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- matching control characters is the purpose
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Removes characters that hide, reorder or color what a user or a model reads. Sequences of variation selectors can
 * carry a whole hidden text, so none is kept: an emoji with U+FE0F is shown in its default style.
 */
export function stripHiddenCharacters(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, "");
}

/** The one use of a variation selector that people type without noticing: it selects the style of an emoji. */
const STYLED_EMOJI = /(\p{Emoji})\ufe0f/gu;

/** Whether a text contains characters that hide something. The style of an emoji does not. */
export function hasHiddenCharacters(text: string): boolean {
  const plain = text.replace(STYLED_EMOJI, "$1");
  return stripHiddenCharacters(plain) !== plain;
}

/** Joiners that the spelling of many languages requires between letters, and those of emoji sequences. */
const JOINERS =
  /(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=[\p{L}\p{M}])[\u200c\u200d](?=\p{L})/gu;

/** Removes the invisible joiners that belong to the spelling of a word or to an emoji, and so hide nothing. */
export function withoutJoiners(text: string): string {
  return text.replace(JOINERS, "");
}

/** How much of a text is searched for hidden characters, for each character that is shown. */
const SEARCHED_PER_SHOWN = 16;

/** Removes hidden characters, and truncates the text of a server to `maxLength` characters. */
export function sanitizeText(text: string, maxLength: number = MAX_TEXT_LENGTH): string {
  const searched = text.slice(0, maxLength * SEARCHED_PER_SHOWN);
  return truncate(stripHiddenCharacters(searched).trim(), maxLength);
}

/** Truncates a text to `maxLength` characters, including the ellipsis. Does not split a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${takeStart(text, maxLength - 1)}…`;
}

/** Returns the first characters of a text. Does not split a surrogate pair, which providers reject. */
export function takeStart(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return text.slice(0, Math.max(0, maxLength)).replace(/[\ud800-\udbff]$/, "");
}

/** Joins names for a message, with the number of those above `max`. */
export function joinNames(names: readonly string[], max: number): string {
  const rest = names.length > max ? `, and ${names.length - max} more` : "";
  return names.slice(0, max).join(", ") + rest;
}

/** Formats as `1 tool` or `2 tools`. */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** The end of a sentence, a line or an item of a list. */
const SENTENCE_END = /[.!?](?=\s)|[。！？]|(?=\n)/gu;

/** Truncates a text after its last sentence that fits, or after a word if that would lose more than half of it. */
export function truncateAtSentence(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  // One more character, to see whether a sentence ends at the limit.
  const ends = [...text.slice(0, maxLength + 1).matchAll(SENTENCE_END)]
    .map(({ 0: { length }, index }) => index + length)
    .filter((end) => end <= maxLength && end >= maxLength / 2);
  const end = ends.at(-1);
  if (end !== undefined) return text.slice(0, end).trimEnd();
  const lastSpace = text.slice(0, maxLength).search(/\s\S*$/u);
  return lastSpace >= maxLength / 2 ? `${text.slice(0, lastSpace).trimEnd()}…` : truncate(text, maxLength);
}

/** Appends a sentence to a text that may end with server text and without punctuation. */
export function appendSentence(text: string, sentence: string): string {
  return `${text}${/[.!?…:;。！？]$/u.test(text) ? "" : "."} ${sentence}`;
}

/**
 * Returns a text as a short single line for a message. The text of a server may be of any length and contain secrets:
 * use `Redactor.excerpt` for it.
 */
export function excerpt(text: string): string {
  const line = stripHiddenCharacters(truncate(text, MAX_TEXT_LENGTH)).replace(/\s+/g, " ").trim();
  return truncate(line, MAX_EXCERPT_LENGTH);
}

/** Replaces a value that code of the user threw and that cannot be converted to a string. */
export const UNPRINTABLE = "a value that cannot be printed";

/** `String(value)` for any value: objects without or with a failing `toString` do not throw. */
export function printValue(value: unknown): string {
  try {
    // oxlint-disable-next-line typescript/no-base-to-string -- this is the function that others use instead
    return String(value);
  } catch {
    return UNPRINTABLE;
  }
}

/** Describes what a callback threw, which may be any value. */
export function describeThrown(thrown: unknown): string {
  try {
    return printValue(thrown instanceof Error ? thrown.message : thrown);
  } catch {
    return UNPRINTABLE;
  }
}
