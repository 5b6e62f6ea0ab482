import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";

/** What is told with the problem: whose it is, and where it stands. */
export interface Place {
  readonly subject: string;
  readonly path?: string;
  readonly server?: string;
}

/** A caller in plain JavaScript can pass anything. What is still on its way, or a list, has no options. */
export function checkObject<T>(value: T, { subject, path = "", ...details }: Place): T {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && !Array.isArray(value) && !(value instanceof Promise)) return value;
  const message = `expected an object, found ${describeValue(value)}`;
  throw configError(subject, [{ path, message }], details);
}
