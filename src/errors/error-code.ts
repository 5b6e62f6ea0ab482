/** Returns the `code` of a Node, undici or SDK error; `undefined` for anything else. */
export function errorCode(error: unknown): unknown {
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined;
}
