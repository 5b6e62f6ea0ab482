import { describe, expect, it } from "vitest";
import { serverKindOf } from "../../../src/config/transport-type.js";

describe("the word tells the kind", () => {
  it.each([
    ["http", "http"],
    ["streamable-http", "http"],
    ["streamableHttp", "http"],
    ["sse", "sse"],
    ["stdio", "stdio"],
    ["websocket", "websocket"],
    ["lambda", "lambda"],
    ["custom", "custom"],
    ["in-process", "in-process"],
  ])("%s is %s, as type and as transport", (word, kind) => {
    expect([serverKindOf({ type: word }), serverKindOf({ transport: word })]).toEqual([kind, kind]);
  });

  it("type and transport may say the same", () => {
    expect(serverKindOf({ type: "sse", transport: "sse" })).toBe("sse");
  });

  it("the word wins over the keys", () => {
    expect(serverKindOf({ type: "sse", url: "https://example.com/mcp" })).toBe("sse");
  });

  it("type and transport that differ are a problem", () => {
    expect(serverKindOf({ type: "http", transport: "sse" })).toEqual({
      path: "transport",
      message: `says "sse" while type says "http"`,
    });
  });

  it.each([["type"], ["transport"]])("an unknown word is a problem of %s", (key) => {
    expect(serverKindOf({ [key]: "carrier-pigeon", url: "http://x.test" })).toEqual({
      path: key,
      message:
        "expected one of http, streamable-http, streamableHttp, sse, stdio, websocket, lambda, custom, in-process, resolved, " +
        `found "carrier-pigeon"`,
    });
  });

  it.each(["HTTP", "", "toString", "__proto__", 7, ["http"]])("%j is no word for a kind", (word) => {
    expect(serverKindOf({ type: word })).toMatchObject({ path: "type" });
  });
});

describe("without a word the keys tell the kind", () => {
  it.each([
    [{ command: "npx" }, "stdio"],
    [{ functionName: "weather" }, "lambda"],
    [{ openTransport: () => undefined }, "custom"],
    [{ server: {} }, "in-process"],
    [{ url: "http://localhost:3000/mcp" }, "http"],
    [{ url: "https://example.com/mcp" }, "http"],
    [{ url: new URL("https://example.com/mcp") }, "http"],
    [{ url: "ws://localhost:3000" }, "websocket"],
    [{ url: "WSS://example.com" }, "websocket"],
    [{ url: new URL("wss://example.com") }, "websocket"],
    [{ url: "wsx://example.com" }, "http"],
    [{ url: 7 }, "http"],
  ])("%o is %s", (definition, kind) => {
    expect(serverKindOf(definition)).toBe(kind);
  });

  it("a key that is undefined was left out", () => {
    expect(serverKindOf({ command: undefined, url: "http://x.test", type: undefined })).toBe("http");
  });

  it.each([
    [{ url: "http://x.test", command: "npx" }, "stdio and http"],
    [{ url: "ws://x.test", functionName: "weather" }, "lambda and websocket"],
    [{ command: "npx", server: {} }, "stdio and in-process"],
    [{ openTransport: () => undefined, server: {} }, "custom and in-process"],
  ])("%o is of two kinds", (definition, kinds) => {
    expect(serverKindOf(definition)).toEqual({
      path: "",
      message: `is of two kinds, ${kinds}: give the keys of one of them only`,
    });
  });

  it("no key of any kind is a problem that names them all", () => {
    expect(serverKindOf({ timeouts: {} })).toEqual({
      path: "",
      message: "tells no kind of server: expected url, command, functionName, openTransport or server",
    });
  });
});

describe("words for the same kind", () => {
  it("two aliases of one kind do not contradict each other", () => {
    expect(serverKindOf({ type: "http", transport: "streamable-http" })).toBe("http");
  });

  it("a type of null is a problem, whatever the keys say", () => {
    expect(serverKindOf({ type: null, url: "http://x.test" })).toMatchObject({ path: "type" });
  });
});
