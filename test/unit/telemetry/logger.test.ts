import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createConsoleLogger, type Logger } from "../../../src/telemetry/logger.js";

let lines: unknown[];

/** Says one thing at each level and gives the levels that were heard. */
function heardFrom(logger: Logger): unknown[] {
  for (const level of ["debug", "info", "warn", "error"] as const) logger[level]("hello");
  return lines;
}

beforeEach(() => {
  lines = [];
  vi.spyOn(console, "error").mockImplementation((line: unknown) => void lines.push(line));
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
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
  ])("%s is where it begins to speak", (level, heard) => {
    expect(heardFrom(createConsoleLogger(level))).toEqual(heard);
  });

  it.each(["", "verbose", "1"])("a level of %j that it does not know means warnings", (level) => {
    expect(heardFrom(createConsoleLogger(level))).toEqual([WARN, ERROR]);
  });

  it("shows warnings when nobody said anything", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", undefined);
    expect(heardFrom(createConsoleLogger())).toEqual([WARN, ERROR]);
  });

  it("does what LANGCHAIN_MCP_LOG says", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", "debug");
    expect(heardFrom(createConsoleLogger())).toEqual([DEBUG, INFO, WARN, ERROR]);
  });

  it("what it was told wins over LANGCHAIN_MCP_LOG", () => {
    vi.stubEnv("LANGCHAIN_MCP_LOG", "debug");
    expect(heardFrom(createConsoleLogger("error"))).toEqual([ERROR]);
  });

  it.each([
    ["debug", true],
    ["info", false],
    ["silent", false],
  ])("at %s it says whether debug is worth a line: %s", (level, isWorth) => {
    expect(createConsoleLogger(level).isDebugEnabled?.()).toBe(isWorth);
  });

  it("leaves the program's own output alone", () => {
    const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    heardFrom(createConsoleLogger("debug"));
    expect(written).not.toHaveBeenCalled();
  });
});
