import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";

const MAX_JSON_LENGTH = 60;

/** Returns a value as short, readable JSON for a sentence. */
export function truncateJson(value: unknown): string {
  const text = stripHiddenCharacters(toJson(value));
  return truncate(text, MAX_JSON_LENGTH);
}

/** Returns "…" for what cannot be serialized. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "…";
  } catch {
    return "…";
  }
}
