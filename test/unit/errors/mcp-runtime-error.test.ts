import { describe, expect, it } from "vitest";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

const everything = {
  code: -32_603,
  status: 500,
  server: "weather",
  tool: "forecast",
  attempts: 3,
  outcomeUnknown: true,
  retryAt: new Date("2026-01-02T03:04:05.000Z"),
  issues: [{ path: "url", message: "expected an address" }],
  cause: new Error("socket hang up"),
};

describe("a new error", () => {
  it("is an Error with a name of its own", () => {
    const error = new McpRuntimeError("timeout", "Too slow.");
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe("McpRuntimeError: Too slow.");
  });

  it("has every detail that it was given", () => {
    expect(new McpRuntimeError("server-error", "It broke.", everything)).toMatchObject({
      kind: "server-error",
      message: "It broke.",
      ...everything,
    });
  });

  it("says nothing that nobody knows", () => {
    const error = new McpRuntimeError("closed", "Closed.");
    expect(error).toMatchObject({ kind: "closed", attempts: 0, outcomeUnknown: false, issues: [] });
    const { code, status, server, tool, retryAt } = error;
    expect({ code, status, server, tool, retryAt }).toStrictEqual({
      code: undefined,
      status: undefined,
      server: undefined,
      tool: undefined,
      retryAt: undefined,
    });
  });

  it("keeps the very cause", () => {
    const cause = new Error("socket hang up");
    expect(new McpRuntimeError("not-sent", "No.", { cause }).cause).toBe(cause);
  });

  it("has no cause at all when there was none", () => {
    expect(Object.hasOwn(new McpRuntimeError("not-sent", "No."), "cause")).toBe(false);
  });

  it.each([
    ["a bearer token", "Sent Bearer abc123DEF456.", "Sent Bearer [redacted]"],
    [
      "a user and password",
      "No answer from https://ann:pw@example.com/mcp.",
      "https://[redacted]@example.com/mcp",
    ],
    [
      "a query",
      "No answer from https://example.com/mcp?key=abc now.",
      "https://example.com/mcp?key=[redacted] now",
    ],
  ])("its message does not show %s", (_, message, shown) => {
    expect(new McpRuntimeError("not-sent", message).message).toContain(shown);
  });

  it("its stack does not show what its message hides", () => {
    const error = new McpRuntimeError("not-sent", "Sent Bearer abc123DEF456.");
    expect(error.stack).not.toContain("abc123DEF456");
  });
});

describe("with", () => {
  it("adds details to a copy and leaves the original as it was", () => {
    const error = new McpRuntimeError("timeout", "Too slow.", { server: "weather" });
    const told = error.with({ tool: "forecast", attempts: 2 });
    expect(told).toMatchObject({ kind: "timeout", server: "weather", tool: "forecast", attempts: 2 });
    expect(error).toMatchObject({ tool: undefined, attempts: 0 });
  });

  it("keeps everything that was known", () => {
    const copy = new McpRuntimeError("server-error", "It broke.", everything).with({});
    expect(copy).toBeInstanceOf(McpRuntimeError);
    expect(copy).toMatchObject({ kind: "server-error", message: "It broke.", ...everything });
  });

  it("a detail that is told replaces the one that was known", () => {
    expect(new McpRuntimeError("timeout", "Too slow.", { attempts: 1 }).with({ attempts: 2 }).attempts).toBe(
      2,
    );
  });

  it("can give another kind", () => {
    expect(new McpRuntimeError("invalid-request", "No.").with({ kind: "session-lost" }).kind).toBe(
      "session-lost",
    );
  });

  it("keeps the very cause and the stack of where it happened", () => {
    const error = new McpRuntimeError("timeout", "Too slow.", { cause: everything.cause });
    const copy = error.with({ tool: "forecast" });
    expect(copy.cause).toBe(everything.cause);
    expect(copy.stack).toBe(error.stack);
  });

  it("invents no cause", () => {
    const copy = new McpRuntimeError("timeout", "Too slow.").with({ tool: "forecast" });
    expect(Object.hasOwn(copy, "cause")).toBe(false);
  });
});

describe("toJSON", () => {
  it("tells what happened, without cause and stack", () => {
    const json: unknown = JSON.parse(
      JSON.stringify(new McpRuntimeError("server-error", "It broke.", everything)),
    );
    expect(json).toEqual({
      name: "McpRuntimeError",
      kind: "server-error",
      message: "It broke.",
      code: -32_603,
      status: 500,
      server: "weather",
      tool: "forecast",
      attempts: 3,
      outcomeUnknown: true,
      retryAt: "2026-01-02T03:04:05.000Z",
      issues: [{ path: "url", message: "expected an address" }],
    });
  });

  it("leaves out what nobody knows", () => {
    const json: unknown = JSON.parse(JSON.stringify(new McpRuntimeError("closed", "Closed.")));
    expect(json).toEqual({
      name: "McpRuntimeError",
      kind: "closed",
      message: "Closed.",
      attempts: 0,
      outcomeUnknown: false,
      issues: [],
    });
  });
});
