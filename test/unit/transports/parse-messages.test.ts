import { describe, expect, it } from "vitest";
import { parseMessages, TOO_DEEP } from "../../../src/transports/json-rpc.js";

const nest = (levels: number, value: unknown): string =>
  `${"[".repeat(levels)}${JSON.stringify(value)}${"]".repeat(levels)}`;
/** The deepest array that may be in a field of a message. */
const DEEPEST = 512;
const toMessage = (field: string): string => `{"jsonrpc":"2.0","id":7,"result":${field}}`;
const UNREADABLE = { reason: TOO_DEEP, id: 7, isServerMessage: false };

describe("parseMessages", () => {
  it.each([
    "{".repeat(5_000),
    '"{'.repeat(5_000),
    '\\"['.repeat(5_000),
    "\\".repeat(5_001),
    "]}".repeat(5_000),
  ])("counts no brackets in strings (%#)", (text) => {
    expect(parseMessages(JSON.stringify({ [text]: text }))).toEqual([{ [text]: text }]);
    expect(parseMessages(toMessage(nest(DEEPEST, text)))).toMatchObject([{ jsonrpc: "2.0", id: 7 }]);
    expect(parseMessages(toMessage(nest(DEEPEST + 1, text)))).toEqual([UNREADABLE]);
  });

  it("counts the deepest place, wherever it is", () => {
    const deep = toMessage(`{"a":[],"b":${nest(DEEPEST, 1)}}`);
    expect(parseMessages(deep)).toEqual([UNREADABLE]);
    expect(parseMessages(toMessage(`{"a":[],"b":${nest(DEEPEST - 1, {})}}`))).toEqual([UNREADABLE]);
    expect(parseMessages(toMessage(`{"a":[],"b":${nest(DEEPEST - 1, 1)}}`))).toMatchObject([{ id: 7 }]);
    expect(parseMessages(`[{},${deep},${nest(DEEPEST + 2, 1)},{}]`)).toEqual([{}, UNREADABLE, undefined, {}]);
  });
});
