import { describe, expect, it, vi } from "vitest";
import type { McpToolInfo, ToolRules } from "../../../src/index.js";
import { resolveToolRules } from "../../../src/tools/resolve-tool-rules.js";
import { RuleSet } from "../../../src/tools/rule-set.js";
import { ANY_TOOL } from "../../../src/tools/tool-names.js";
import { catchConfigError } from "../../fixtures/catch-config-error.js";

function tool(name: string): McpToolInfo {
  return { name, inputSchema: { type: "object" } };
}

/** Resolves the rules of one server whose tools have the same names for models. */
async function resolve(names: readonly string[], serverRules: ToolRules, allRules: ToolRules = {}) {
  const [ofServer, ofAll] = [new RuleSet(serverRules), new RuleSet(allRules)];
  const warnings: string[] = [];
  const errors: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const targets = names.map(async (name) => {
    const info = tool(name);
    const decided = await Promise.all([ofServer.decide(info, warn), ofAll.decide(info, warn)]);
    return { server: "s", info, names: [name], decided };
  });
  const tools = await Promise.all(targets);
  const { rules, unmatched } = resolveToolRules([{ server: "s", rules: ofServer, tools }], ofAll, {
    unlistedServers: new Set(),
    toReference: () => ANY_TOOL,
    toBaseName: ({ info }) => info.name,
    error: (message) => errors.push(message),
  });
  const resolved = tools.map((target) => rules.get(target));
  return { rules: resolved.map((rule) => rule && rule.rule), unmatched, warnings, errors };
}

async function ruleFor(name: string, serverRules: ToolRules, allRules: ToolRules = {}) {
  const { rules } = await resolve([name], serverRules, allRules);
  return rules[0];
}

describe("the rule for a tool", () => {
  it("is empty without rules", async () => {
    expect(await ruleFor("get", {})).toEqual({});
  });

  it("takes each field from the most specific entry that sets it", async () => {
    const rules = {
      "*": { idempotent: false, timeoutMs: 1 },
      "get_*": { idempotent: true, timeoutMs: 2 },
      "get_user*": { timeoutMs: 3 },
      get_users: { description: "All users." },
    };
    expect(await ruleFor("get_users", rules)).toEqual({
      idempotent: true,
      timeoutMs: 3,
      description: "All users.",
    });
    expect(await ruleFor("get_it", rules)).toEqual({ idempotent: true, timeoutMs: 2 });
    expect(await ruleFor("put", rules)).toEqual({ idempotent: false, timeoutMs: 1 });
  });

  it("does not depend on the order of the entries", async () => {
    const entries = Object.entries({ "a*": { timeoutMs: 1 }, ab: { timeoutMs: 2 }, "*": { timeoutMs: 3 } });
    expect(await ruleFor("ab", Object.fromEntries(entries))).toEqual(
      await ruleFor("ab", Object.fromEntries(entries.toReversed())),
    );
  });

  it("is false for an excluded tool, and the most specific entry decides", async () => {
    expect(await ruleFor("admin_delete", { "admin_*": false })).toBe(false);
    expect(await ruleFor("admin_list", { "admin_*": false, admin_list: { timeoutMs: 5 } })).toEqual({
      timeoutMs: 5,
    });
    expect(await ruleFor("get_secret", { "get_*": { idempotent: true }, get_secret: false })).toBe(false);
  });

  it.each([
    ["an allow list with a pattern", { "*": false, "get_*": {} } as ToolRules],
    ["an allow list of names", ["get_a"] as ToolRules],
    ["an allow list with true", { "*": false, get_a: true } as ToolRules],
    ["a function that returns booleans", (({ name }) => name === "get_a") as ToolRules],
  ])("%s excludes the rest", async (_, rules) => {
    expect(await ruleFor("get_a", rules)).toEqual({});
    expect(await ruleFor("put_a", rules)).toBe(false);
  });

  it("true keeps the options of less specific entries", async () => {
    expect(await ruleFor("get_a", { "get_*": { idempotent: true }, get_a: true })).toEqual({
      idempotent: true,
    });
  });

  it("an empty list allows nothing", async () => {
    expect(await ruleFor("anything", [])).toBe(false);
  });

  it("of the server takes precedence over the one for all servers", async () => {
    const all = { "*": false, get: { timeoutMs: 9, idempotent: true } } as const;
    expect(await ruleFor("get", { get: { timeoutMs: 1 } }, all)).toEqual({ timeoutMs: 1, idempotent: true });
    expect(await ruleFor("put", { "p*": {} }, { "*": { idempotent: true } })).toEqual({ idempotent: true });
  });

  it("of the server cannot allow what the one for all servers excludes", async () => {
    expect(await ruleFor("put", { "p*": {} }, { "*": false, get: {} })).toBe(false);
    expect(await ruleFor("delete_all", { "*": { timeoutMs: 5 } }, { delete_all: false })).toBe(false);
    expect(await ruleFor("delete_all", () => undefined, { delete_all: false })).toBe(false);
    expect(await ruleFor("report", { report: { timeoutMs: 5 } }, ["other"])).toBe(false);
  });

  it("merges injected arguments one by one", async () => {
    const rule = await ruleFor("get", { get: { args: { x: 1 } } }, { "*": { args: { tenant: "t", x: 0 } } });
    expect(rule).toEqual({ args: { tenant: "t", x: 1 } });
  });

  it("ignores fields that are undefined", async () => {
    expect(await ruleFor("get", { get: { timeoutMs: undefined } as never, "*": { timeoutMs: 7 } })).toEqual({
      timeoutMs: 7,
    });
  });

  it("can come from a function; one that throws or returns an invalid rule excludes the tool with a warning", async () => {
    const ruleFunction = (info: McpToolInfo) => {
      if (info.name === "bad") throw new Error("boom");
      if (info.name === "odd") return { timeout: 5 } as never;
      return info.name === "no" ? false : undefined;
    };
    const { rules, warnings } = await resolve(["yes", "no", "bad", "odd"], ruleFunction);
    expect(rules).toEqual([{}, false, false, false]);
    expect(warnings).toEqual([expect.stringContaining("boom"), expect.stringContaining("timeout")]);
  });

  it("requires approval if either level does", async () => {
    const mayPay = () => false;
    const approvalOf = async (ofServer: unknown, ofAll: unknown) => {
      const rule = await ruleFor(
        "pay",
        { pay: { requireApproval: ofServer } as never },
        {
          "*": { requireApproval: ofAll } as never,
        },
      );
      return rule && rule.requireApproval;
    };
    expect(await approvalOf(false, true)).toBe(true);
    expect(await approvalOf(true, false)).toBe(true);
    expect(await approvalOf(false, false)).toBe(false);
    expect(await approvalOf("unless-read-only", false)).toBe("unless-read-only");
    expect(await approvalOf(mayPay, false)).toBe(mayPay);
    expect(await approvalOf(mayPay, "unless-read-only")).toBe(true);
  });
});

