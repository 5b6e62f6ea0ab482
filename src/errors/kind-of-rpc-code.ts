import type { FailureKind } from "./failure-kinds.js";

const KIND_BY_CODE: ReadonlyMap<number, FailureKind> = new Map([
  [-32_700, "invalid-request"],
  [-32_600, "invalid-request"],
  [-32_601, "not-found"],
  [-32_602, "invalid-request"],
  [-32_603, "server-error"],
]);

/**
 * The kind of a JSON-RPC error that a server answered with. Other codes have no meaning that can be
 * relied on, -32000 to -32019 least of all: the server failed, and that is all one knows.
 */
export function kindOfRpcCode(code: number): FailureKind {
  return KIND_BY_CODE.get(code) ?? "server-error";
}
