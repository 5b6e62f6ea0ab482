/** A JSON object whose content is not known yet. */
export type JsonObject = Record<string, unknown>;

/** Any JSON value, for reading only: what several may share is frozen. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** What JSON calls an object; a Map, a Date or an instance of a class is none. */
export function isPlainObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // The last link of every chain has no prototype, also in another realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Also for a key `__proto__`, which an assignment would lose. */
export function setOwnProperty(target: JsonObject, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
