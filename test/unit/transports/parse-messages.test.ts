import { describe, expect, it } from "vitest";
import { parseMessages, TOO_DEEP } from "../../../src/transports/json-rpc.js";

const nest = (levels: number, value: unknown): string =>
  `${"[".repeat(levels)}${JSON.stringify(value)}${"]".repeat(levels)}`;
const DEEPEST = 513;

describe("parseMessages", () => {
  it.each([
    "{".repeat(5_000),
    '"{'.repeat(5_000),
    '\\"['.repeat(5_000),
    "\\".repeat(5_001),
    "]}".repeat(5_000),
  ])("counts no brackets in strings (%#)", (text) => {
    expect(parseMessages(JSON.stringify({ [text]: text }))).toEqual([{ [text]: text }]);
    expect(parseMessages(nest(DEEPEST, text))).toBeInstanceOf(Array);
    expect(parseMessages(nest(DEEPEST + 1, text))).toBe(TOO_DEEP);
  });

  it("counts the deepest place, wherever it is", () => {
    const deep = nest(DEEPEST, 1);
    expect(parseMessages(`[{},${deep},{}]`)).toBe(TOO_DEEP);
    expect(parseMessages(`{"a":[],"b":${nest(DEEPEST - 1, {})}}`)).toBe(TOO_DEEP);
    expect(parseMessages(`{"a":[],"b":${nest(DEEPEST - 1, 1)}}`)).toBeInstanceOf(Array);
  });
});
