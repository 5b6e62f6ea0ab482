import { stripHiddenCharacters } from "../errors/sanitize-text.js";

const MAX_JSON_LENGTH = 60;

/** Returns a value as short, readable JSON for a sentence. */
export function truncateJson(value: unknown): string {
  const text = stripHiddenCharacters(toJson(value));
  return text.length <= MAX_JSON_LENGTH ? text : truncate(text, MAX_JSON_LENGTH);
}

/** Truncates to `maxLength` characters without splitting a surrogate pair. */
export function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, Math.max(0, maxLength - 1)).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Returns "…" for what cannot be serialized. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "…";
  } catch {
    return "…";
  }
}
