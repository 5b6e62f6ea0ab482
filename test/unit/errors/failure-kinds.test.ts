import { describe, expect, it } from "vitest";
import { FAILURE_KINDS, isFailureKind } from "../../../src/errors/failure-kinds.js";

describe("FAILURE_KINDS", () => {
  it("are exactly the documented kinds", () => {
    expect(Object.keys(FAILURE_KINDS).toSorted()).toEqual([
      "cancelled",
      "circuit-open",
      "closed",
      "connection-lost",
      "denied",
      "invalid-config",
      "invalid-request",
      "invalid-response",
      "not-found",
      "not-sent",
      "rate-limited",
      "server-error",
      "session-lost",
      "timeout",
      "too-large",
      "tool-error",
      "unauthorized",
      "unavailable",
      "unsupported-protocol",
    ]);
  });

  it.each(Object.entries(FAILURE_KINDS))("%s is described in a sentence", (_, text) => {
    expect(text).toMatch(/^[A-Z].+\.$/);
  });
});

describe("isFailureKind", () => {
  it("accepts a kind", () => {
    expect(isFailureKind("session-lost")).toBe(true);
  });

  it.each(["session lost", "Timeout", "", "toString", "__proto__", undefined, null, 404, ["timeout"]])(
    "rejects %j",
    (value) => {
      expect(isFailureKind(value)).toBe(false);
    },
  );
});
