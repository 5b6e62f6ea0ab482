const LONGEST_QUOTE = 300;
const LONGEST_DESCRIPTION = 4_096;

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
  const readable = toReadable(text).trim();
  if (readable.length <= LONGEST_DESCRIPTION) return readable;
  return `${readable.slice(0, LONGEST_DESCRIPTION - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** A text that may end in a server's words, which stop as they like, and a sentence of ours after it. */
export function withSentence(text: string, sentence: string): string {
  return `${text}${/[.!?…]$/.test(text) ? "" : "."} ${sentence}`;
}

/** Some words of a server, fit for one line of an error message. */
export function quoteServer(text: string): string {
  const line = toReadable(text).replace(/\s+/g, " ").trim();
  if (line.length <= LONGEST_QUOTE) return line;
  // Never half a character: the first half of a surrogate pair is dropped, too.
  return `${line.slice(0, LONGEST_QUOTE).replace(/[\ud800-\udbff]$/, "")}…`;
}
