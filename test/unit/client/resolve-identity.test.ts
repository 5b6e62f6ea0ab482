import { describe, expect, it } from "vitest";
import { resolveIdentity, toCallContext } from "../../../src/client/resolve-identity.js";
import type { IdentityOption } from "../../../src/config/credential-options.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { Redactor } from "../../../src/errors/redaction.js";

const context = toCallContext(
  { configurable: { user: "ann" } },
  { server: "main", purpose: "call", tool: "pay" },
);
const resolve = (identity: unknown) =>
  resolveIdentity(identity as IdentityOption, context, new Redactor(["s3cret"]));

describe("the identity of a request", () => {
  it("is what the function returns for the caller", () => {
    expect(resolve(({ configurable }: typeof context) => configurable["user"])).toBe("ann");
  });

  it.each<[returned: unknown, reason: string]>([
    ["", "returned an empty string"],
    [undefined, "returned undefined, expected a string"],
    [null, "returned null, expected a string"],
    [7, "returned number, expected a string"],
    [String(undefined), 'returned "undefined", for a missing value'],
    [String({}), 'returned "[object Object]", for a missing value'],
  ])("cannot be %o: unrelated callers would share a session", (returned, reason) => {
    expect(() => resolve(() => returned)).toThrow(
      expect.objectContaining({ kind: "unauthorized", message: expect.stringContaining(reason) }),
    );
  });

  it("is not awaited, and a rejection of it is handled", () => {
    const late = async () => Promise.reject(new Error("late"));
    expect(() => resolve(late)).toThrow("returned a promise, expected a string");
  });

  it("is unknown if the function throws; its message is redacted", () => {
    const throwing = (error: unknown) => () => {
      throw error;
    };
    expect(() => resolve(throwing(new Error("no user for s3cret")))).toThrow(
      /failed: no user for (?!s3cret)/,
    );
    const own = new McpRuntimeError("denied", "not you");
    expect(() => resolve(throwing(own))).toThrow(own);
  });
});
