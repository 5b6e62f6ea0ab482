import { isPlainObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { toReadable } from "../../errors/sanitize-text.js";

/** Names for what is used to deceive; others are told by their number. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/[\u{e0000}-\u{e007f}]/u, "tag characters"],
  [/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u, "characters that turn the direction of text"],
  [/[\u200b-\u200d\u2060-\u2065\ufeff\u00ad]/u, "zero-width characters"],
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  [/\u001b/u, "terminal escapes"],
];
const MOST_TEXTS = 5_000;

/** What a tool's texts have that nobody sees, in words; empty when there is nothing. */
export function hiddenIn({ name, title, description, inputSchema }: McpToolInfo): string {
  const hidden = [name, title ?? "", description ?? "", ...textsIn(inputSchema)]
    .filter((text) => toReadable(text) !== text)
    .join("");
  if (hidden === "") return "";
  const kinds = NAMES.filter(([pattern]) => pattern.test(hidden)).map(([, words]) => words);
  return kinds.length === 0 ? "control characters" : kinds.join(", ");
}

/** Every text of a schema, keys as well. A list instead of recursion: its depth is the server's choice. */
function textsIn(schema: unknown): string[] {
  const texts: string[] = [];
  const left: unknown[] = [schema];
  while (left.length > 0 && texts.length < MOST_TEXTS) {
    const value = left.pop();
    if (typeof value === "string") texts.push(value);
    else if (Array.isArray(value)) left.push(...(value as unknown[]));
    else if (isPlainObject(value)) left.push(...Object.keys(value), ...Object.values(value));
  }
  return texts;
}
