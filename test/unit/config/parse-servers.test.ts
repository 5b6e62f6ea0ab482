import { describe, expect, it } from "vitest";
import { COMMON_FIELDS } from "../../../src/config/server-definition.js";
import { parseServers } from "../../../src/config/parse-server.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

const findIssues = (json: unknown) => catchConfigError(() => parseServers(json)).issues;

describe("a list of servers", () => {
  it("a path instead of JSON is reported as such", () => {
    expect(() => parseServers(".mcp.json")).toThrow("pass the content of the file, not its path");
  });

  it("may be a JSON string", () => {
    expect(parseServers(`{ "files": { "command": "npx" } }`)).toEqual({ files: { command: "npx" } });
  });

  it("may be an object", () => {
    expect(parseServers({ weather: { url: "https://example.com/mcp" } })).toEqual({
      weather: { url: "https://example.com/mcp" },
    });
  });

  it("may be empty", () => {
    expect(parseServers("{}")).toEqual({});
  });

  it.each([
    ["null", "null"],
    ["[]", "an array"],
    ["7", "a number"],
    [undefined, "undefined"],
    [() => ({}), "a function"],
  ])("cannot be %s", (json, actual) => {
    expect(findIssues(json)).toEqual([{ path: "", message: expect.stringContaining(`got ${actual}`) }]);
  });
});

describe("problems", () => {
  it("of all servers are reported together, each with its path", () => {
    const error = catchConfigError(() =>
      parseServers({
        weather: { url: "nowhere", timeouts: { connectMs: -1 } },
        "my files": { command: "" },
        none: null,
        nothing: {},
        "": { command: "npx" },
      }),
    );
    expect(error.issues.map(({ path }) => path)).toEqual([
      "weather.url",
      "weather.timeouts.connectMs",
      `["my files"].command`,
      "none",
      "nothing",
      `[""].name`,
    ]);
  });

  it("are all in the message, one per line", () => {
    const error = catchConfigError(() => parseServers({ a: null, b: { url: 7 } }));
    expect(error.issues).toMatchObject([{ path: "a" }, { path: "b.url" }]);
    expect(error.message.split("\n")).toEqual([
      expect.stringContaining("servers"),
      ...error.issues.map(({ path, message }) => `  ${path}: ${message}`),
    ]);
  });

  it("of array items have the index in their path", () => {
    expect(findIssues({ a: { command: "npx", args: ["-y", 7] } })).toMatchObject([{ path: "a.args[1]" }]);
  });

  it("keys of two transports", () => {
    expect(findIssues({ a: { url: "http://x.test", command: "npx" } })).toEqual([
      { path: "a", message: expect.stringContaining("stdio and http") },
    ]);
  });

  it("a missing URL", () => {
    expect(findIssues({ a: { type: "http" } })).toEqual([
      { path: "a.url", message: expect.stringContaining("got undefined") },
    ]);
  });

  it("an HTTP URL for a WebSocket", () => {
    expect(findIssues({ a: { type: "websocket", url: "https://x.test/" } })).toEqual([
      { path: "a.url", message: expect.stringContaining("ws:// or wss://") },
    ]);
  });
});

describe("unknown keys", () => {
  it("are reported with the valid keys", () => {
    expect(findIssues({ a: { url: "http://x.test", header: {}, timeout: 5 } })).toEqual([
      {
        path: "a",
        message: `unknown key "header" (did you mean "headers"?), "timeout" (did you mean "timeouts"?); valid keys: type, transport, url, headers, auth, dpop, identity, tls, dispatcher, fetch, ${Object.keys(COMMON_FIELDS).join(", ")}`,
      },
    ]);
  });

  it("are reported in groups of options", () => {
    expect(findIssues({ a: { url: "http://x.test", timeouts: { connect: 5 } } })).toEqual([
      {
        path: "a.timeouts",
        message: expect.stringMatching(/"connect".*connectMs, requestMs, totalMs/),
      },
    ]);
  });

  it("include the keys of other transports", () => {
    const [issue] = findIssues({ a: { type: "stdio", command: "npx", url: "http://x.test" } });
    expect(issue?.message).toMatch(/"url".*type, transport, command, args, env, cwd, encoding, /);
  });

  it("are reported in groups that may be false", () => {
    expect(findIssues({ a: { url: "http://x.test", retry: { times: 3, maxRetries: -1 } } })).toEqual([
      { path: "a.retry.maxRetries", message: expect.any(String) },
      {
        path: "a.retry",
        message: expect.stringMatching(/"times".*maxRetries, baseDelayMs, maxDelayMs, freshSession/),
      },
    ]);
  });

  it("include names of inherited properties", () => {
    const [issue] = findIssues(`{ "a": { "url": "http://x.test", "__proto__": {}, "constructor": 1 } }`);
    expect(issue?.message).toContain('key "__proto__", "constructor"');
  });
});

