import { describe, expect, it } from "vitest";
import {
  type FailureFacts,
  classifyFailure,
  leavesOutcomeOpen,
} from "../../../src/errors/classify-failure.js";

const rows: readonly (readonly [string, FailureFacts, string])[] = [
  ["404 to a session id", { status: 404, hadSession: true }, "session-lost"],
  ["404 with -32601 to a session id", { status: 404, code: -32_601, hadSession: true }, "not-found"],
  ["404 without a session id", { status: 404, hadSession: false, deniesSession: true }, "invalid-request"],
  ["400 that denies the session", { status: 400, hadSession: true, deniesSession: true }, "session-lost"],
  ["400 to a session id", { status: 400, hadSession: true, deniesSession: false }, "invalid-request"],
  [
    "409 that speaks of the session",
    { status: 409, hadSession: true, deniesSession: true },
    "invalid-request",
  ],
  ["401", { status: 401 }, "unauthorized"],
  ["403", { status: 403, hadSession: true }, "unauthorized"],
  ["429", { status: 429 }, "rate-limited"],
  ["503 with Retry-After", { status: 503, hasRetryAfter: true }, "rate-limited"],
  ["503", { status: 503, hasRetryAfter: false }, "unavailable"],
  ["502 with Retry-After", { status: 502, hasRetryAfter: true }, "unavailable"],
  ["504", { status: 504 }, "unavailable"],
  ["500", { status: 500 }, "server-error"],
  ["500 with -32601", { status: 500, code: -32_601 }, "server-error"],
  ["400 with -32601", { status: 400, code: -32_601 }, "not-found"],
  ["400 with -32603", { status: 400, code: -32_603 }, "invalid-request"],
  ["307", { status: 307 }, "invalid-request"],
  ["-32700", { code: -32_700 }, "invalid-request"],
  ["-32600", { code: -32_600 }, "invalid-request"],
  ["-32021", { code: -32_021 }, "invalid-request"],
  ["-32601", { code: -32_601 }, "not-found"],
  ["-32602", { code: -32_602 }, "invalid-request"],
  ["-32602 about a tool that is not listed", { code: -32_602, isUnlisted: true }, "not-found"],
  ["an error result of a tool that is not listed", { isUnlisted: true }, "not-found"],
  ["-32603", { code: -32_603 }, "server-error"],
  ["-32000", { code: -32_000 }, "server-error"],
  ["-32019", { code: -32_019 }, "server-error"],
  ["-32002", { code: -32_002 }, "server-error"],
  ["-32002 about a resource that was to be read", { code: -32_002, readsResource: true }, "not-found"],
  ["-32602 about a resource that was to be read", { code: -32_602, readsResource: true }, "not-found"],
  ["a code of the server's own", { code: 42 }, "server-error"],
  ["what was never handed to a socket", { wasSent: false }, "not-sent"],
  [
    "a refused port, where nobody knows what was sent",
    { networkCodes: [undefined, "ECONNREFUSED"] },
    "not-sent",
  ],
  ["an unknown host, where nobody knows what was sent", { networkCodes: ["ENOTFOUND"] }, "not-sent"],
  ["a reset, where nobody knows what was sent", { networkCodes: ["ECONNRESET"] }, "connection-lost"],
  [
    "a refused port when a sent request is taken up again",
    { wasSent: true, networkCodes: ["ECONNREFUSED"] },
    "connection-lost",
  ],
  ["nothing that is known", {}, "connection-lost"],
];

describe("kindOfFailure", () => {
  it.each(rows)("%s", (_, facts, kind) => {
    expect(classifyFailure(facts)).toBe(kind);
  });
});

describe("leavesOutcomeOpen", () => {
  it("is true of what may have been run", () => {
    expect((["connection-lost", "unavailable", "server-error"] as const).every(leavesOutcomeOpen)).toBe(true);
    expect(
      (["not-sent", "rate-limited", "session-lost", "invalid-request"] as const).some(leavesOutcomeOpen),
    ).toBe(false);
  });
});
