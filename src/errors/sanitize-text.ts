const MAX_EXCERPT_LENGTH = 300;
/** The limit for a text that may have several lines. */
export const MAX_TEXT_LENGTH = 4_096;

/** Terminal escapes, and control, zero-width, bidirectional and tag characters. */
const HIDDEN_CHARACTERS =
  // oxlint-disable-next-line no-control-regex -- matching control characters is the purpose
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** Removes characters that hide, reorder or color what a user or a model reads. */
export function stripHiddenCharacters(text: string): string {
  return text.replace(HIDDEN_CHARACTERS, "");
}

/** Sanitizes and truncates a description from a server. */
export function sanitizeDescription(text: string): string {
  return truncate(stripHiddenCharacters(text).trim(), MAX_TEXT_LENGTH);
}

/** Truncates a text to `maxLength` characters, including the ellipsis. Does not split a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, Math.max(0, maxLength - 1)).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Appends a sentence to a text that may end with server text and without punctuation. */
export function appendSentence(text: string, sentence: string): string {
  return `${text}${/[.!?…]$/.test(text) ? "" : "."} ${sentence}`;
}

/** Returns server text as a short single line for an error message. */
export function excerpt(text: string): string {
  const line = stripHiddenCharacters(text).replace(/\s+/g, " ").trim();
  return truncate(line, MAX_EXCERPT_LENGTH);
}
