import { describe, expect, it } from "vitest";
import { parseServer } from "../../../src/config/parse-server.js";
import type { ServerDefinition } from "../../../src/config/server-definition.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const unused = () => expect.unreachable();

describe("defaults", () => {
  it("a URL is sufficient", () => {
    expect(parseServer("weather", { url: "https://example.com/mcp" })).toMatchObject({
      name: "weather",
      address: { kind: "http", url: new URL("https://example.com/mcp"), headers: {} },
      timeouts: { connectMs: 10_000, requestMs: 60_000, totalMs: 600_000 },
      session: { maxRecoveries: 8, sequential: false, drainMs: 0, terminateOnClose: true },
      limits: { responseBytes: 33_554_432, sockets: 64, pages: 100, tools: 10_000, serverRequests: 8 },
      classify: undefined,
    });
  });

  it("a command has no arguments, environment, folder or encoding, and 50 s to start", () => {
    const { address, timeouts } = parseServer("files", { command: "npx" });
    expect(address).toEqual({
      kind: "stdio",
      command: "npx",
      args: [],
      env: {},
      cwd: undefined,
      encoding: undefined,
    });
    expect(timeouts).toEqual({ connectMs: 50_000, requestMs: 60_000, totalMs: 600_000, taskMs: 3_600_000 });
  });

  it("given options take precedence, one by one", () => {
    const config = parseServer("weather", {
      url: "https://example.com/mcp",
      timeouts: { requestMs: 5 },
      session: { maxRecoveries: 0 },
      limits: { sockets: 2 },
    });
    expect(config.timeouts).toEqual({ connectMs: 10_000, requestMs: 5, totalMs: 600_000, taskMs: 3_600_000 });
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
      skills: 1_000,
      identities: 1_000,
      serverRequests: 8,
    });
  });

  it("connectMs of a command takes precedence over 50 s", () => {
    expect(parseServer("files", { command: "npx", timeouts: { connectMs: 0 } }).timeouts.connectMs).toBe(0);
  });

  it("a resumed session is not terminated", () => {
    const { session } = parseServer("weather", { url: "http://x.test", session: { id: "abc" } });
    expect(session).toMatchObject({ id: "abc", terminateOnClose: false });
  });

  it("a resumed session is terminated with terminateOnClose", () => {
    const session = { id: "abc", terminateOnClose: true };
    expect(parseServer("weather", { url: "http://x.test", session }).session.terminateOnClose).toBe(true);
  });

  it("an option of undefined counts as missing", () => {
    const timeouts = { connectMs: undefined } as unknown as { connectMs: number };
    expect(parseServer("weather", { url: "http://x.test", timeouts }).timeouts.connectMs).toBe(10_000);
  });
});

