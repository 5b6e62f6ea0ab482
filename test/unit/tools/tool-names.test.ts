import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import {
  assignToolNames,
  NAMING_DEFAULTS,
  type NamedTool,
  type Naming,
  resolveNaming,
  toNamePrefix,
} from "../../../src/tools/tool-names.js";

/** What OpenAI, Anthropic and Gemini accept. */
const VALID_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;

function assignNames(
  tools: readonly NamedTool[],
  naming: Partial<Naming> = {},
): readonly (string | undefined)[] {
  return assignToolNames(tools, { ...NAMING_DEFAULTS, ...naming }).names;
}

function getWarnings(tools: readonly NamedTool[], naming: Partial<Naming> = {}): readonly string[] {
  return assignToolNames(tools, { ...NAMING_DEFAULTS, ...naming }).warnings.map(({ message }) => message);
}

function assignName(tool: string, naming: Partial<Naming> = {}): string | undefined {
  return assignNames([{ server: "srv", tool }], { prefix: "none", ...naming })[0];
}

function catchCollision(tools: readonly NamedTool[], naming: Partial<Naming> = {}): McpRuntimeError {
  try {
    assignNames(tools, { onCollision: "error", ...naming });
  } catch (error) {
    return error as McpRuntimeError;
  }
  throw new Error("expected a collision");
}

describe("a name", () => {
  it.each([
    ["get_weather", "get_weather"],
    ["get weather", "get_weather"],
    ["  padded\t", "padded"],
    ["files/read.text", "files_read_text"],
    ["wetter-für-heute", "wetter-f_r-heute"],
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
    ["👍 ok", "__ok"],
  ])("%j becomes %j", (tool, expected) => {
    expect(assignName(tool)).toBe(expected);
  });

  it("without any valid character is a hash", () => {
    expect(assignName("")).toBe("tool_e3b0c442");
    expect(assignName("天气")).toMatch(/^tool_[0-9a-f]{8}$/);
    expect(assignName("天气")).not.toBe(assignName("气温"));
    expect(assignName("...")).toMatch(/^tool_[0-9a-f]{8}$/);
  });

  it("that is too long is truncated, with a hash of the full name", () => {
    const [a, b] = [`${"x".repeat(200)}a`, `${"x".repeat(200)}b`];
    expect(assignName(a)).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(assignName(a)).not.toBe(assignName(b));
    expect(assignName("y".repeat(64))).toBe("y".repeat(64));
  });

  it.each([
    ["3d_model", "_3d_model"],
    ["-x", "_-x"],
    ["...9", "___9"],
    ["7".repeat(63), `_${"7".repeat(63)}`],
  ])("that starts with a digit or a dash gets an underscore: %j", (tool, expected) => {
    expect(assignName(tool)).toBe(expected);
    expect(assignName(tool, { prefix: () => tool })).toBe(expected);
  });

  it("that starts with a digit or a dash is cut at 64 characters with its underscore", () => {
    expect(assignName("7".repeat(64))).toMatch(/^_7{54}_[0-9a-f]{8}$/);
    expect(assignName(".7", { invalidCharacters: "delete" })).toBe("_7");
  });

  it("of a server that starts with a digit or a dash starts with the prefix of the server", () => {
    const naming = resolveNaming({}, "server");
    expect(toNamePrefix("21st", naming)).toBe("_21st__");
    expect(assignNames([{ server: "21st", tool: "find" }])).toEqual(["_21st__find"]);
    expect(assignNames([{ server: "-x", tool: "find" }])).toEqual(["_-x__find"]);
    expect(assignNames([{ server: "21st", tool: "1" }], { prefix: "mcp" })).toEqual(["mcp__21st__1"]);
  });

  it("has no prefix with false, as with none", () => {
    expect(assignName("get", { prefix: false })).toBe("get");
    expect(resolveNaming({ prefix: false }, "server").prefix).toBe(false);
  });

  it("can have invalid characters deleted", () => {
    expect(assignName("files/read.text", { invalidCharacters: "delete" })).toBe("filesreadtext");
  });

  it.each([
    ["server", "srv__echo"],
    ["none", "echo"],
    ["mcp", "mcp__srv__echo"],
    [(server: string, tool: string) => `${tool}@${server}`, "echo_srv"],
  ] as const)("with prefix %s", (prefix, expected) => {
    expect(assignName("echo", { prefix })).toBe(expected);
  });
});