describe("groups of options", () => {
  it.each([
    [{ retry: false }],
    [{ circuitBreaker: false }],
    [{ retry: { maxRetries: 0 }, circuitBreaker: { failureThreshold: 3 } }],
  ])("%j is valid", (options) => {
    const servers = { a: { url: "http://x.test", ...options } };
    expect(parseServers(servers)).toEqual(servers);
  });

  it.each([
    ["a.timeouts.totalMs", { timeouts: { totalMs: "5" } }],
    ["a.limits.sockets", { limits: { sockets: 0 } }],
    ["a.limits.pages", { limits: { pages: 1.5 } }],
    ["a.session.id", { session: { id: "with space" } }],
    ["a.session.sequential", { session: { sequential: "yes" } }],
    ["a.retry", { retry: true }],
    ["a.circuitBreaker.failureThreshold", { circuitBreaker: { failureThreshold: 0 } }],
    ["a.protocol", { protocol: "2024" }],
    ["a.optional", { optional: 1 }],
    ["a.classify", { classify: "session-lost" }],
  ])("%s is validated", (path, options) => {
    expect(findIssues({ a: { url: "http://x.test", ...options } }).map((issue) => issue.path)).toEqual([
      path,
    ]);
  });
});

describe("problem messages", () => {
  it.each([
    ["auth", 'a string; for a fixed token, use headers: { authorization: "Bearer …" }'],
    ["headers", "a string"],
    ["identity", "a string"],
    ["secrets", "a string"],
    ["session", "a string"],
    ["tls", "a string"],
  ])("a string as %s is not quoted, because it may be a secret", (key, received) => {
    const [issue] = findIssues({ a: { url: "http://x.test", [key]: "canary-password" } });
    expect(issue).toEqual({ path: `a.${key}`, message: expect.stringMatching(/, got a string/) });
    expect(issue?.message.split(", got ")[1]).toBe(received);
  });

  it.each([
    ["[,]", 'invalid JSON: unexpected ","'],
    ['"', /^invalid JSON at position 1\b[^"]*$/],
    ['{"key":"canary\n"}', /^invalid JSON at position 14\b[^"]*$/],
    ["canary", 'invalid JSON: unexpected "c"'],
    ["\u{1f600}canary", /^invalid JSON$/],
    ["\u0007canary", /^invalid JSON$/],
    ["", "invalid JSON: the text ends too early"],
    ['{"a":', "invalid JSON: the text ends too early"],
  ])("JSON that cannot be parsed is reported with the reason, but without the text (%#)", (json, message) => {
    expect(findIssues(json)).toEqual([{ path: "", message: expect.stringMatching(message) }]);
    expect(findIssues(json)[0]?.message).not.toContain("anary");
  });

  it("a URL in place of the servers is reported as such", () => {
    const [issue] = findIssues("http://localhost:3000/mcp");
    expect(issue?.message).toBe("invalid JSON; got a URL, expected an object such as { name: { url } }");
  });

  it.each([
    ["url", "a definition needs a name: { weather: { url } }"],
    ["weather", "write { url } or { command, args }"],
  ])("a string as %s is reported with what to write", (name, hint) => {
    expect(findIssues({ [name]: "http://localhost:3000/mcp" })).toEqual([
      { path: name, message: `expected an object, got a string; ${hint}` },
    ]);
  });

  it("a url without a value is reported as the url", () => {
    expect(findIssues({ a: { url: undefined } })).toEqual([
      { path: "a.url", message: "expected a URL, got undefined" },
    ]);
  });

  it.each([
    ["htpp", "http"],
    ["streamable_http", "streamable-http"],
  ])("the transport %s is reported with a suggestion", (transport, suggestion) => {
    const [issue] = findIssues({ a: { transport, url: "http://x.test" } });
    expect(issue?.message).toMatch(new RegExp(`got "${transport}" \\(did you mean "${suggestion}"\\?\\)$`));
  });

  it.each([
    [{ limits: { sockets: 0 } }, "expected a number above 0, got 0"],
    [{ limits: { sockets: 1.5 } }, "expected a whole number, got 1.5"],
    [{ limits: { sockets: 1e300 } }, "expected a number of at most 9007199254740991, got 1e+300"],
    [{ timeouts: { connectMs: -1 } }, "expected a number of at least 0, got -1"],
    [{ timeouts: { connectMs: Number.NaN } }, "expected a number, got NaN"],
    [{ secrets: [4711] }, "expected a string, got a number"],
    [{ headers: { key: 4711 } }, "expected a string, got a number"],
    [{ onToolError: 5 }, 'expected "return", "throw" or a function, got a number'],
    [{ retry: 5 }, "expected false or an object, got a number"],
  ])("a number is shown where a number was expected (%j)", (options, message) => {
    const [issue] = findIssues({ a: { url: "http://x.test", ...options } });
    expect(issue?.message).toBe(message);
  });

  it("an array instead of a definition is reported as an array", () => {
    expect(findIssues({ a: [] })).toEqual([{ path: "a", message: expect.stringContaining("got an array") }]);
  });

  it("an unknown type does not hide other problems", () => {
    const paths = findIssues({ a: { type: "htp", url: "http://x.test", timeouts: 7 } }).map(
      ({ path }) => path,
    );
    expect(paths).toEqual(["a.type", "a.timeouts"]);
  });

  it("an invalid enum value is reported with the received value", () => {
    expect(findIssues({ a: { url: "http://x.test", protocol: "newest" } })[0]?.message).toContain(
      `got "newest"`,
    );
  });

  it("type is one of the valid keys", () => {
    expect(findIssues({ a: { url: "http://x.test", tpye: "sse" } })[0]?.message).toContain(
      "valid keys: type",
    );
  });
});