describe("a rules function that never decides", () => {
  it("excludes the tool after ten seconds", async () => {
    vi.useFakeTimers();
    try {
      const warnings: string[] = [];
      const rules = new RuleSet(() => new Promise(() => undefined));
      const decided = rules.decide(tool("get"), (message) => warnings.push(message));
      await vi.advanceTimersByTimeAsync(9_999);
      expect(warnings).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      expect(await decided).toMatchObject({ isExcluded: true });
      expect(warnings).toEqual([expect.stringContaining("10000 ms")]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a guard that matches nothing", () => {
  it.each([
    ["delete_al", ["delete_all"]],
    ["Delete-All", ["delete_all"]],
    ["s__delete_all", ["delete_all"]],
    ["mcp__s__delete_all", ["delete_all"]],
    ["DELETE-*", ["delete_all", "delete_one"]],
    ["delte_*", ["delete_all", "delete_one"]],
    ["gte", ["get"]],
    ["delete_on", ["delete_one"]],
    ["remove_all", []],
    ["x*", []],
  ])("%j excludes %j", async (key, excluded) => {
    const names = ["delete_all", "delete_one", "get"];
    for (const guard of [false, { requireApproval: true }] as const) {
      const { rules, errors } = await resolve(names, { [key]: guard });
      expect(names.filter((_, index) => rules[index] === false)).toEqual(excluded);
      expect(errors).toHaveLength(Math.min(excluded.length, 1));
      for (const name of excluded) expect(errors.join("\n")).toContain(`"${name}"`);
    }
  });

  it("is one error, however many tools are close to it", async () => {
    const names = Array.from({ length: 500 }, (_, n) => `pay${"_".repeat(n + 1)}all`);
    const { rules, errors } = await resolve(names, { payall: false });
    expect([rules.every((rule) => rule === false), errors.length]).toEqual([true, 1]);
    expect(errors.join().length).toBeLessThan(10_000);
  });

  it("is only reported if its rule guards nothing", async () => {
    const { rules, errors, unmatched } = await resolve(["delete_all"], { delete_al: { timeoutMs: 5 } });
    expect([rules, errors]).toEqual([[{}], []]);
    const message =
      'Server "s": the rule for "delete_al" does not match any of its tools. Did you mean "delete_all"? Tools: "delete_all".';
    expect(unmatched).toEqual([{ server: "s", message, isError: false }]);
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
  ])("%j on %j: %s", async (pattern, name, expected) => {
    expect((await ruleFor(name, { "*": false, [pattern]: {} })) !== false).toBe(expected);
  });
});

describe("unmatched keys", () => {
  it("are reported with their level", async () => {
    const { unmatched } = await resolve(["get_a"], { get_a: {}, "put_*": {}, "*": {} }, { post: {} });
    expect(unmatched).toEqual([
      {
        server: "s",
        message: 'Server "s": the rule for "put_*" does not match any of its tools. Tools: "get_a".',
        isError: false,
      },
      {
        server: undefined,
        message: 'The rule for "post" does not match a tool of any server. Tools: "get_a".',
        isError: false,
      },
    ]);
  });
});

describe("invalid rules", () => {
  it.each([
    [7, "", "rules by tool name"],
    [[7], "", "array of tool names"],
    [Object.assign([], { 1: "get" }), "", "array of tool names"],
    [{ a: { timeout: 5 } }, "a"],
    [{ a: { timeoutMs: "5" } }, "a.timeoutMs"],
    [{ a: { requireApproval: "sometimes" } }, "a.requireApproval"],
    [{ a: "yes" }, "a"],
    [{ a: new Date() }, "a"],
    [{ a: new Map() }, "a"],
    [{ a: Object.create({ requireApproval: true }) as object }, "a"],
    [{ a: Promise.resolve(false) }, "a"],
    [new Map(), "", "rules by tool name"],
  ])("%j is rejected with its path", (rules, path, words = "") => {
    expect(catchConfigError(() => new RuleSet(rules as never)).issues).toEqual([
      { path, message: expect.stringContaining(words) },
    ]);
  });
});
