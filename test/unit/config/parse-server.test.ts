import { describe, expect, it } from "vitest";
import { parseServer } from "../../../src/config/parse-server.js";
import type { ServerDefinition } from "../../../src/config/server-definition.js";
import { definitionErrorOf } from "./config-error-of.js";

const unused = () => expect.unreachable();

describe("what was left out is filled in", () => {
  it("an address is enough", () => {
    expect(parseServer("weather", { url: "https://example.com/mcp" })).toMatchObject({
      name: "weather",
      address: { kind: "http", url: new URL("https://example.com/mcp"), headers: {} },
      timeouts: { connectMs: 10_000, requestMs: 60_000, totalMs: 600_000 },
      session: { maxRecoveries: 1, sequential: false, drainMs: 0, terminateOnClose: true },
      limits: { responseBytes: 33_554_432, sockets: 64, pages: 100, tools: 10_000, serverRequests: 8 },
      classify: undefined,
    });
  });

  it("a command has no arguments, environment, folder or encoding, and a minute to start", () => {
    const { address, timeouts } = parseServer("files", { command: "npx" });
    expect(address).toEqual({
      kind: "stdio",
      command: "npx",
      args: [],
      env: {},
      cwd: undefined,
      encoding: undefined,
    });
    expect(timeouts).toEqual({ connectMs: 60_000, requestMs: 60_000, totalMs: 600_000 });
  });

  it("what somebody wrote wins, option by option", () => {
    const config = parseServer("weather", {
      url: "https://example.com/mcp",
      timeouts: { requestMs: 5 },
      session: { maxRecoveries: 0 },
      limits: { sockets: 2 },
    });
    expect(config.timeouts).toEqual({ connectMs: 10_000, requestMs: 5, totalMs: 600_000 });
    expect(config.session).toEqual({
      maxRecoveries: 0,
      sequential: false,
      drainMs: 0,
      terminateOnClose: true,
      storeTtlMs: 86_400_000,
    });
    expect(config.limits).toEqual({
      responseBytes: 33_554_432,
      sockets: 2,
      pages: 100,
      tools: 10_000,
      resources: 10_000,
      prompts: 10_000,
      identities: 1_000,
      serverRequests: 8,
    });
  });

  it("a command's own connect time wins over the minute", () => {
    expect(parseServer("files", { command: "npx", timeouts: { connectMs: 0 } }).timeouts.connectMs).toBe(0);
  });

  it("a session that somebody else opened is not ended", () => {
    const { session } = parseServer("weather", { url: "http://x.test", session: { id: "abc" } });
    expect(session).toMatchObject({ id: "abc", terminateOnClose: false });
  });

  it("a resumed session is ended when somebody says so", () => {
    const session = { id: "abc", terminateOnClose: true };
    expect(parseServer("weather", { url: "http://x.test", session }).session.terminateOnClose).toBe(true);
  });

  it("an option of undefined was left out", () => {
    const timeouts = { connectMs: undefined } as unknown as { connectMs: number };
    expect(parseServer("weather", { url: "http://x.test", timeouts }).timeouts.connectMs).toBe(10_000);
  });
});

describe("each kind has its address", () => {
  it("sse", () => {
    expect(
      parseServer("a", { type: "sse", url: "http://x.test/sse", headers: { "X-Key": "k" } }).address,
    ).toEqual({
      kind: "sse",
      url: new URL("http://x.test/sse"),
      headers: { "X-Key": "k" },
    });
  });

  it("websocket", () => {
    expect(parseServer("a", { url: "wss://x.test" }).address).toMatchObject({
      kind: "websocket",
      url: new URL("wss://x.test"),
    });
  });

  it("stdio", () => {
    const address = { command: "node", args: ["a.js"], env: { KEY: "v" }, cwd: "/srv", encoding: "utf8" };
    expect(parseServer("a", address).address).toEqual({ kind: "stdio", ...address });
  });

  it.each([
    [{ encoding: "utf-16le" }, "encoding", "not UTF-16"],
    [{ encoding: "klingon" }, "encoding", "expected an encoding that TextDecoder knows"],
    [{ args: ["a\0b"] }, "args[0]", "has a null character"],
    [{ env: { "A=B": "c" } }, "env", "has a key that is no name of a variable"],
  ])("stdio, but not with %j", (part, path, message) => {
    const { issues } = definitionErrorOf(() => parseServer("a", { command: "node", ...part }));
    expect(issues).toEqual([{ path, message: expect.stringContaining(message) }]);
  });

  it("lambda", () => {
    const address = { functionName: "f", qualifier: "live", region: "eu-west-1" };
    const endpoint = "http://x.test";
    expect(parseServer("a", { ...address, endpoint }).address).toEqual({
      kind: "lambda",
      ...address,
      endpoint: new URL(endpoint),
    });
  });

  it("custom", () => {
    expect(parseServer("a", { openTransport: unused }).address).toEqual({ kind: "custom", open: unused });
  });

  it("in-process, from a server: every session gets the same one", () => {
    const server = { connect: async () => undefined };
    const { address } = parseServer("a", { server });
    expect("open" in address && address.open()).toBe(server);
  });

  it("in-process, from a function: every session gets a new one", () => {
    expect(parseServer("a", { server: unused }).address).toEqual({ kind: "in-process", open: unused });
  });
});