describe("the address of each transport", () => {
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

  it.each<[object, string, string]>([
    [{ encoding: "utf-16le" }, "encoding", "UTF-16"],
    [{ encoding: "klingon" }, "encoding", "TextDecoder"],
    [{ args: ["a\0b"] }, "args[0]", "null character"],
    [{ args: Buffer.from("a") }, "args", "expected an array"],
    [{ secrets: Buffer.from("a") }, "secrets", "expected an array"],
    [{ env: { "A=B": "c" } }, "env", "environment variable name"],
  ])("stdio rejects %j", (invalid, path, message) => {
    const { issues } = catchConfigError(() => parseServer("a", { command: "node", ...invalid }));
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

  it("in-process with a server: all sessions share it", () => {
    const server = { connect: async () => undefined };
    const { address } = parseServer("a", { server });
    expect("open" in address && address.open()).toBe(server);
  });

  it("in-process with a function: every session gets its own server", () => {
    expect(parseServer("a", { server: unused }).address).toEqual({ kind: "in-process", open: unused });
  });
});

describe("collected secrets", () => {
  it("user, password, query and headers of a URL", () => {
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

  it("command line options with secret names", () => {
    const args = ["--verbose", "--api-key", "a-secret", "--token=b-secret", "--auth", "on", "--password"];
    const { secrets } = parseServer("a", { command: "npx", args });
    expect([...new Set(secrets)]).toEqual(["a-secret", "b-secret"]);
  });

  it("a session id", () => {
    expect(parseServer("a", { url: "http://x.test", session: { id: "s-secret" } }).secrets).toContain(
      "s-secret",
    );
  });

  it("a password with invalid percent-encoding", () => {
    expect(parseServer("a", { url: "http://ann:50%@x.test" }).secrets).toContain("50%");
  });
});

describe("an invalid definition", () => {
  it("is reported with the name of the server", () => {
    const error = catchConfigError(() => parseServer("weather", { url: "nowhere" }));
    expect(error).toMatchObject({ server: "weather", issues: [{ path: "url" }] });
  });

  const NOT_A_URL = "a string that is not a URL (not shown, because it may be a secret)";
  it.each([
    ["localhost:3000/mcp", '"localhost:3000/mcp"; did you mean "http://localhost:3000/mcp"?'],
    ["127.0.0.1/mcp", '"127.0.0.1/mcp"; did you mean "http://127.0.0.1/mcp"?'],
    ["tools.example.com/mcp", '"tools.example.com/mcp"; did you mean "https://tools.example.com/mcp"?'],
    ["ann:secret@gateway:80/a?key=b", '"gateway:80/a"; did you mean "https://gateway:80/a"?'],
    ["ftp://localhost/mcp", '"ftp://localhost/mcp"'],
    ["sk-5f1dcb9d5bd04a8", NOT_A_URL],
    ["3000", NOT_A_URL],
    ["/mcp", NOT_A_URL],
  ])("the URL %j is shown without secrets, and with the protocol that is missing", (url, shown) => {
    expect(catchConfigError(() => parseServer("a", { url })).issues).toEqual([
      { path: "url", message: `expected a URL starting with http:// or https://, got ${shown}` },
    ]);
  });

  it("a WebSocket URL without a protocol is completed with its own", () => {
    const { issues } = catchConfigError(() => parseServer("a", { type: "websocket", url: "localhost:1/a" }));
    expect(issues[0]?.message).toContain('did you mean "ws://localhost:1/a"?');
  });

  it.each(["", "  \t"])("the name %j is rejected", (name) => {
    expect(catchConfigError(() => parseServer(name, { url: "http://x.test" })).issues).toMatchObject([
      { path: "name" },
    ]);
  });

  it("with two transports is rejected by the types", () => {
    // @ts-expect-error -- a server has a URL or a command, not both
    const ambiguous: ServerDefinition = { url: "http://x.test", command: "npx" };
    expect(catchConfigError(() => parseServer("a", ambiguous)).issues).toHaveLength(1);
  });
});

describe("later changes of the input have no effect", () => {
  it("on the URL", () => {
    const url = new URL("https://example.com/mcp");
    const { address } = parseServer("a", { url });
    url.pathname = "/elsewhere";
    expect(address).toMatchObject({ url: new URL("https://example.com/mcp") });
  });

  it("on arguments and environment", () => {
    const definition = { command: "npx", args: ["-y"], env: { KEY: "v" } };
    const { address } = parseServer("a", definition);
    definition.args.push("evil");
    definition.env.KEY = "other";
    expect(address).toMatchObject({ args: ["-y"], env: { KEY: "v" } });
  });
});

describe("handlers of server requests", () => {
  const url = "http://x.test";

  it("are optional", () => {
    expect(parseServer("a", { url }).handlers).toEqual({});
  });

  it("one function handles both modes of elicitation", () => {
    const onElicitationRequest = () => ({ action: "cancel" }) as const;
    expect(parseServer("a", { url, onElicitationRequest }).handlers).toEqual({
      elicitForm: onElicitationRequest,
      elicitUrl: onElicitationRequest,
    });
  });

  it("each mode of elicitation may have its own function", () => {
    const form = () => ({ action: "cancel" }) as const;
    expect(parseServer("a", { url, onElicitationRequest: { form } }).handlers).toEqual({ elicitForm: form });
  });

  it("of a resolved definition take precedence over those next to resolve", async () => {
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
    ["roots[0].uri", { roots: [{ uri: "https://x.test" }] }],
    ["roots", { roots: "file:///a" }],
    ["onSamplingRequest", { onSamplingRequest: "gpt" }],
    ["onElicitationRequest", { onElicitationRequest: {} }],
    ["onElicitationRequest", { onElicitationRequest: { page: unused } }],
    ["limits.serverRequests", { limits: { serverRequests: 0 } }],
  ])("%s: %j is rejected", (path, options) => {
    const { issues } = catchConfigError(() => parseServer("a", { url, ...options } as never));
    expect(issues).toMatchObject([{ path }]);
  });

  it("an unknown key of a root is rejected by name", () => {
    const roots = [{ uri: "file:///a", path: "/a" }];
    const { issues } = catchConfigError(() => parseServer("a", { url, roots } as never));
    expect(issues).toEqual([{ path: "roots[0]", message: expect.stringContaining('"path"') }]);
  });
});
