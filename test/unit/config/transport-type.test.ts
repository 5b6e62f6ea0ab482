import { describe, expect, it } from "vitest";
import { getTransportType } from "../../../src/config/parse-server.js";

describe("type and transport", () => {
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
  ])("%s is %s, as type and as transport", (name, kind) => {
    expect([getTransportType({ type: name }), getTransportType({ transport: name })]).toEqual([kind, kind]);
  });

  it("may have the same value", () => {
    expect(getTransportType({ type: "sse", transport: "sse" })).toBe("sse");
  });

  it("take precedence over the keys", () => {
    expect(getTransportType({ type: "sse", url: "https://example.com/mcp" })).toBe("sse");
  });

  it("that differ are a problem", () => {
    expect(getTransportType({ type: "http", transport: "sse" })).toEqual({
      path: "transport",
      message: expect.stringContaining('type is "http"'),
    });
  });

  it.each([["type"], ["transport"]])("an unknown value is a problem of %s", (key) => {
    expect(getTransportType({ [key]: "carrier-pigeon", url: "http://x.test" })).toEqual({
      path: key,
      message: expect.stringMatching(/streamable-http.*got "carrier-pigeon"/),
    });
  });

  it.each(["HTTP", "", "toString", "__proto__", 7, ["http"]])("%j is not a transport", (name) => {
    expect(getTransportType({ type: name })).toMatchObject({ path: "type" });
  });
});

describe("without a type the transport is inferred", () => {
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
    expect(getTransportType(definition)).toBe(kind);
  });

  it("a key that is undefined counts as missing", () => {
    expect(getTransportType({ command: undefined, url: "http://x.test", type: undefined })).toBe("http");
  });

  it.each([
    [{ url: "http://x.test", command: "npx" }, "stdio and http"],
    [{ url: "ws://x.test", functionName: "weather" }, "lambda and websocket"],
    [{ command: "npx", server: {} }, "stdio and in-process"],
    [{ openTransport: () => undefined, server: {} }, "custom and in-process"],
  ])("%o matches two transports", (definition, kinds) => {
    expect(getTransportType(definition)).toEqual({
      path: "",
      message: expect.stringContaining(kinds),
    });
  });

  it("a definition without transport keys is a problem that lists them", () => {
    expect(getTransportType({ timeouts: {} })).toEqual({
      path: "",
      message: expect.stringContaining("url, command, functionName, openTransport or server"),
    });
  });
});

describe("aliases of transports", () => {
  it("may be used together", () => {
    expect(getTransportType({ type: "http", transport: "streamable-http" })).toBe("http");
  });

  it("a type of null is a problem, whatever the keys are", () => {
    expect(getTransportType({ type: null, url: "http://x.test" })).toMatchObject({ path: "type" });
  });
});
