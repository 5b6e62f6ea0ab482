import type { Place } from "./check-object.js";
import { definitionError, describeFound } from "./definition-issues.js";

/** A list, or nothing: a text alone would be taken for a list of its letters. */
export function checkList(value: unknown, { subject, path = "", ...details }: Place): void {
  if (value === undefined || Array.isArray(value)) return;
  const message = `expected a list, found ${describeFound(value)}`;
  throw definitionError(subject, [{ path, message }], details);
}
