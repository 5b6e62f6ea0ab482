import { describe, expect, it } from "vitest";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";

const allDetails = {
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
  it("is an Error with its own name", () => {
    const error = new McpRuntimeError("timeout", "Too slow.");
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe("McpRuntimeError: Too slow.");
  });

  it("is an instance of a subclass only if it was created by it", () => {
    class WeatherError extends McpRuntimeError {}
    expect(new McpRuntimeError("timeout", "Too slow.")).not.toBeInstanceOf(WeatherError);
    const error = new WeatherError("timeout", "Too slow.");
    expect(error).toBeInstanceOf(WeatherError);
    expect(error).toBeInstanceOf(McpRuntimeError);
  });

  it("has every given detail", () => {
    expect(new McpRuntimeError("server-error", "It broke.", allDetails)).toMatchObject({
      kind: "server-error",
      message: "It broke.",
      ...allDetails,
    });
  });

  it("has no value for unknown details", () => {
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

  it("keeps the same cause object", () => {
    const cause = new Error("socket hang up");
    expect(new McpRuntimeError("not-sent", "No.", { cause }).cause).toBe(cause);
  });

  it("has no cause property without a cause", () => {
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
  ])("the message does not contain %s", (_, message, shown) => {
    expect(new McpRuntimeError("not-sent", message).message).toContain(shown);
  });

  it("the stack does not contain what is redacted in the message", () => {
    const error = new McpRuntimeError("not-sent", "Sent Bearer abc123DEF456.");
    expect(error.stack).not.toContain("abc123DEF456");
  });
});

describe("with", () => {
  it("adds details to a copy and does not change the original", () => {
    const error = new McpRuntimeError("timeout", "Too slow.", { server: "weather" });
    const copy = error.with({ tool: "forecast", attempts: 2 });
    expect(copy).toMatchObject({ kind: "timeout", server: "weather", tool: "forecast", attempts: 2 });
    expect(error).toMatchObject({ tool: undefined, attempts: 0 });
  });

  it("keeps all existing details", () => {
    const copy = new McpRuntimeError("server-error", "It broke.", allDetails).with({});
    expect(copy).toBeInstanceOf(McpRuntimeError);
    expect(copy).toMatchObject({ kind: "server-error", message: "It broke.", ...allDetails });
  });

  it("a new detail replaces the existing one", () => {
    expect(new McpRuntimeError("timeout", "Too slow.", { attempts: 1 }).with({ attempts: 2 }).attempts).toBe(
      2,
    );
  });

  it("can change the kind", () => {
    expect(new McpRuntimeError("invalid-request", "No.").with({ kind: "session-lost" }).kind).toBe(
      "session-lost",
    );
  });

  it("keeps the same cause and the original stack", () => {
    const error = new McpRuntimeError("timeout", "Too slow.", { cause: allDetails.cause });
    const copy = error.with({ tool: "forecast" });
    expect(copy.cause).toBe(allDetails.cause);
    expect(copy.stack).toBe(error.stack);
  });

  it("does not add a cause", () => {
    const copy = new McpRuntimeError("timeout", "Too slow.").with({ tool: "forecast" });
    expect(Object.hasOwn(copy, "cause")).toBe(false);
  });
});

describe("toJSON", () => {
  it("contains the details without cause and stack", () => {
    const json: unknown = JSON.parse(
      JSON.stringify(new McpRuntimeError("server-error", "It broke.", allDetails)),
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

  it("omits unknown details", () => {
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
