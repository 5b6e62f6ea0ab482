import type { Place } from "./assert-object.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

/** A list, or nothing: a text alone would be taken for a list of its letters. */
export function checkList(value: unknown, { subject, path = "", ...details }: Place): void {
  if (value === undefined || Array.isArray(value)) return;
  const message = `expected a list, found ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}
