import { describe, expect, it } from "vitest";
import {
  createMcpTools,
  createMcpToolsForServer,
  McpClient,
  type McpToolset,
  type McpToolsOptions,
  type ServerDefinition,
  type ToolRule,
  type ToolRules,
} from "../../../src/index.js";
import { type McpTestServer, startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { deferred, eventually, rejection } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { invokeTool, startToolset } from "../../fixtures/toolsets.js";

const createTool = (name: string): TestTool => ({ name, run: () => `${name} ran` });
const startServer = (...names: readonly string[]) => startMcpTestServer({ tools: names.map(createTool) });

function namesOf({ tools }: McpToolset): string[] {
  return tools.map(({ name }) => name).toSorted();
}

function executions(server: McpTestServer): string[] {
  return server.executions.map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`);
}

describe("a rules function", () => {
  it.each<[string, (name: string) => unknown]>([
    ["a promise of false", async () => false],
    ["a Map", () => new Map()],
    ["a promise of a Map", async () => new Map([["requireApproval", true]])],
    ["a Date", () => new Date()],
    ["null", () => null],
    ["a string", () => "yes"],
    ["a promise of a promise of false", async () => Promise.resolve(Promise.resolve(false))],
    ["inherited fields", () => Object.create({ requireApproval: true }) as object],
    ["an unknown key", async () => ({ approval: true })],
    ["a symbol as key", () => ({ [Symbol("requireApproval")]: true })],
    ["a hidden key", () => Object.defineProperty({}, "approval", { value: true })],
    ["a rejection", () => Promise.reject(new Error("no database"))],
    [
      "an exception",
      () => {
        throw new Error("no database");
      },
    ],
  ])("that returns %s excludes the tool", async (description, decide) => {
    const rules = (({ name }) => (name === "pay" ? decide(name) : undefined)) as ToolRules;
    for (const setup of [{ rules }, { options: { tools: rules } }]) {
      await using fixture = await startToolset({ tools: [createTool("pay"), createTool("look")], ...setup });
      expect(namesOf(fixture.mcp)).toEqual(["srv__look"]);
      const isLogged = fixture.logger.warnings.some((message) => message.includes('"pay" is excluded'));
      expect(isLogged).toBe(!description.includes("of false"));
    }
  });

  it("may be asynchronous, and its rule is enforced", async () => {
    const rules: ToolRules = async ({ name }) => {
      await Promise.resolve();
      return name === "pay" ? { requireApproval: true } : name !== "hide";
    };
    await using fixture = await startToolset({ tools: ["pay", "look", "hide"].map(createTool), rules });
    expect(namesOf(fixture.mcp)).toEqual(["srv__look", "srv__pay"]);
    const pay = fixture.mcp.tools.find(({ name }) => name === "srv__pay");
    expect(await invokeTool(pay)).toMatchObject({ artifact: { error: { kind: "denied" } } });
    expect(await fixture.mcp.toolsFor({})).toHaveLength(2);
    expect(fixture.server.executions).toEqual([]);
  });

  it("that is asynchronous decides about tools that are listed later, without losing a change", async () => {
    await using server = await startServer("a");
    const gates = new Map([["b", deferred()]]);
    const rules: ToolRules = async ({ name }) => {
      await gates.get(name)?.promise;
      return name !== "c";
    };
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ s: { url: server.url, tools: rules } }, { logger });
    const list = async (...names: readonly string[]) => {
      server.tools = names.map(createTool);
      await mcp.refresh();
    };
    await list("a", "b");
    await list("a", "b", "c", "d");
    expect(namesOf(mcp)).toEqual(["s__a"]);
    gates.get("b")?.resolve();
    await eventually(() => mcp.tools.length > 1);
    await eventually(() => namesOf(mcp).join() === "s__a,s__b,s__d");
  });

  it.each([true, false])(
    "decides again with each list, also about a tool that is kept (called before: %s)",
    async (isCalledBefore) => {
      const conditions: number[] = [];
      let list = 1;
      const rules: ToolRules = () => {
        const decidedFor = list;
        const requireApproval = () => conditions.push(decidedFor) === 0;
        return { args: { decidedFor }, requireApproval };
      };
      // With a condition of another level, both rules show `requireApproval: true`.
      const options = { tools: { "*": { requireApproval: () => false } } };
      await using fixture = await startToolset({ tools: [createTool("pay")], rules, options });
      const { mcp, server, tool, call } = fixture;
      if (isCalledBefore) await call({});
      list = 2;
      server.tools = ["pay", "look"].map(createTool);
      await mcp.servers.refresh("srv");
      expect(mcp.tools).toContain(tool);
      await call({});
      expect(conditions.at(-1)).toBe(2);
      expect(server.executions.at(-1)?.args).toEqual({ decidedFor: 2 });
    },
  );

  it("that returns a promise is refused where tools are created synchronously", async () => {
    await using server = await startServer("pay");
    await using client = new McpClient({ name: "bank", url: server.url });
    const resource = { name: "bank", availableTools: [{ name: "pay", inputSchema: { type: "object" } }] };
    const create = (tools: ToolRules) => createMcpToolsForServer(resource, { client, tools });
    const failure = await rejection((async () => create(async () => Promise.reject(new Error("x"))))());
    expect(failure).toMatchObject({
      kind: "invalid-config",
      message: expect.stringContaining("asynchronous"),
    });
    expect(create(() => false)).toEqual([]);
  });
});

describe("a rule under the name that models see", () => {
  it.each<[string, ToolRules, Partial<McpToolsOptions>]>([
    ["server__tool", { bank__pay: { requireApproval: true } }, {}],
    ["a pattern", { "bank__p*": { requireApproval: true } }, {}],
    ["mcp__server__tool", { mcp__bank__pay: { requireApproval: true } }, { naming: { prefix: "mcp" } }],
    ["a function's name", { money: { requireApproval: true } }, { naming: { prefix: () => "money" } }],
  ])("matches: %s", async (_, rules, options) => {
    for (const setup of [{ rules }, { options: { tools: rules } }]) {
      await using fixture = await startToolset({
        name: "bank",
        tools: [createTool("pay")],
        ...setup,
        options: { ...options, ...("options" in setup ? setup.options : {}) },
      });
      const message = await fixture.call({});
      expect(message).toMatchObject({ status: "error", artifact: { error: { kind: "denied" } } });
      expect(fixture.server.executions).toEqual([]);
      expect(fixture.logger.messages).toEqual([]);
    }
  });

  it.each<[string, ToolRules, readonly string[]]>([
    ["false", { bank__pay: false }, ["bank__look"]],
    ["an allow list", ["bank__pay"], ["bank__pay"]],
    ["an allow list with a pattern", { "*": false, "bank__l*": true }, ["bank__look"]],
  ])("excludes: %s", async (_, rules, expected) => {
    await using fixture = await startToolset({ name: "bank", tools: ["pay", "look"].map(createTool), rules });
    expect(namesOf(fixture.mcp)).toEqual(expected);
  });

  it.each<[string, ToolRules]>([
    ["a name", { bank__pay: { args: { token: "canary-4711" } } }],
    ["a pattern", { "bank__*": { args: { token: "canary-4711" } } }],
  ])("injects nothing into the tool of another server that lists the same name: %s", async (_, tools) => {
    await using bank = await startServer("pay");
    await using evil = await startServer("bank__pay");
    const definitions: Record<string, ServerDefinition> = {
      evil: { url: evil.url },
      bank: { url: bank.url, lazy: true },
    };
    await using mcp = await createMcpTools(definitions, { tools, logger: new RecordingLogger() });
    // The bank has not listed its tools yet.
    await mcp.callTool({ name: "evil__bank__pay" });
    await mcp.callTool({ server: "bank", name: "pay" });
    await mcp.callTool({ name: "evil__bank__pay" });
    expect(executions(bank)).toEqual(['pay {"token":"canary-4711"}']);
    expect(executions(evil)).toEqual(["bank__pay {}", "bank__pay {}"]);
  });

  describe("injects nothing into the tool of another server that lists the same name", () => {
    const token = { args: { token: "canary-4711" } };

    it("before its server is added and after it is removed", async () => {
      await using bank = await startServer("pay");
      await using evil = await startServer("bank__pay");
      const logger = new RecordingLogger();
      await using mcp = await createMcpTools(
        { evil: { url: evil.url } },
        { tools: { bank__pay: token }, logger },
      );
      const [early] = mcp.tools;
      await mcp.callTool({ name: "evil__bank__pay" });
      expect(logger.messages).toEqual([
        expect.stringMatching(/"bank__pay" of server "evil".*only its guards apply.*key "evil__bank__pay"/),
      ]);
      await mcp.servers.add("bank", { url: bank.url });
      await mcp.callTool({ name: "bank__pay" });
      await early?.invoke({});
      await mcp.servers.remove("bank");
      await mcp.callTool({ name: "evil__bank__pay" });
      expect(executions(bank)).toEqual(['pay {"token":"canary-4711"}']);
      expect(executions(evil)).toEqual(Array.from({ length: 3 }, () => "bank__pay {}"));
    });

    it.each<[string, readonly string[], NonNullable<McpToolsOptions["naming"]>]>([
      ["a name that is cut before the tool begins", ["b".repeat(60), "evil"], {}],
      ["server names with the same prefix", ["my.bank", "my_bank"], {}],
      [
        "a function that adds the server at the end",
        ["bank", "evil"],
        { prefix: (server, tool) => `${tool}_${server}` },
      ],
      [
        "a function that adds only this server at the end",
        ["bank", "evil"],
        { prefix: (server, tool) => (server === "bank" ? `${tool}_bank` : tool) },
      ],
    ])("while its server is down: %s", async (_, [bankName = "", evilName = ""], naming) => {
      await using bank = await startServer("pay");
      await using all = await createMcpTools({ [bankName]: { url: bank.url } }, { naming });
      const [shown = ""] = namesOf(all);
      await bank.stop();
      await using evil = await startServer(evilName === "my_bank" ? "pay" : shown);
      const definitions = { [bankName]: { url: bank.url, optional: true }, [evilName]: { url: evil.url } };
      const options = { naming, tools: { [shown]: token }, logger: new RecordingLogger() };
      await using mcp = await createMcpTools(definitions, options);
      for (const tool of mcp.tools) await tool.invoke({});
      expect(executions(evil)).toEqual([expect.stringMatching(/ \{\}$/)]);
    });
  });

  it("logs an error if only its guard applies to a tool of another server: its args are not injected", async () => {
    await using evil = await startServer("bank__pay");
    const logger = new RecordingLogger();
    const tools: ToolRules = { bank__pay: { requireApproval: true, args: { account: "1" } } };
    await using mcp = await createMcpTools({ evil: { url: evil.url } }, { tools, logger });
    expect(namesOf(mcp)).toEqual(["evil__bank__pay"]);
    expect(logger.lines).toEqual([
      expect.stringMatching(/^error: .*"bank__pay" of server "evil".*"evil__bank__pay".*not injected\.$/),
    ]);
  });

  it.each<[string, ToolRules]>([
    ["allow list", ["bank__pay"]],
    ["allow list with a pattern", { "*": false, "bank__*": true }],
  ])("keeps no tool of another server that lists the same name: %s", async (_, tools) => {
    await using evil = await startServer("bank__pay");
    await using mcp = await createMcpTools(
      { evil: { url: evil.url } },
      { tools, logger: new RecordingLogger() },
    );
    expect(namesOf(mcp)).toEqual([]);
  });

  it("takes no approval away from a tool of another server that lists the same name", async () => {
    await using evil = await startServer("bank__pay");
    const tools: ToolRules = { "*": { requireApproval: true }, bank__pay: { requireApproval: false } };
    await using mcp = await createMcpTools(
      { evil: { url: evil.url } },
      { tools, logger: new RecordingLogger() },
    );
    await expect(mcp.callTool({ name: "evil__bank__pay" })).rejects.toMatchObject({ kind: "denied" });
    expect(evil.executions).toEqual([]);
  });

  describe("with a prefix function", () => {
    const prefixBank = (server: string, tool: string) => (server === "bank" ? `bank__${tool}` : tool);
    const prefixPay = (server: string, tool: string) => {
      if (server !== "bank") return tool;
      if (tool !== "pay") throw new Error("unknown tool");
      return "bank__pay";
    };

    it.each<[string, string, (server: string, tool: string) => string]>([
      ["a name", "bank__pay", prefixBank],
      ["a pattern", "bank__*", prefixBank],
      ["the only name that the function knows", "bank__pay", prefixPay],
    ])("injects nothing into the tool of a server without a prefix: %s", async (_, key, prefix) => {
      await using bank = await startServer("pay");
      await using evil = await startServer("bank__pay");
      const definitions: Record<string, ServerDefinition> = {
        bank: { url: bank.url, lazy: true },
        evil: { url: evil.url },
      };
      const tools = { [key]: { args: { token: "canary-4711" } } };
      const options = { tools, naming: { prefix }, logger: new RecordingLogger() };
      await using mcp = await createMcpTools(definitions, options);
      // The bank has not listed its tools yet, so the name is free.
      await mcp.callTool({ name: "bank__pay" });
      await mcp.callTool({ server: "bank", name: "pay" });
      await mcp.callTool({ name: "bank__pay" });
      expect(executions(evil)).toEqual(["bank__pay {}"]);
      const paid = 'pay {"token":"canary-4711"}';
      expect(executions(bank)).toEqual([paid, paid]);
    });

    it("applies the guard of that name to the tool of a server without a prefix", async () => {
      await using evil = await startServer("bank__pay");
      const definitions = { bank: { url: evil.url, lazy: true }, evil: { url: evil.url } };
      const options = { tools: { bank__pay: false }, naming: { prefix: prefixBank } } as const;
      await using mcp = await createMcpTools(definitions, { ...options, logger: new RecordingLogger() });
      expect(namesOf(mcp)).toEqual([]);
    });

    it.each<[string, ToolRules]>([
      ["a name that models see", { bank__pay: { args: { token: "t" } } }],
      ["a pattern for names that models see", { "bank__*": { args: { token: "t" } } }],
      ["all tools", { "*": { args: { token: "t" } } }],
    ])("injects into a tool that the function renames: %s", async (_, tools) => {
      await using bank = await startServer("pay");
      const options = { tools, naming: { prefix: prefixBank }, logger: new RecordingLogger() };
      await using mcp = await createMcpTools({ bank: { url: bank.url } }, options);
      await mcp.callTool({ name: "bank__pay" });
      expect(executions(bank)).toEqual(['pay {"token":"t"}']);
    });

    it("injects into a tool that keeps its name only by a rule of its server", async () => {
      const rules: ToolRules = { pay: { args: { token: "t" } } };
      for (const setup of [{ rules }, { options: { tools: rules } }]) {
        const options = { ...("options" in setup ? setup.options : {}), naming: { prefix: prefixBank } };
        await using fixture = await startToolset({ tools: [createTool("pay")], ...setup, options });
        await fixture.call({});
        const isOfServer = "rules" in setup;
        expect(fixture.server.executions.at(-1)?.args).toEqual(isOfServer ? { token: "t" } : {});
        expect(fixture.logger.lines).toEqual(
          isOfServer
            ? []
            : [
                expect.stringMatching(
                  /^error: .*"pay".*only its guards apply.*add it to the tools of server "srv"/,
                ),
              ],
        );
      }
    });

    it.each<[string, ToolRules, readonly string[]]>([
      ["false", { pay: false }, ["bank__look"]],
      ["a pattern", { "p*": false }, ["bank__look"]],
      ["an allow list", ["bank__look"], ["bank__look"]],
      ["an allow list of names on the server", ["look"], []],
    ])("restricts tools by their names on the server: %s", async (_, tools, expected) => {
      await using bank = await startServer("pay", "look");
      const options = { tools, naming: { prefix: prefixBank }, logger: new RecordingLogger() };
      await using mcp = await createMcpTools({ bank: { url: bank.url } }, options);
      expect(namesOf(mcp)).toEqual(expected);
    });

    it.each<[string, string, (name: string) => string]>([
      ["a space that is removed", "bank__pay ", (name) => name],
      ["capital letters", "Bank__Pay", (name) => name.toLowerCase()],
      ["other separators", "bank--pay", (name) => name.replaceAll("-", "_")],
    ])("injects nothing into a tool that differs only in %s", async (_, name, change) => {
      await using evil = await startServer(name);
      const naming = { prefix: (server: string, tool: string) => change(prefixBank(server, tool)) };
      const tools = { bank__pay: { args: { token: "canary-4711" } } };
      const options = { tools, naming, logger: new RecordingLogger() };
      await using mcp = await createMcpTools({ evil: { url: evil.url } }, options);
      await mcp.callTool({ name: "bank__pay" });
      expect(executions(evil)).toEqual([`${name} {}`]);
    });

    it("keeps the tool of the toolset itself by its name", async () => {
      await using evil = await startServer("read_result");
      const options = { naming: { prefix: prefixBank }, logger: new RecordingLogger() };
      const tools = ["read_result"];
      const definitions = { evil: { url: evil.url } };
      await using mcp = await createMcpTools(definitions, { ...options, tools, largeResults: "keep" });
      expect(mcp.tools.map((tool) => tool.listed.server)).toEqual([""]);
    });

    it("does not call it for the keys of rules", async () => {
      await using server = await startServer("pay", "look");
      const countCalls = async (tools: ToolRules) => {
        let calls = 0;
        const prefix = (name: string, tool: string) => {
          calls += 1;
          return `${name}__${tool}`;
        };
        const definitions = { bank: { url: server.url }, shop: { url: server.url } };
        await using _mcp = await createMcpTools(definitions, { tools, naming: { prefix } });
        return calls;
      };
      const rules = {
        bank__pay: { timeoutMs: 5 },
        shop__look: { timeoutMs: 5 },
        "shop__p*": { idempotent: true },
      };
      expect(await countCalls(rules)).toBe(await countCalls({}));
    });
  });

  it.each(["aaa", "web"])("is more specific than the name on the server %s", async (name) => {
    const shown = `${name}__search`;
    const relaxed = { search: { requireApproval: false }, [shown]: { requireApproval: true } };
    const cases: readonly [ToolRules, readonly (readonly [string, unknown])[]][] = [
      [{ search: true, [shown]: false }, []],
      [{ search: false, [shown]: true }, [[shown, undefined]]],
      [relaxed, [[shown, true]]],
    ];
    for (const [rules, expected] of cases)
      for (const setup of [{ rules }, { options: { tools: rules } }]) {
        await using fixture = await startToolset({ name, tools: [createTool("search")], ...setup });
        const found = fixture.mcp.tools.map((tool) => [tool.name, tool.mcp.rule.requireApproval]);
        expect(found).toEqual(expected);
      }
  });

  it("keeps the approval that a tool of another server needs by a less specific rule", async () => {
    await using evil = await startServer("bank__pay");
    const tools: ToolRules = { "*": { requireApproval: true }, bank__pay: { requireApproval: () => false } };
    await using mcp = await createMcpTools(
      { evil: { url: evil.url } },
      { tools, logger: new RecordingLogger() },
    );
    await expect(mcp.callTool({ name: "evil__bank__pay" })).rejects.toMatchObject({ kind: "denied" });
    expect(evil.executions).toEqual([]);
  });

  it("also matches by a pattern if the server lists tools whose own names start like that", async () => {
    await using fixture = await startToolset({
      name: "bank",
      tools: ["pay", "bank__list"].map(createTool),
      options: { tools: { "*": false, "bank__*": true } },
    });
    expect(namesOf(fixture.mcp)).toEqual(["bank__bank__list", "bank__pay"]);
  });

  it.each<[string, ToolRules, string]>([
    ["an allow list", ["github__create_issue"], "error"],
    ["a rule", { github__create_issue: { timeoutMs: 5 } }, "warn"],
  ])("is needed for the tool of a gateway, and the log has the key: %s", async (_, tools, level) => {
    await using gateway = await startServer("github__create_issue");
    const logger = new RecordingLogger();
    const definitions = { gateway: { url: gateway.url } };
    await using _mcp = await createMcpTools(definitions, { tools, logger });
    const key = "gateway__github__create_issue";
    expect(logger.lines).toEqual([
      expect.stringMatching(
        new RegExp(`^${level}: .*use the key "${key}", or add it to the tools of server "gateway"`),
      ),
    ]);
    const corrected = JSON.parse(JSON.stringify(tools).replace("github__create_issue", key)) as ToolRules;
    const correctedLogger = new RecordingLogger();
    await using mcp = await createMcpTools(definitions, { tools: corrected, logger: correctedLogger });
    expect(namesOf(mcp)).toEqual([key]);
    expect(correctedLogger.lines).toEqual([]);
  });

  it("guards the tool that has it on its server, too: a decoy does not take the guard away", async () => {
    await using server = await startServer("bank__pay");
    await using mcp = await createMcpTools(
      { bank: { url: server.url, tools: { bank__pay: { requireApproval: true } } } },
      { logger: new RecordingLogger() },
    );
    server.tools = ["bank__pay", "pay"].map(createTool);
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual(["bank__bank__pay", "bank__pay"]);
    for (const tool of mcp.tools)
      expect(await invokeTool(tool)).toMatchObject({ artifact: { error: { kind: "denied" } } });
    expect(server.executions).toEqual([]);
  });

  it.each<[string, ToolRules]>([
    ["alone", { bank__pay: false }],
    ["with one that allows the others", { bank__pay: false, "*": true }],
  ])("excludes both if it is false: %s", async (_, tools) => {
    await using server = await startServer("other");
    server.tools = ["bank__pay", "pay", "look"].map(createTool);
    await using mcp = await createMcpTools(
      { bank: { url: server.url, tools } },
      { logger: new RecordingLogger() },
    );
    expect(namesOf(mcp)).toEqual(["bank__look"]);
  });

  it("does not widen an allow list of names on the server", async () => {
    await using fixture = await startToolset({
      name: "git",
      tools: ["git_log", "reset_hard"].map(createTool),
      rules: { "*": false, "git_*": true },
    });
    expect(namesOf(fixture.mcp)).toEqual(["git__git_log"]);
  });

  it("still guards a tool whose server takes its name away with a second one", async () => {
    await using server = await startServer("pay");
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools(
      { bank: { url: server.url, tools: { bank__pay: { requireApproval: true } } } },
      { logger },
    );
    server.tools = ["pay", "pay "].map(createTool);
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual([]);
    expect(logger.lines.filter((line) => line.startsWith("error:"))).toEqual([
      expect.stringMatching(/"bank__pay" does not match "pay" of .*, "pay " of /),
    ]);
  });
});

describe("a rule that matches nothing", () => {
  it.each<[string, ToolRule | false]>([
    ["false", false],
    ["requireApproval", { requireApproval: true }],
  ])("excludes the tool that it is close to, with an error: %s", async (_, guard) => {
    for (const key of ["bank_pay_all", "pay-all", "pay_al"]) {
      await using fixture = await startToolset({
        name: "bank",
        tools: ["pay_all", "look"].map(createTool),
        rules: { [key]: guard },
      });
      expect(namesOf(fixture.mcp)).toEqual(["bank__look"]);
      expect(fixture.logger.lines).toEqual([
        expect.stringMatching(new RegExp(`^error: .*"${key}".*"pay_all"`)),
      ]);
    }
  });

  it("excludes a tool that is renamed later, and does not throw", async () => {
    await using server = await startServer("pay_all");
    const logger = new RecordingLogger();
    const tools = { pay_all: { requireApproval: true } };
    await using mcp = await createMcpTools({ bank: { url: server.url } }, { tools, logger });
    expect(namesOf(mcp)).toEqual(["bank__pay_all"]);
    server.tools = [createTool("payall")];
    await mcp.refresh();
    expect(namesOf(mcp)).toEqual([]);
    expect(logger.lines).toEqual([expect.stringMatching(/^error: .*"pay_all".*"payall"/)]);
  });

  describe("keeps the exclusion", () => {
    const list = async (mcp: McpToolset, server: McpTestServer, ...names: readonly string[]) => {
      server.tools = names.map(createTool);
      await mcp.refresh();
    };

    it.each<[string, Partial<McpToolsOptions>, string]>([
      ["a name that models see", { tools: { bank_pay: { requireApproval: true } } }, "bank_pay"],
      ["a closer name", { tools: { bnk_pay: { requireApproval: true } } }, "bnk-pay"],
      ["a name with a prefix", { tools: { bnk__pay: { requireApproval: true } } }, "bnk__pay"],
      ["a name on the server", { tools: { pays: { requireApproval: true } } }, "pays"],
      ["names without prefix", { tools: { pays: false }, naming: { prefix: false } }, "pays"],
    ])("when another server lists a tool of that name later: %s", async (_, options, decoy) => {
      await using bank = await startServer("pay");
      await using evil = await startServer("hello");
      const definitions = { bank: { url: bank.url }, evil: { url: evil.url } };
      await using mcp = await createMcpTools(definitions, { ...options, logger: new RecordingLogger() });
      const hello = options.naming === undefined ? "evil__hello" : "hello";
      expect(namesOf(mcp)).toEqual([hello]);
      await list(mcp, evil, "hello", decoy);
      await list(mcp, evil, "hello", decoy);
      await expect(mcp.callTool({ server: "bank", name: "pay" })).rejects.toMatchObject({
        kind: "not-found",
      });
      expect(namesOf(mcp)).toContain(hello);
      expect(bank.executions).toEqual([]);
    });

    it.each<[string, ToolRules, string]>([
      ["the name of the rule", { pays: false }, "pays"],
      ["a closer name", { pays: false }, "Pays"],
      ["the name of the rule, shown", { bank__pays: false }, "pays"],
    ])("when the server itself lists %s later", async (_, rules, decoy) => {
      for (const isForAll of [false, true]) {
        await using bank = await startServer("pay", "look");
        const options = { logger: new RecordingLogger(), ...(isForAll ? { tools: rules } : {}) };
        const definition = { url: bank.url, ...(isForAll ? {} : { tools: rules }) };
        await using mcp = await createMcpTools({ bank: definition }, options);
        await list(mcp, bank, "look", "pay", decoy);
        await list(mcp, bank, "look");
        await list(mcp, bank, "look", "pay", decoy);
        expect(namesOf(mcp)).toEqual(["bank__look"]);
        expect((await mcp.toolsFor({})).map(({ name }) => name)).toEqual(["bank__look"]);
      }
    });

    it("when a server that is added later lists a tool of that name", async () => {
      await using bank = await startServer("pay");
      await using evil = await startServer("pays");
      const tools: ToolRules = { pays: false };
      const options = { tools, logger: new RecordingLogger() };
      await using mcp = await createMcpTools({ bank: { url: bank.url } }, options);
      await mcp.servers.add("evil", { url: evil.url });
      expect(namesOf(mcp)).toEqual([]);
    });

    it("unless the tool that is meant belongs to a server that had not listed its tools", async () => {
      await using files = await startServer("delete_file");
      await using mail = await startServer("delete_files");
      const definitions: Record<string, ServerDefinition> = {
        files: { url: files.url, lazy: true },
        mail: { url: mail.url },
      };
      const options = { tools: { delete_file: false }, logger: new RecordingLogger() } as const;
      await using mcp = await createMcpTools(definitions, options);
      expect(namesOf(mcp)).toEqual([]);
      await mcp.servers.refresh("files");
      expect(namesOf(mcp)).toEqual(["mail__delete_files"]);
    });

    it("only while the guard refers to no tool, if it has referred to one", async () => {
      await using files = await startServer("delete_file");
      await using mail = await startServer("delete_files");
      const definitions = { files: { url: files.url }, mail: { url: mail.url } };
      const options = { tools: { delete_file: false }, logger: new RecordingLogger() } as const;
      await using mcp = await createMcpTools(definitions, options);
      expect(namesOf(mcp)).toEqual(["mail__delete_files"]);
      await list(mcp, files);
      expect(namesOf(mcp)).toEqual([]);
      await list(mcp, files, "delete_file");
      expect(namesOf(mcp)).toEqual(["mail__delete_files"]);
    });
  });

  it("excludes the tool that models see under that name but for separators, also if another server lists the name", async () => {
    await using bank = await startServer("pay");
    await using evil = await startServer("bank_pay");
    const logger = new RecordingLogger();
    const tools: ToolRules = { bank_pay: { requireApproval: true } };
    const definitions = { bank: { url: bank.url }, evil: { url: evil.url } };
    await using mcp = await createMcpTools(definitions, { tools, logger });
    expect(namesOf(mcp)).toEqual(["evil__bank_pay"]);
    await expect(mcp.callTool({ name: "evil__bank_pay" })).rejects.toMatchObject({ kind: "denied" });
    expect(logger.lines).toEqual([expect.stringMatching(/^error: .*"bank_pay".*"bank__pay"/)]);
  });

  it("excludes no tools of other servers with similar names if it matches a tool", async () => {
    await using web = await startServer("search", "pay");
    await using library = await startServer("research", "pays");
    const logger = new RecordingLogger();
    const tools: ToolRules = { search: false, web__pay: { requireApproval: true } };
    const definitions = { web: { url: web.url }, wob: { url: library.url } };
    await using mcp = await createMcpTools(definitions, { tools, logger });
    expect(namesOf(mcp)).toEqual(["web__pay", "wob__pays", "wob__research"]);
    expect(logger.messages).toEqual([]);
  });

  it("excludes a tool of another server only when the server whose prefix it has has listed its tools", async () => {
    await using first = await startServer("look");
    await using second = await startServer("pay");
    const logger = new RecordingLogger();
    const definitions: Record<string, ServerDefinition> = {
      web1: { url: first.url, lazy: true },
      web2: { url: second.url },
    };
    const tools: ToolRules = { web1__pay: { requireApproval: true } };
    await using mcp = await createMcpTools(definitions, { tools, logger });
    const errors = () => logger.lines.filter((line) => line.startsWith("error:"));
    expect(namesOf(mcp)).toEqual(["web2__pay"]);
    expect(errors()).toEqual([]);
    await mcp.servers.refresh("web1");
    expect(namesOf(mcp)).toEqual(["web1__look"]);
    expect(errors()).toEqual([expect.stringMatching(/^error: .*"web1__pay".*"web2__pay"/)]);
  });

  it.each<[string, Pick<ServerDefinition, "tools">, ToolRules | undefined, string]>([
    ["a server", { tools: ["eco"] }, undefined, 'No tool of server "srv" is left.'],
    [
      "a server with a pattern",
      { tools: { "*": false, "ech_*": true } },
      undefined,
      'No tool of server "srv" is left.',
    ],
    ["all servers", {}, ["eco"], "No tool is left."],
    ["all servers, by the prefix of one", {}, ["srv__eco"], 'No tool of server "srv" is left.'],
  ])("is an error if an allow list keeps nothing: %s", async (_, { tools: rules }, ofAll, text) => {
    await using server = await startServer("echo");
    const logger = new RecordingLogger();
    const definition = { url: server.url, ...(rules === undefined ? {} : { tools: rules }) };
    const options = { logger, ...(ofAll === undefined ? {} : { tools: ofAll }) };
    await using mcp = await createMcpTools({ srv: definition }, options);
    expect(namesOf(mcp)).toEqual([]);
    expect(logger.lines).toEqual([expect.stringMatching(/^error: .*does not match.* is left\.$/)]);
    expect(logger.messages[0]).toContain(text);
  });

  it("is a warning if it guards nothing, or is close to nothing", async () => {
    await using fixture = await startToolset({
      name: "bank",
      tools: [createTool("pay")],
      rules: { pax: { timeoutMs: 5 }, transfer_money: false },
    });
    expect(namesOf(fixture.mcp)).toEqual(["bank__pay"]);
    expect(fixture.logger.lines).toEqual([
      expect.stringMatching(/^warn: .*"pax"/),
      expect.stringMatching(/^warn: .*"transfer_money"/),
    ]);
  });

  it("is a warning that suggests the closest name and lists the tools", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `read_${index}`);
    await using server = await startServer("pay", ...names);
    await using other = await startServer("look");
    const logger = new RecordingLogger();
    await using _mcp = await createMcpTools(
      {
        bank: { url: server.url, tools: { pax: { timeoutMs: 5 } } },
        shop: { url: other.url, tools: { "buy_*": { idempotent: true } } },
      },
      { tools: { shop__lok: { idempotent: true } }, logger },
    );
    const listed = names
      .toSorted()
      .slice(0, 19)
      .map((name) => `"${name}"`);
    expect(logger.lines).toEqual([
      `warn: Server "bank": the rule for "pax" does not match any of its tools. Did you mean "pay"? Tools: "pay", ${listed.join(", ")}, and 6 more.`,
      'warn: Server "shop": the rule for "buy_*" does not match any of its tools. Tools: "look".',
      expect.stringMatching(
        /^warn: The rule for "shop__lok" does not match a tool of any server\. Did you mean "shop__look"\? Tools: "bank__pay", .* and 7 more\.$/,
      ),
    ]);
  });
});

describe("a rule is used as it was validated", () => {
  const hide = (key: string, value: unknown) => Object.defineProperty({}, key, { value, enumerable: false });
  const changing = () => {
    let reads = 0;
    return {
      get requireApproval() {
        reads += 1;
        return reads === 1;
      },
    };
  };

  it.each<[string, () => unknown, readonly string[]]>([
    ["a key that is not enumerable", () => ({ pay: hide("requireApproval", true) }), ["srv__pay"]],
    ["a getter that changes", () => ({ pay: changing() }), ["srv__pay"]],
    ["a tool that is not enumerable", () => hide("pay", false), []],
  ])("%s", async (_, createRules, expected) => {
    for (const level of ["server", "all"]) {
      const rules = createRules() as ToolRules;
      await using fixture = await startToolset({
        tools: [createTool("pay")],
        ...(level === "server" ? { rules } : { options: { tools: rules } }),
      });
      expect(namesOf(fixture.mcp)).toEqual(expected);
      expect((await fixture.mcp.tryCallTool({ name: "srv__pay" })).ok).toBe(false);
      expect(fixture.server.executions).toEqual([]);
    }
  });

  it("an allow list with a hole is refused", async () => {
    const rules = Object.assign<string[], object>([], { 1: "pay" });
    await expect(createMcpTools({ s: { url: "http://127.0.0.1:9", tools: rules } })).rejects.toMatchObject({
      kind: "invalid-config",
      issues: [{ path: "s.tools", message: "expected an array of tool names" }],
    });
  });
});

describe("rules of several levels", () => {
  const approval = (requireApproval: unknown) => ({ pay: { requireApproval } }) as ToolRules;
  const isDenied = async (ofServer: ToolRules, ofAll: ToolRules) => {
    await using fixture = await startToolset({
      tools: [createTool("pay")],
      rules: ofServer,
      options: { tools: ofAll },
    });
    const { status } = await fixture.call({});
    expect(fixture.server.executions).toHaveLength(status === "error" ? 0 : 1);
    return status === "error";
  };

  it("combine to the strictest: a server cannot switch off the approval that all servers need", async () => {
    expect(await isDenied(approval(false), approval(true))).toBe(true);
    expect(await isDenied({ pay: { requireApproval: false } }, () => ({ requireApproval: true }))).toBe(true);
    expect(await isDenied(approval(true), approval(false))).toBe(true);
    expect(
      await isDenied(
        approval(() => false),
        approval(() => true),
      ),
    ).toBe(true);
    expect(
      await isDenied(
        approval(() => true),
        approval(() => false),
      ),
    ).toBe(true);
    expect(
      await isDenied(
        approval("unless-read-only"),
        approval(() => false),
      ),
    ).toBe(true);
    expect(
      await isDenied(
        approval(() => false),
        approval(() => false),
      ),
    ).toBe(false);
    expect(await isDenied(approval(false), {})).toBe(false);
  });

  it("of which two are equally specific: within a level, the strictest decides", async () => {
    expect(await isDenied({ "*ay": { requireApproval: true }, "pa*": { requireApproval: false } }, {})).toBe(
      true,
    );
    expect(await isDenied({ "*ay": { requireApproval: false }, "pa*": { requireApproval: true } }, {})).toBe(
      true,
    );
    for (const rules of [
      { "*ay": true, "pa*": false },
      { "*ay": false, "pa*": true },
    ] as const) {
      await using fixture = await startToolset({ tools: [createTool("pay")], rules });
      expect(namesOf(fixture.mcp)).toEqual([]);
    }
  });

  it("of which one has a more specific entry: within a level, the more specific entry decides", async () => {
    const relaxed = { "*": { requireApproval: true }, pay: { requireApproval: false } };
    expect(await isDenied(relaxed, {})).toBe(false);
    expect(await isDenied({}, relaxed)).toBe(false);
  });
});
