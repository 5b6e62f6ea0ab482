import { definitionError, describeFound } from "../definitions/definition-issues.js";

interface Place {
  readonly subject: string;
  readonly path?: string;
  readonly server?: string;
}

/** A caller in plain JavaScript can pass anything. */
export function checkObject<T>(value: T, { subject, path = "", ...details }: Place): T {
  if (typeof value === "object" && value !== null) return value;
  const message = `expected an object, found ${describeFound(value)}`;
  throw definitionError(subject, [{ path, message }], details);
}