describe("what must never be shown is written down", () => {
  it("user, password, query and headers of an address", () => {
    const { secrets } = parseServer("a", {
      url: "https://annie:p%40ss@x.test/mcp?key=q-secret",
      headers: { Authorization: "Token h-secret" },
    });
    expect(secrets).toEqual(
      expect.arrayContaining(["annie", "p%40ss", "p@ss", "q-secret", "Token h-secret", "h-secret"]),
    );
  });

  it("the environment of a command", () => {
    expect(parseServer("a", { command: "npx", env: { KEY: "e-secret" } }).secrets).toContain("e-secret");
    const { secrets } = parseServer("a", {
      command: "npx",
      env: { KEY: "line one\nline two", LANG: "de_DE" },
    });
    expect(secrets).toEqual(["line one\nline two", "line one", "line two"]);
  });

  it("the options of a command that are called as secrets are", () => {
    const args = ["--verbose", "--api-key", "a-secret", "--token=b-secret", "--auth", "on", "--password"];
    const { secrets } = parseServer("a", { command: "npx", args });
    expect([...new Set(secrets)]).toEqual(["a-secret", "b-secret"]);
  });

  it("a session id", () => {
    expect(parseServer("a", { url: "http://x.test", session: { id: "s-secret" } }).secrets).toContain(
      "s-secret",
    );
  });

  it("a password that is no valid encoding", () => {
    expect(parseServer("a", { url: "http://ann:50%@x.test" }).secrets).toContain("50%");
  });
});

describe("a definition that cannot be used", () => {
  it("names its server", () => {
    const error = definitionErrorOf(() => parseServer("weather", { url: "nowhere" }));
    expect(error.server).toBe("weather");
    expect(error.message).toBe(
      `Server "weather" is not valid:\n  url: expected an address that starts with http:// or https://, found "nowhere"`,
    );
  });

  it.each(["", "  \t"])("a server named %j has no name", (name) => {
    expect(definitionErrorOf(() => parseServer(name, { url: "http://x.test" })).issues).toEqual([
      { path: "name", message: "expected a name that is not empty" },
    ]);
  });

  it("is refused by the types when it is of two kinds", () => {
    // @ts-expect-error -- a server has an address or a command, not both
    const twofold: ServerDefinition = { url: "http://x.test", command: "npx" };
    expect(definitionErrorOf(() => parseServer("a", twofold)).issues).toHaveLength(1);
  });
});

describe("what was lent is not changed", () => {
  it("a later change to the caller's URL does not move the server", () => {
    const url = new URL("https://example.com/mcp");
    const { address } = parseServer("a", { url });
    url.pathname = "/elsewhere";
    expect(address).toMatchObject({ url: new URL("https://example.com/mcp") });
  });

  it("a later change to the caller's lists does not change the command", () => {
    const definition = { command: "npx", args: ["-y"], env: { KEY: "v" } };
    const { address } = parseServer("a", definition);
    definition.args.push("evil");
    definition.env.KEY = "other";
    expect(address).toMatchObject({ args: ["-y"], env: { KEY: "v" } });
  });
});

describe("who answers what a server asks", () => {
  const url = "http://x.test";

  it("is nobody, unless somebody is named", () => {
    expect(parseServer("a", { url }).handlers).toEqual({});
  });

  it("one function answers both kinds of questions to a person", () => {
    const onElicitationRequest = () => ({ action: "cancel" }) as const;
    expect(parseServer("a", { url, onElicitationRequest }).handlers).toEqual({
      elicitForm: onElicitationRequest,
      elicitUrl: onElicitationRequest,
    });
  });

  it("or one function each, or for one kind only", () => {
    const form = () => ({ action: "cancel" }) as const;
    expect(parseServer("a", { url, onElicitationRequest: { form } }).handlers).toEqual({ elicitForm: form });
  });

  it("also for a server that is looked up, whose own word counts more", async () => {
    const [early, late] = [unused, () => ({ model: "m", content: "" })];
    const resolve = () => ({ url, onSamplingRequest: late });
    const { address } = parseServer("a", {
      resolve,
      onSamplingRequest: early,
      roots: [{ uri: "file:///a" }],
    });
    const config =
      address.kind === "dynamic"
        ? await address.resolve({ signal: new AbortController().signal, warn: unused })
        : undefined;
    expect(config?.handlers).toEqual({ sample: late, roots: [{ uri: new URL("file:///a") }] });
  });

  it.each([
    ["roots[0].uri", { roots: [{ uri: "https://x.test" }] }, "expected an address that starts with file://"],
    ["roots[0]", { roots: [{ uri: "file:///a", path: "/a" }] }, 'unknown key "path"'],
    ["roots", { roots: "file:///a" }, "expected a list or a function, found another text"],
    ["onSamplingRequest", { onSamplingRequest: "gpt" }, "expected a function"],
    [
      "onElicitationRequest",
      { onElicitationRequest: {} },
      "expected a function, or { form, url } with at least one of them",
    ],
    [
      "onElicitationRequest",
      { onElicitationRequest: { page: unused } },
      "expected a function, or { form, url }",
    ],
    ["limits.serverRequests", { limits: { serverRequests: 0 } }, "expected a number above 0"],
  ])("%s: %j is a mistake", (path, options, message) => {
    const { issues } = definitionErrorOf(() => parseServer("a", { url, ...options } as never));
    expect(issues).toEqual([{ path, message: expect.stringContaining(message) as string }]);
  });
});