describe("two tools with the same name", () => {
  const colliding = [
    { server: "a", tool: "search" },
    { server: "b", tool: "search" },
    { server: "b", tool: "other" },
  ];

  const within = [
    { server: "a", tool: "x y" },
    { server: "a", tool: "x.y" },
    { server: "b", tool: "x y" },
  ];

  it("of two servers: the later one is left out by default, with a warning", () => {
    expect(assignNames(colliding, { prefix: "none" })).toEqual(["search", undefined, "other"]);
    expect(getWarnings(colliding, { prefix: "none" })).toEqual([
      expect.stringMatching(
        /^Tool "search" of server "b" is left out: search is the name of Tool "search" of server "a"/i,
      ),
    ]);
  });

  it("of one server: both get a suffix by default, with a warning", () => {
    const [first, second, other] = assignNames(within);
    expect([first, second]).toEqual([
      expect.stringMatching(/^a__x_y_[0-9a-f]{8}$/),
      expect.stringMatching(/^a__x_y_[0-9a-f]{8}$/),
    ]);
    expect(first).not.toBe(second);
    expect(other).toBe("b__x_y");
    expect(getWarnings(within)).toEqual([
      `Tool "x y" of server "a" is named ${first}, because another tool of the server gets the name a__x_y.`,
      `Tool "x.y" of server "a" is named ${second}, because another tool of the server gets the name a__x_y.`,
    ]);
  });

  it("of which one has the suffixed name of another are left out, in every mode but error", () => {
    for (const onCollision of ["skip", "suffix", "prefix"] as const) {
      const names = assignNames(within, { prefix: "none", onCollision });
      const tools = [...within, { server: "c", tool: names[0] ?? "" }];
      expect(assignNames(tools, { prefix: "none", onCollision })).toEqual([...names, undefined]);
    }
  });

  it("are an error that names both and how to fix it", () => {
    const error = catchCollision(colliding, { prefix: "none" });
    expect(error).toMatchObject({
      kind: "invalid-config",
      issues: [
        {
          path: "search",
          message: expect.stringContaining('"search" of server "a" and "search" of server "b"'),
        },
        { path: "", message: expect.stringContaining('naming: { prefix: "server" }') },
      ],
    });
  });

  it("of one server are an error, too", () => {
    const error = catchCollision([
      { server: "a", tool: "x y" },
      { server: "a", tool: "x.y" },
    ]);
    expect(error.issues[0]).toMatchObject({ path: "a__x_y" });
  });

  it("both get a suffix", () => {
    const names = assignNames(colliding, { prefix: "none", onCollision: "suffix" });
    expect(names).toEqual([
      expect.stringMatching(/^search_[0-9a-f]{8}$/),
      expect.stringMatching(/^search_[0-9a-f]{8}$/),
      "other",
    ]);
    expect(new Set(names).size).toBe(3);
  });

  it("because of the underscore before a digit get a suffix or the prefix of their server", () => {
    const tools = [
      { server: "1a", tool: "7z" },
      { server: "1a", tool: "_7z" },
    ];
    for (const onCollision of ["skip", "suffix", "prefix"] as const) {
      const names = assignNames(tools, { prefix: "none", onCollision });
      expect(names.every((name) => VALID_NAME.test(name ?? ""))).toBe(true);
      expect(new Set(names).size).toBe(2);
    }
  });

  it("both get the prefix of their server", () => {
    expect(assignNames(colliding, { prefix: "none", onCollision: "prefix" })).toEqual([
      "a__search",
      "b__search",
      "other",
    ]);
  });

  it("collide with reserved names, too", () => {
    expect(
      catchCollision([{ server: "a", tool: "search" }], { prefix: "none", reserved: ["search"] }).message,
    ).toContain("naming.reserved");
    const reserved = { prefix: "none", reserved: ["search"] } as const;
    expect(assignNames([{ server: "a", tool: "search" }], reserved)).toEqual([undefined]);
    const [name] = assignNames([{ server: "a", tool: "search" }], { ...reserved, onCollision: "suffix" });
    expect(name).toMatch(/^search_[0-9a-f]{8}$/);
  });
});

describe("for any names of servers and tools", () => {
  const anyTools = fc.uniqueArray(
    fc.record({
      server: fc.oneof(fc.string(), fc.stringMatching(/^[0-9-]\w{0,70}$/)),
      tool: fc.oneof(fc.string({ unit: "binary", maxLength: 90 }), fc.stringMatching(/^[0-9-]\w{0,70}$/)),
    }),
    {
      selector: ({ server, tool }) => `${server}\0${tool}`,
      maxLength: 12,
    },
  );
  it("by default, names are valid and unique, and the first server keeps all of its tools", () => {
    fc.assert(
      fc.property(anyTools, fc.constantFrom("server", "none", "mcp"), (tools, prefix) => {
        const servers = [...new Set(tools.map(({ server }) => server))];
        const ordered = servers.flatMap((name) => tools.filter(({ server }) => server === name));
        const names = assignNames(ordered, { prefix });
        const kept = names.filter((name) => name !== undefined);
        expect(kept.every((name) => VALID_NAME.test(name))).toBe(true);
        expect(new Set(kept).size).toBe(kept.length);
        const ofFirst = names.filter((_, index) => ordered[index]?.server === servers[0]);
        expect(ofFirst).not.toContain(undefined);
        const first = ordered.filter(({ server }) => server === servers[0]);
        expect(assignNames(first, { prefix })).toEqual(ofFirst);
      }),
    );
  });

  const anyNaming = fc.record({
    prefix: fc.constantFrom("server", "none", "mcp"),
    invalidCharacters: fc.constantFrom("replace", "delete"),
    onCollision: fc.constantFrom("suffix", "prefix"),
  });

  it("every name is valid, unique and independent of the order", () => {
    fc.assert(
      fc.property(anyTools, anyNaming, fc.func(fc.integer()), (tools, naming, rank) => {
        const names = assignNames(tools, naming);
        expect(names.every((name) => VALID_NAME.test(name ?? ""))).toBe(true);
        expect(new Set(names).size).toBe(names.length);
        const shuffled = tools.toSorted((a, b) => rank(a) - rank(b));
        const again = new Map(assignNames(shuffled, naming).map((name, index) => [shuffled[index], name]));
        expect(tools.map((tool) => again.get(tool))).toEqual(names);
      }),
    );
  });
});
