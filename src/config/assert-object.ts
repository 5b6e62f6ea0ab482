import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

/** Where an invalid value was passed; part of the error. */
export interface ErrorLocation {
  readonly subject: string;
  readonly path?: string;
  readonly server?: string;
}

/**
 * Throws kind `invalid-config` unless the value is an object. JavaScript callers can pass anything;
 * promises and arrays are rejected.
 */
export function assertObject<T>(value: T, { subject, path = "", ...details }: ErrorLocation): T {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && !Array.isArray(value) && !(value instanceof Promise)) return value;
  const message = `expected an object, got ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}

/**
 * Throws kind `invalid-config` unless the value is an array or `undefined`. A string would otherwise be
 * iterated by character.
 */
export function assertOptionalArray(value: unknown, { subject, path = "", ...details }: ErrorLocation): void {
  if (value === undefined || Array.isArray(value)) return;
  const message = `expected an array, got ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}
