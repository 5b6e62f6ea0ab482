import { describe, expect, it } from "vitest";
import { classifyTruncated } from "../../../src/transports/json-rpc.js";

const TEXT = "x".repeat(50);

describe("a truncated message", () => {
  it.each([
    ["the id first", '{"jsonrpc":"2.0","id":7,"result":{"a":"', TEXT, { type: "response", id: 7 }],
    [
      "the id before the version",
      '{"id":"a-7","jsonrpc":"2.0","result":{',
      TEXT,
      { type: "response", id: "a-7" },
    ],
    [
      "the id last",
      '{"result":{"a":"',
      `${TEXT}"}, "jsonrpc":"2.0", "id": 7 }\r`,
      { type: "response", id: 7 },
    ],
    [
      "the id before the version, last",
      '{"result":{',
      `"},"id":7,"jsonrpc":"2.0"}`,
      { type: "response", id: 7 },
    ],
    ["an id only in its content", '{"result":{"id":3,', `"x":{"id":4}}}`, { type: "unidentified-response" }],
    ["an id in a string", '{"result":{"a":"', String.raw`,\"id\":4}"}}`, { type: "unidentified-response" }],
    ["an array", '[{"jsonrpc":"2.0","id":7,', TEXT, { type: "unidentified-response" }],
    [
      "a notification",
      '{"jsonrpc":"2.0","method":"notifications/message",',
      TEXT,
      { type: "server-message" },
    ],
    ["a request", '{"jsonrpc":"2.0","id":7,"method":"roots/list",', TEXT, { type: "server-message" }],
    ["text that is not JSON", "loading …", TEXT, { type: "invalid" }],
    ["a line of a log", "[INFO] loading …", TEXT, { type: "invalid" }],
  ])("with %s is classified by its head and tail", (_, head, tail, expected) => {
    expect(classifyTruncated(head, tail)).toEqual(expected);
  });
});
