import { describe, expect, it } from "vitest";
import {
  type FailureEvidence,
  classifyFailure,
  isOutcomeUnknown,
} from "../../../src/errors/failure-kinds.js";

const rows: readonly (readonly [string, FailureEvidence, string])[] = [
  ["404 for a session id", { status: 404, hadSession: true }, "session-lost"],
  ["404 with -32601 for a session id", { status: 404, code: -32_601, hadSession: true }, "not-found"],
  [
    "404 without a session id",
    { status: 404, hadSession: false, reportsUnknownSession: true },
    "invalid-request",
  ],
  [
    "400 that reports an unknown session",
    { status: 400, hadSession: true, reportsUnknownSession: true },
    "session-lost",
  ],
  [
    "400 for a session id",
    { status: 400, hadSession: true, reportsUnknownSession: false },
    "invalid-request",
  ],
  [
    "409 that reports an unknown session",
    { status: 409, hadSession: true, reportsUnknownSession: true },
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
  ["-32602 for a tool that is not listed", { code: -32_602, isToolMissing: true }, "not-found"],
  ["an error result of a tool that is not listed", { isToolMissing: true }, "not-found"],
  ["-32603", { code: -32_603 }, "server-error"],
  ["-32000", { code: -32_000 }, "server-error"],
  ["-32019", { code: -32_019 }, "server-error"],
  ["-32002", { code: -32_002 }, "not-found"],
  ["-32602 for an unknown resource or prompt", { code: -32_602, isUnknownItem: true }, "not-found"],
  ["a server-specific code", { code: 42 }, "server-error"],
  ["a request that was never written to a socket", { wasSent: false }, "not-sent"],
  [
    "a refused connection, if it is unknown whether the request was sent",
    { networkCodes: [undefined, "ECONNREFUSED"] },
    "not-sent",
  ],
  [
    "an unknown host, if it is unknown whether the request was sent",
    { networkCodes: ["ENOTFOUND"] },
    "not-sent",
  ],
  [
    "a reset, if it is unknown whether the request was sent",
    { networkCodes: ["ECONNRESET"] },
    "connection-lost",
  ],
  [
    "a refused connection when the response stream of a sent request is resumed",
    { wasSent: true, networkCodes: ["ECONNREFUSED"] },
    "connection-lost",
  ],
  ["no evidence", {}, "connection-lost"],
];

describe("classifyFailure", () => {
  it.each(rows)("%s", (_, evidence, kind) => {
    expect(classifyFailure(evidence)).toBe(kind);
  });
});

describe("isOutcomeUnknown", () => {
  it("is true for kinds after which the server may have run the request", () => {
    expect((["connection-lost", "unavailable", "server-error"] as const).every(isOutcomeUnknown)).toBe(true);
    expect(
      (["not-sent", "rate-limited", "session-lost", "invalid-request"] as const).some(isOutcomeUnknown),
    ).toBe(false);
  });
});
