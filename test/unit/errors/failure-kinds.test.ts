import { describe, expect, it } from "vitest";
import { FAILURE_KINDS, isFailureKind } from "../../../src/errors/failure-kinds.js";

describe("FAILURE_KINDS", () => {
  it("are the kinds of the specification, no more and no less", () => {
    expect(Object.keys(FAILURE_KINDS).toSorted()).toEqual([
      "cancelled",
      "circuit-open",
      "closed",
      "connection-lost",
      "invalid-config",
      "invalid-request",
      "invalid-response",
      "not-found",
      "not-sent",
      "rate-limited",
      "denied",
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

  it.each(Object.entries(FAILURE_KINDS))("%s is explained in a sentence", (_, text) => {
    expect(text).toMatch(/^[A-Z].+\.$/);
  });
});

describe("isFailureKind", () => {
  it("knows a kind", () => {
    expect(isFailureKind("session-lost")).toBe(true);
  });

  it.each(["session lost", "Timeout", "", "toString", "__proto__", undefined, null, 404, ["timeout"]])(
    "%j is no kind",
    (value) => {
      expect(isFailureKind(value)).toBe(false);
    },
  );
});
