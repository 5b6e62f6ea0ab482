import { describe, expect, it } from "vitest";
import { kindOfRpcCode } from "../../../src/errors/kind-of-rpc-code.js";

describe("kindOfRpcCode", () => {
  it.each([
    [-32_700, "invalid-request"],
    [-32_600, "invalid-request"],
    [-32_601, "not-found"],
    [-32_602, "invalid-request"],
    [-32_603, "server-error"],
  ])("%i is %s", (code, kind) => {
    expect(kindOfRpcCode(code)).toBe(kind);
  });

  it.each([-32_000, -32_001, -32_019, -32_042, 0, 1, 32_600, 404])(
    "%i has no meaning of its own: the server failed",
    (code) => {
      expect(kindOfRpcCode(code)).toBe("server-error");
    },
  );
});
