import { beforeEach, describe, expect, it, vi } from "vitest";
import { createConsoleLogger, type Logger } from "../../../src/telemetry/logger.js";

let lines: unknown[];

/** Logs one message per level and returns the written lines. */
function logAllLevels(logger: Logger): unknown[] {
  for (const level of ["debug", "info", "warn", "error"] as const) logger[level]("hello");
  return lines;
}

beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: unknown) => void lines.push(line));
});

const DEBUG = "[langchain-mcp-runtime] debug: hello";
const INFO = "[langchain-mcp-runtime] info: hello";
const WARN = "[langchain-mcp-runtime] warn: hello";
const ERROR = "[langchain-mcp-runtime] error: hello";

describe("createConsoleLogger", () => {
  it.each([
    ["debug", [DEBUG, INFO, WARN, ERROR]],
    ["info", [INFO, WARN, ERROR]],
    ["warn", [WARN, ERROR]],
    ["error", [ERROR]],
    ["silent", []],
    ["DEBUG", [DEBUG, INFO, WARN, ERROR]],
  ])("at level %s it logs that level and above", (level, expected) => {
    expect(logAllLevels(createConsoleLogger(level))).toEqual(expected);
  });

  it.each(["", "verbose", "1"])("an unknown level %j means warn", (level) => {
    expect(logAllLevels(createConsoleLogger(level))).toEqual([WARN, ERROR]);
  });

  it("logs warnings by default", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", undefined);
    expect(logAllLevels(createConsoleLogger())).toEqual([WARN, ERROR]);
  });

  it("uses the level of LANGCHAIN_MCP_LOG", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", "debug");
    expect(logAllLevels(createConsoleLogger())).toEqual([DEBUG, INFO, WARN, ERROR]);
  });

  it("an explicit level takes precedence over LANGCHAIN_MCP_LOG", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", "debug");
    expect(logAllLevels(createConsoleLogger("error"))).toEqual([ERROR]);
  });

  it.each([
    ["debug", true],
    ["info", false],
    ["silent", false],
  ])("at level %s isDebugEnabled is %s", (level, isEnabled) => {
    expect(createConsoleLogger(level).isDebugEnabled?.()).toBe(isEnabled);
  });

  it("never writes to stdout", () => {
    const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    logAllLevels(createConsoleLogger("debug"));
    expect(written).not.toHaveBeenCalled();
  });
});
