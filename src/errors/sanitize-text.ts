const LONGEST_QUOTE = 300;
/** Of a text that is not told in one line. */
export const LONGEST_TEXT = 4_096;

/** Terminal escapes, control, zero-width, bidirectional and tag characters: nothing a reader should meet. */
const UNREADABLE =
  // oxlint-disable-next-line no-control-regex -- control characters are what it is made to find
  /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\u{e0000}-\u{e007f}]/gu;

/** A text without characters that hide, reorder or colour what a person or a model reads. */
export function toReadable(text: string): string {
  return text.replace(UNREADABLE, "");
}

/** What a server says about something that it offers, of a bounded length. */
export function toDescription(text: string): string {
  return cutText(toReadable(text).trim(), LONGEST_TEXT);
}

/** The beginning of a text that is longer than this. */
export function cutText(text: string, most: number): string {
  return text.length <= most ? text : cutAt(most - 1, text);
}

/** Never half a character: the first half of a surrogate pair is dropped, too. */
function cutAt(length: number, text: string): string {
  return `${text.slice(0, length).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** A text that may end in a server's words, which stop as they like, and a sentence of ours after it. */
export function withSentence(text: string, sentence: string): string {
  return `${text}${/[.!?…]$/.test(text) ? "" : "."} ${sentence}`;
}

/** Some words of a server, fit for one line of an error message. */
export function quoteServer(text: string): string {
  const line = toReadable(text).replace(/\s+/g, " ").trim();
  return line.length <= LONGEST_QUOTE ? line : cutAt(LONGEST_QUOTE, line);
}
