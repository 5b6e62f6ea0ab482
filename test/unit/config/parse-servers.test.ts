import { describe, expect, it } from "vitest";
import { parseServers } from "../../../src/config/parse-server.js";
import { definitionErrorOf } from "./config-error-of.js";

const issuesOf = (json: unknown) => definitionErrorOf(() => parseServers(json)).issues;

describe("a list of servers", () => {
  it("may be text", () => {
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
    ["[]", "a list"],
    ["7", "a number"],
    [undefined, "nothing"],
    [() => ({}), "a function"],
  ])("%s is none", (json, found) => {
    expect(issuesOf(json)).toEqual([
      { path: "", message: `expected an object { name: definition }, found ${found}` },
    ]);
  });
});

describe("problems", () => {
  it("of all servers come together, each with its path", () => {
    const error = definitionErrorOf(() =>
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

  it("are all told in the message, a line each", () => {
    const error = definitionErrorOf(() => parseServers({ a: null, b: { url: 7 } }));
    expect(error.message.split("\n")).toEqual([
      "The list of servers is not valid:",
      "  a: expected an object, found null",
      "  b.url: expected an address that starts with http:// or https://, found a number",
    ]);
  });

  it("of a list inside are told with its place", () => {
    expect(issuesOf({ a: { command: "npx", args: ["-y", 7] } })).toEqual([
      { path: "a.args[1]", message: "expected a text, found a number" },
    ]);
  });

  it("of two kinds at once", () => {
    expect(issuesOf({ a: { url: "http://x.test", command: "npx" } })).toEqual([
      { path: "a", message: "is of two kinds, stdio and http: give the keys of one of them only" },
    ]);
  });

  it("an address that is missing", () => {
    expect(issuesOf({ a: { type: "http" } })).toEqual([
      { path: "a.url", message: "expected an address that starts with http:// or https://, found nothing" },
    ]);
  });

  it("a web address for a web socket", () => {
    expect(issuesOf({ a: { type: "websocket", url: "https://x.test/" } })).toEqual([
      {
        path: "a.url",
        message: `expected an address that starts with ws:// or wss://, found "https://x.test/"`,
      },
    ]);
  });
});

describe("unknown keys", () => {
  it("are named, together with what is allowed", () => {
    expect(issuesOf({ a: { url: "http://x.test", header: {}, timeout: 5 } })).toEqual([
      {
        path: "a",
        message:
          `unknown key "header", "timeout"; allowed are type, transport, url, headers, auth, dpop, identity, tls, dispatcher, fetch, timeouts, session, limits, retry, circuitBreaker, ` +
          "tools, trustAnnotations, optional, lazy, protocol, roots, onSamplingRequest, onElicitationRequest, fallback, classify, secrets",
      },
    ]);
  });

  it("in a group are found, too", () => {
    expect(issuesOf({ a: { url: "http://x.test", timeouts: { connect: 5 } } })).toEqual([
      { path: "a.timeouts", message: `unknown key "connect"; allowed are connectMs, requestMs, totalMs` },
    ]);
  });

  it("the key of another kind is unknown to this one", () => {
    const [issue] = issuesOf({ a: { type: "stdio", command: "npx", url: "http://x.test" } });
    expect(issue?.message).toMatch(
      /^unknown key "url"; allowed are type, transport, command, args, env, cwd, encoding, /,
    );
  });

  it("in a group that may be false", () => {
    expect(issuesOf({ a: { url: "http://x.test", retry: { times: 3, maxRetries: -1 } } })).toEqual([
      { path: "a.retry.maxRetries", message: "expected a number of at least 0" },
      {
        path: "a.retry",
        message: `unknown key "times"; allowed are maxRetries, baseDelayMs, maxDelayMs, freshSession`,
      },
    ]);
  });

  it("named like a part of every object are no exception", () => {
    const [issue] = issuesOf(`{ "a": { "url": "http://x.test", "__proto__": {}, "constructor": 1 } }`);
    expect(issue?.message).toMatch(/^unknown key "__proto__", "constructor"; /);
  });
});

describe("groups", () => {
  it.each([
    [{ retry: false }],
    [{ circuitBreaker: false }],
    [{ retry: { maxRetries: 0 }, circuitBreaker: { failureThreshold: 3 } }],
  ])("%j is allowed", (options) => {
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
  ])("%s is checked", (path, options) => {
    expect(issuesOf({ a: { url: "http://x.test", ...options } }).map((issue) => issue.path)).toEqual([path]);
  });
});

describe("every problem is told as it is", () => {
  it("a list where a definition should be is called a list", () => {
    expect(issuesOf({ a: [] })).toEqual([{ path: "a", message: "expected an object, found a list" }]);
  });

  it("an unknown kind hides no other problem", () => {
    const paths = issuesOf({ a: { type: "htp", url: "http://x.test", timeouts: 7 } }).map(({ path }) => path);
    expect(paths).toEqual(["a.type", "a.timeouts"]);
  });

  it("a choice that does not exist is told together with what was found", () => {
    expect(issuesOf({ a: { url: "http://x.test", protocol: "newest" } })[0]?.message).toContain(
      `found "newest"`,
    );
  });

  it("type is among the keys that are allowed", () => {
    expect(issuesOf({ a: { url: "http://x.test", tpye: "sse" } })[0]?.message).toContain("allowed are type");
  });
});
