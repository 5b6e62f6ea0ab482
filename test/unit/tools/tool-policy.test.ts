import { describe, expect, it } from "vitest";
import type { McpToolInfo, ToolRules } from "../../../src/index.js";
import { RuleSet, ToolPolicy } from "../../../src/tools/tool-policy.js";

function tool(name: string): McpToolInfo {
  return { name, inputSchema: { type: "object" } };
}

function ruleFor(name: string, own: ToolRules, all: ToolRules = {}) {
  return new ToolPolicy([new RuleSet(own), new RuleSet(all)], () => undefined).ruleFor(tool(name));
}

describe("the rule for a tool", () => {
  it("is empty when nobody has written one", () => {
    expect(ruleFor("get", {})).toEqual({});
  });

  it("comes field by field from the most specific entry that has it", () => {
    const rules = {
      "*": { idempotent: false, timeoutMs: 1 },
      "get_*": { idempotent: true, timeoutMs: 2 },
      "get_user*": { timeoutMs: 3 },
      get_users: { description: "All users." },
    };
    expect(ruleFor("get_users", rules)).toEqual({
      idempotent: true,
      timeoutMs: 3,
      description: "All users.",
    });
    expect(ruleFor("get_it", rules)).toEqual({ idempotent: true, timeoutMs: 2 });
    expect(ruleFor("put", rules)).toEqual({ idempotent: false, timeoutMs: 1 });
  });

  it("does not depend on the order of the entries", () => {
    const entries = Object.entries({ "a*": { timeoutMs: 1 }, ab: { timeoutMs: 2 }, "*": { timeoutMs: 3 } });
    expect(ruleFor("ab", Object.fromEntries(entries))).toEqual(
      ruleFor("ab", Object.fromEntries(entries.toReversed())),
    );
  });

  it("is false for a tool that is left out, and the most specific entry decides", () => {
    expect(ruleFor("admin_delete", { "admin_*": false })).toBe(false);
    expect(ruleFor("admin_list", { "admin_*": false, admin_list: { timeoutMs: 5 } })).toEqual({
      timeoutMs: 5,
    });
    expect(ruleFor("get_secret", { "get_*": { idempotent: true }, get_secret: false })).toBe(false);
  });

  it.each([
    ["an allow list by a star", { "*": false, "get_*": {} } as ToolRules],
    ["an allow list by names", ["get_a"] as ToolRules],
  ])("%s leaves the rest out", (_, rules) => {
    expect(ruleFor("get_a", rules)).toEqual({});
    expect(ruleFor("put_a", rules)).toBe(false);
  });

  it("an empty list allows nothing", () => {
    expect(ruleFor("anything", [])).toBe(false);
  });

  it("of the server stands before the one for all", () => {
    const all = { "*": false, get: { timeoutMs: 9, idempotent: true } } as const;
    expect(ruleFor("get", { get: { timeoutMs: 1 } }, all)).toEqual({ timeoutMs: 1, idempotent: true });
    expect(ruleFor("put", { "p*": {} }, { "*": { idempotent: true } })).toEqual({ idempotent: true });
  });

  it("of the server lets nothing in that the one for all keeps out", () => {
    expect(ruleFor("put", { "p*": {} }, { "*": false, get: {} })).toBe(false);
    expect(ruleFor("delete_all", { "*": { timeoutMs: 5 } }, { delete_all: false })).toBe(false);
    expect(ruleFor("delete_all", () => undefined, { delete_all: false })).toBe(false);
    expect(ruleFor("report", { report: { timeoutMs: 5 } }, ["other"])).toBe(false);
  });

  it("joins hidden arguments, one by one", () => {
    const rule = ruleFor("get", { get: { args: { x: 1 } } }, { "*": { args: { tenant: "t", x: 0 } } });
    expect(rule).toEqual({ args: { tenant: "t", x: 1 } });
  });

  it("takes an entry that says undefined for one that says nothing", () => {
    expect(ruleFor("get", { get: { timeoutMs: undefined } as never, "*": { timeoutMs: 7 } })).toEqual({
      timeoutMs: 7,
    });
  });

  it("may come from a function; one that throws, or gives nonsense, leaves the tool out and is told", () => {
    const warnings: string[] = [];
    const decide = (info: McpToolInfo) => {
      if (info.name === "bad") throw new Error("no idea");
      if (info.name === "odd") return { timeout: 5 } as never;
      return info.name === "no" ? false : undefined;
    };
    const policy = new ToolPolicy([new RuleSet(decide)], (message) => warnings.push(message));
    expect(["yes", "no", "bad", "odd"].map((name) => policy.ruleFor(tool(name)))).toEqual([
      {},
      false,
      false,
      false,
    ]);
    expect(warnings).toEqual([expect.stringContaining("no idea"), expect.stringContaining("timeout")]);
  });
});

describe("a pattern", () => {
  it.each([
    ["get_*", "get_", true],
    ["get_*", "get", false],
    ["*_get", "a_get", true],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["a*a", "a", false],
    ["a.c", "abc", false],
    ["(a+)+*", "(a+)+x", true],
    ["*a*a*a*a*a*b", "a".repeat(5_000), false],
  ])("%j on %j: %s", (pattern, name, expected) => {
    expect(ruleFor(name, { "*": false, [pattern]: {} }) !== false).toBe(expected);
  });
});

describe("entries that match nothing", () => {
  it("are known by name", () => {
    const rules = new RuleSet({ get_a: {}, "put_*": {}, "*": {} });
    new ToolPolicy([rules], () => undefined).ruleFor(tool("get_a"));
    expect(rules.unmetEntries()).toEqual(["put_*"]);
  });
});

describe("rules that are no rules", () => {
  it.each([
    [7, "expected rules by tool name, found a number"],
    [[7], "expected a list of tool names"],
    [{ a: { timeout: 5 } }, "a: "],
    [{ a: { timeoutMs: "5" } }, "a.timeoutMs: "],
    [{ a: { requireApproval: "sometimes" } }, 'expected true, false, "unless-read-only" or a function'],
    [{ a: true }, "a: "],
  ])("%j is refused, with its place", (rules, message) => {
    expect(() => new RuleSet(rules as never)).toThrow(message);
  });
});
