import { describe, expect, it } from "vitest";
import { option, optionsSchema, parseOptions } from "../../../src/config/parse-options.js";
import { parseServers } from "../../../src/config/parse-server.js";
import { createMcpTools, McpClient } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { fileStore } from "../../../src/stores/index.js";
import { rejection } from "../../fixtures/clients.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

interface WatchOptions {
  readonly intervalMs?: number;
  readonly ignoreErrors?: boolean;
  readonly target: string;
}

const WATCH_SCHEMA = optionsSchema<WatchOptions>(
  {
    intervalMs: option.milliseconds,
    ignoreErrors: option.boolean,
    target: option.oneOf("file", "folder", "both"),
  },
  { required: ["target"] },
);
const SUBJECT = { subject: "The watch options" };
const findIssues = (options: unknown) =>
  catchConfigError(() => parseOptions(WATCH_SCHEMA, options, SUBJECT)).issues;

function throwBoom(): never {
  throw new Error("boom");
}

describe("options", () => {
  it("are returned if they are valid, without filling in anything", () => {
    expect(parseOptions(WATCH_SCHEMA, { target: "file", intervalMs: 5 }, SUBJECT)).toEqual({
      target: "file",
      intervalMs: 5,
    });
  });

  it("may be undefined, unless they are required", () => {
    expect(parseOptions(WATCH_SCHEMA, { target: "file", ignoreErrors: undefined }, SUBJECT)).toEqual({
      target: "file",
    });
    expect(findIssues({})).toEqual([
      { path: "target", message: 'expected one of "file", "folder", "both", got undefined' },
    ]);
  });

  it("are all reported in one error", () => {
    const error = catchConfigError(() =>
      parseOptions(WATCH_SCHEMA, { intervalMs: "1s", ignoreErrors: 0, target: "dir", depth: 1 }, SUBJECT),
    );
    expect(error.message).toBe(
      [
        "The watch options is not valid:",
        "  intervalMs: expected a number of milliseconds, got a string",
        "  ignoreErrors: expected true or false, got a number",
        '  target: expected one of "file", "folder", "both", got "dir"',
        '  unknown key "depth"; valid keys: intervalMs, ignoreErrors, target',
      ].join("\n"),
    );
  });

  it.each([
    [null, "null"],
    [5, "a number"],
    [[], "an array"],
    [Promise.resolve({}), "a promise (is an await missing?)"],
    [new Map(), "an instance of a class"],
    [() => ({}), "a function"],
  ])("cannot be %o", (options, actual) => {
    expect(findIssues(options)).toEqual([{ path: "", message: `expected an object, got ${actual}` }]);
  });

  it("problems that belong to no field have the path of the options", () => {
    const location = { ...SUBJECT, path: "options", server: "weather" };
    const error = catchConfigError(() => parseOptions(WATCH_SCHEMA, 5, location));
    expect(error).toMatchObject({ server: "weather", issues: [{ path: "options" }] });
  });

  it("may be fields of a class", () => {
    class Options {
      target = "file";
    }
    expect(parseOptions(WATCH_SCHEMA, new Options(), SUBJECT)).toEqual({ target: "file" });
  });
});

describe("an unknown key", () => {
  it("that is close to a valid one gets a suggestion", () => {
    expect(findIssues({ target: "file", ignoreError: true, interval: 5 })).toEqual([
      {
        path: "",
        message:
          'unknown key "ignoreError" (did you mean "ignoreErrors"?), "interval" (did you mean "intervalMs"?); ' +
          "valid keys: intervalMs, ignoreErrors, target",
      },
    ]);
  });

  it("is compared in any case", () => {
    expect(findIssues({ target: "file", IntervalMS: 5 })[0]?.message).toContain(
      '"IntervalMS" (did you mean "intervalMs"?);',
    );
  });

  it("that is close to none gets no suggestion", () => {
    expect(findIssues({ target: "file", debounce: 5 })).toEqual([
      { path: "", message: 'unknown key "debounce"; valid keys: intervalMs, ignoreErrors, target' },
    ]);
  });

  it("that may be a secret is not shown", () => {
    const [issue] = findIssues({ target: "file", "authorization: Bearer s3cr3t": "" });
    expect(issue?.message).toBe("unknown key (name not shown); valid keys: intervalMs, ignoreErrors, target");
  });

  it("of a group that may be false is reported alone", () => {
    const servers = { a: { url: "http://x.test", retry: { maxRetrys: 3 } } };
    expect(catchConfigError(() => parseServers(servers)).issues).toEqual([
      {
        path: "a.retry",
        message:
          'unknown key "maxRetrys" (did you mean "maxRetries"?); valid keys: maxRetries, baseDelayMs, maxDelayMs, freshSession',
      },
    ]);
  });

  it.each<[label: string, use: () => unknown, message: string]>([
    ["a factory", () => createMcpTools({}, { onToolErrors: "throw" } as never), '"onToolError"'],
    ["naming", () => createMcpTools({}, { naming: { prefx: "none" } as never }), '"prefix"'],
    ["a cache", () => createMcpTools({}, { cache: { staleAfter: 5 } as never }), '"staleAfterMs"'],
    ["a manager", () => new McpServerManager({}, { concurency: 5 } as never), '"concurrency"'],
    ["a client", () => new McpClient({ name: "a", url: "http://x.test" }, { loger: 5 } as never), '"logger"'],
    ["a store", () => fileStore("unused", { timeout: 5 } as never), '"timeoutMs"'],
    ["a tool rule", () => createMcpTools({}, { tools: { a: { timeout: 5 } } as never }), '"timeoutMs"'],
  ])("of the options of %s gets a suggestion", async (_, use, closest) => {
    const failure = await rejection(Promise.resolve().then(use));
    expect(failure).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining(`did you mean ${closest}?`),
    });
  });

  it("in the limits of a factory is explained", async () => {
    const failure = await rejection(createMcpTools({}, { limits: { sockets: 5 } as never }));
    expect(failure.issues).toEqual([
      {
        path: "limits",
        message:
          'unknown key "sockets"; valid keys: contentChars. The limits of a server belong in its definition',
      },
    ]);
  });
});

describe("an unreadable value", () => {
  const unreadable = Object.defineProperty({ target: "file" }, "intervalMs", {
    enumerable: true,
    get: throwBoom,
  });

  it("is reported with its path", () => {
    expect(findIssues(unreadable)).toEqual([{ path: "intervalMs", message: "cannot be read" }]);
  });

  it("is reported in server definitions, with its path", () => {
    const timeouts = Object.defineProperty({}, "connectMs", { enumerable: true, get: throwBoom });
    const definition = { url: "http://x.test", timeouts };
    expect(catchConfigError(() => parseServers({ "my server": definition })).issues).toEqual([
      { path: '["my server"].timeouts.connectMs', message: "cannot be read" },
    ]);
    const servers = Object.defineProperty({}, "weather", { enumerable: true, get: throwBoom });
    expect(catchConfigError(() => parseServers(servers)).issues).toEqual([
      { path: "weather", message: "cannot be read" },
    ]);
  });

  it.each(["get", "has", "ownKeys", "getOwnPropertyDescriptor", "getPrototypeOf"] as const)(
    "may be a proxy that throws in %s",
    (trap) => {
      const proxy = new Proxy({ target: "file", url: "http://x.test" }, { [trap]: throwBoom });
      for (const servers of [proxy, { a: proxy }])
        expect(catchConfigError(() => parseServers(servers)).issues).not.toEqual([]);
      expect(findIssues(proxy)).not.toEqual([]);
    },
  );
});
