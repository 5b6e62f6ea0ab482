import { describe, expect, it } from "vitest";
import { sortUnread } from "../../../src/transports/truncated-message.js";

const TEXT = "x".repeat(50);

describe("a message that cannot be read", () => {
  it.each([
    ["the id first", '{"jsonrpc":"2.0","id":7,"result":{"a":"', TEXT, { is: "answer", id: 7 }],
    [
      "the id before the version",
      '{"id":"a-7","jsonrpc":"2.0","result":{',
      TEXT,
      { is: "answer", id: "a-7" },
    ],
    ["the id last", '{"result":{"a":"', `${TEXT}"}, "jsonrpc":"2.0", "id": 7 }\r`, { is: "answer", id: 7 }],
    ["the id before the version, last", '{"result":{', `"},"id":7,"jsonrpc":"2.0"}`, { is: "answer", id: 7 }],
    ["an id that is only in its content", '{"result":{"id":3,', `"x":{"id":4}}}`, { is: "some answer" }],
    ["an id in a text", '{"result":{"a":"', String.raw`,\"id\":4}"}}`, { is: "some answer" }],
    ["a list", '[{"jsonrpc":"2.0","id":7,', TEXT, { is: "some answer" }],
    ["a notification", '{"jsonrpc":"2.0","method":"notifications/message",', TEXT, { is: "call" }],
    ["a request", '{"jsonrpc":"2.0","id":7,"method":"roots/list",', TEXT, { is: "call" }],
    ["no JSON", "loading …", TEXT, { is: "garbage" }],
  ])("with %s is told by its two ends", (_, head, tail, expected) => {
    expect(sortUnread(head, tail)).toEqual(expected);
  });
});
