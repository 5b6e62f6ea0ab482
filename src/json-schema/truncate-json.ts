import { toReadable } from "../errors/sanitize-text.js";

const LONGEST = 60;

/** A value as JSON for a sentence: readable, and never long, however large the value is. */
export function toShortJson(value: unknown): string {
  const text = toReadable(toJson(value));
  return text.length <= LONGEST ? text : cutText(text, LONGEST);
}

/** At most `longest` characters, and never half a character at the end. */
export function cutText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, Math.max(0, longest - 1)).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** What JSON cannot say, or is too deep to be written, is written as "…". */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "…";
  } catch {
    return "…";
  }
}
