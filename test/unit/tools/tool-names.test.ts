import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { nameTools, NAMING_DEFAULTS, type NamedTool, type Naming } from "../../../src/tools/tool-names.js";

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;

function namesOf(tools: readonly NamedTool[], naming: Partial<Naming> = {}): string[] {
  return nameTools(tools, { ...NAMING_DEFAULTS, ...naming });
}

function nameOf(tool: string, naming: Partial<Naming> = {}): string | undefined {
  return namesOf([{ server: "srv", tool }], { prefix: "none", ...naming })[0];
}

function collisionOf(tools: readonly NamedTool[], naming: Partial<Naming> = {}): McpRuntimeError {
  try {
    namesOf(tools, naming);
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
  ])("%j is shown as %j", (tool, expected) => {
    expect(nameOf(tool)).toBe(expected);
  });

  it("that is empty or has nothing legal in it is a hash", () => {
    expect(nameOf("")).toBe("tool_e3b0c442");
    expect(nameOf("天气")).toMatch(/^tool_[0-9a-f]{8}$/);
    expect(nameOf("天气")).not.toBe(nameOf("气温"));
    expect(nameOf("...")).toMatch(/^tool_[0-9a-f]{8}$/);
  });

  it("that is too long is cut, with a hash of the whole", () => {
    const [a, b] = [`${"x".repeat(200)}a`, `${"x".repeat(200)}b`];
    expect(nameOf(a)).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(nameOf(a)).not.toBe(nameOf(b));
    expect(nameOf("y".repeat(64))).toBe("y".repeat(64));
  });

  it("can lose what is illegal instead", () => {
    expect(nameOf("files/read.text", { invalidCharacters: "delete" })).toBe("filesreadtext");
  });

  it.each([
    ["server", "srv__echo"],
    ["none", "echo"],
    ["mcp", "mcp__srv__echo"],
    [(server: string, tool: string) => `${tool}@${server}`, "echo_srv"],
  ] as const)("with prefix %s", (prefix, expected) => {
    expect(nameOf("echo", { prefix })).toBe(expected);
  });
});

describe("two tools that would get one name", () => {
  const twins = [
    { server: "a", tool: "search" },
    { server: "b", tool: "search" },
    { server: "b", tool: "other" },
  ];

  it("are an error that names both, and the ways out", () => {
    const error = collisionOf(twins, { prefix: "none" });
    expect(error).toMatchObject({ kind: "invalid-config" });
    expect(error.message).toContain(
      'search: is the name of "search" of server "a" and "search" of server "b"',
    );
    expect(error.message).toContain('naming: { prefix: "server" }');
  });

  it("within one server, too", () => {
    const error = collisionOf([
      { server: "a", tool: "x y" },
      { server: "a", tool: "x.y" },
    ]);
    expect(error.message).toContain("a__x_y");
  });

  it("get a suffix, both of them", () => {
    const names = namesOf(twins, { prefix: "none", onCollision: "suffix" });
    expect(names).toEqual([
      expect.stringMatching(/^search_[0-9a-f]{8}$/),
      expect.stringMatching(/^search_[0-9a-f]{8}$/),
      "other",
    ]);
    expect(new Set(names).size).toBe(3);
  });

  it("get their server's name, both of them", () => {
    expect(namesOf(twins, { prefix: "none", onCollision: "prefix" })).toEqual([
      "a__search",
      "b__search",
      "other",
    ]);
  });

  it("also when one is a name of the user's own", () => {
    expect(
      collisionOf([{ server: "a", tool: "search" }], { prefix: "none", reserved: ["search"] }).message,
    ).toContain("naming.reserved");
    const [name] = namesOf([{ server: "a", tool: "search" }], {
      prefix: "none",
      reserved: ["search"],
      onCollision: "suffix",
    });
    expect(name).toMatch(/^search_[0-9a-f]{8}$/);
  });
});

describe("whatever servers call their tools", () => {
  const anyTools = fc.uniqueArray(
    fc.record({ server: fc.string(), tool: fc.string({ unit: "binary", maxLength: 90 }) }),
    {
      selector: ({ server, tool }) => `${server}\0${tool}`,
      maxLength: 12,
    },
  );
  const anyNaming = fc.record({
    prefix: fc.constantFrom("server", "none", "mcp"),
    invalidCharacters: fc.constantFrom("replace", "delete"),
    onCollision: fc.constantFrom("suffix", "prefix"),
  });

  it("every name is legal, unique, and the same in any order", () => {
    fc.assert(
      fc.property(anyTools, anyNaming, fc.func(fc.integer()), (tools, naming, weigh) => {
        const names = namesOf(tools, naming);
        expect(names.every((name) => LEGAL.test(name))).toBe(true);
        expect(new Set(names).size).toBe(names.length);
        const shuffled = tools.toSorted((a, b) => weigh(a) - weigh(b));
        const again = new Map(namesOf(shuffled, naming).map((name, index) => [shuffled[index], name]));
        expect(tools.map((tool) => again.get(tool))).toEqual(names);
      }),
    );
  });
});
