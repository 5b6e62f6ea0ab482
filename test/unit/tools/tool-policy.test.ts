import { describe, expect, it } from "vitest";
import type { McpToolInfo, ToolRules } from "../../../src/index.js";
import { resolveRule, RuleSet } from "../../../src/tools/tool-policy.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

function tool(name: string): McpToolInfo {
  return { name, inputSchema: { type: "object" } };
}

function ruleFor(name: string, serverRules: ToolRules, allRules: ToolRules = {}) {
  return resolveRule(tool(name), [new RuleSet(serverRules), new RuleSet(allRules)], () => undefined);
}

describe("the rule for a tool", () => {
  it("is empty without rules", () => {
    expect(ruleFor("get", {})).toEqual({});
  });

  it("takes each field from the most specific entry that sets it", () => {
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

  it("is false for an excluded tool, and the most specific entry decides", () => {
    expect(ruleFor("admin_delete", { "admin_*": false })).toBe(false);
    expect(ruleFor("admin_list", { "admin_*": false, admin_list: { timeoutMs: 5 } })).toEqual({
      timeoutMs: 5,
    });
    expect(ruleFor("get_secret", { "get_*": { idempotent: true }, get_secret: false })).toBe(false);
  });

  it.each([
    ["an allow list with a pattern", { "*": false, "get_*": {} } as ToolRules],
    ["an allow list of names", ["get_a"] as ToolRules],
    ["an allow list with true", { "*": false, get_a: true } as ToolRules],
    ["a function that returns booleans", (({ name }) => name === "get_a") as ToolRules],
  ])("%s excludes the rest", (_, rules) => {
    expect(ruleFor("get_a", rules)).toEqual({});
    expect(ruleFor("put_a", rules)).toBe(false);
  });

  it("true keeps the options of less specific entries", () => {
    expect(ruleFor("get_a", { "get_*": { idempotent: true }, get_a: true })).toEqual({ idempotent: true });
  });

  it("an empty list allows nothing", () => {
    expect(ruleFor("anything", [])).toBe(false);
  });

  it("of the server takes precedence over the one for all servers", () => {
    const all = { "*": false, get: { timeoutMs: 9, idempotent: true } } as const;
    expect(ruleFor("get", { get: { timeoutMs: 1 } }, all)).toEqual({ timeoutMs: 1, idempotent: true });
    expect(ruleFor("put", { "p*": {} }, { "*": { idempotent: true } })).toEqual({ idempotent: true });
  });

  it("of the server cannot allow what the one for all servers excludes", () => {
    expect(ruleFor("put", { "p*": {} }, { "*": false, get: {} })).toBe(false);
    expect(ruleFor("delete_all", { "*": { timeoutMs: 5 } }, { delete_all: false })).toBe(false);
    expect(ruleFor("delete_all", () => undefined, { delete_all: false })).toBe(false);
    expect(ruleFor("report", { report: { timeoutMs: 5 } }, ["other"])).toBe(false);
  });

  it("merges injected arguments one by one", () => {
    const rule = ruleFor("get", { get: { args: { x: 1 } } }, { "*": { args: { tenant: "t", x: 0 } } });
    expect(rule).toEqual({ args: { tenant: "t", x: 1 } });
  });

  it("ignores fields that are undefined", () => {
    expect(ruleFor("get", { get: { timeoutMs: undefined } as never, "*": { timeoutMs: 7 } })).toEqual({
      timeoutMs: 7,
    });
  });

  it("can come from a function; one that throws or returns an invalid rule excludes the tool with a warning", () => {
    const warnings: string[] = [];
    const ruleFunction = (info: McpToolInfo) => {
      if (info.name === "bad") throw new Error("boom");
      if (info.name === "odd") return { timeout: 5 } as never;
      return info.name === "no" ? false : undefined;
    };
    const ruleSets = [new RuleSet(ruleFunction)];
    const resolve = (name: string) => resolveRule(tool(name), ruleSets, (message) => warnings.push(message));
    expect(["yes", "no", "bad", "odd"].map(resolve)).toEqual([{}, false, false, false]);
    expect(warnings).toEqual([expect.stringContaining("boom"), expect.stringContaining("timeout")]);
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

describe("unmatched patterns", () => {
  it("are reported by name", () => {
    const rules = new RuleSet({ get_a: {}, "put_*": {}, "*": {} });
    resolveRule(tool("get_a"), [rules], () => undefined);
    expect(rules.unmatchedPatterns()).toEqual(["put_*"]);
  });
});

describe("invalid rules", () => {
  it.each([
    [7, "", "rules by tool name"],
    [[7], "", "array of tool names"],
    [{ a: { timeout: 5 } }, "a"],
    [{ a: { timeoutMs: "5" } }, "a.timeoutMs"],
    [{ a: { requireApproval: "sometimes" } }, "a.requireApproval"],
    [{ a: "yes" }, "a"],
  ])("%j is rejected with its path", (rules, path, words = "") => {
    expect(catchConfigError(() => new RuleSet(rules as never)).issues).toEqual([
      { path, message: expect.stringContaining(words) },
    ]);
  });
});
