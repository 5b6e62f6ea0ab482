import { inspect } from "node:util";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type BeforeToolCallInput,
  createMcpTools,
  createMcpToolsFromAgent,
  McpRuntimeError,
  type McpToolsOptions,
  type ToolRule,
} from "../../../src/index.js";
import {
  agentIntegrations,
  createScriptedModel,
  getToolMessages,
  resumeWith,
  threadConfig,
  userInput,
} from "../../fixtures/agents.js";
import { rejection } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { type RawRequest, sendError, sendJson, startRawServer } from "../../fixtures/raw-server.js";
import { invokeTool, startToolset } from "../../fixtures/toolsets.js";

const SECRET = "injected/Secret value-1";
const FORMS = [SECRET, encodeURIComponent(SECRET)];

const TOOL = {
  name: "pay",
  inputSchema: { type: "object", properties: { key: { type: "string" }, to: { type: "string" } } },
  run: () => "paid",
};

const fail = (text: string): never => {
  throw new Error(text);
};
const quote = ({ args }: BeforeToolCallInput) =>
  `cannot check ${JSON.stringify(args)} at https://x.test/${encodeURIComponent(String(args["key"]))}`;

/** A hook or a function of a rule that quotes what was injected in its failure. */
const HOOKS: Record<string, { readonly options?: McpToolsOptions; readonly rule?: ToolRule }> = {
  "beforeToolCall throws": { options: { beforeToolCall: (call) => fail(quote(call)) } },
  "beforeToolCall rejects with a cause": {
    options: {
      beforeToolCall: async (call) => {
        throw new Error("failed", { cause: { request: { call } } });
      },
    },
  },
  "beforeToolCall throws an error of this package": {
    options: {
      beforeToolCall: (call) => {
        const issues = [{ path: "key", message: quote(call) }];
        throw new McpRuntimeError("invalid-request", quote(call), { issues, cause: new Error(quote(call)) });
      },
    },
  },
  "beforeToolCall throws invalid-config": {
    options: {
      beforeToolCall: (call) => {
        throw new McpRuntimeError("invalid-config", quote(call));
      },
    },
  },
  "beforeToolCall denies": { options: { beforeToolCall: (call) => ({ deny: quote(call) }) } },
  "meta throws": { options: { meta: () => fail(`no meta for ${SECRET}`) } },
  "meta throws after beforeToolCall has set the argument": {
    options: {
      beforeToolCall: ({ args }) => ({ args: { ...args, key: "other/Secret value-2" } }),
      meta: () => fail("no meta for other/Secret value-2"),
    },
  },
  "afterToolCall throws": { options: { afterToolCall: (call) => fail(quote(call)) } },
  "onApproval throws": {
    options: { onApproval: () => fail(`cannot ask about ${SECRET}`) },
    rule: { requireApproval: true },
  },
  "another function of the rule throws": {
    rule: { args: { to: () => fail(`no recipient for ${SECRET}`), key: SECRET } },
  },
  "another function of the rule throws after one has returned": {
    rule: {
      args: {
        key: async () => SECRET,
        to: () => new Promise((_, reject) => setImmediate(() => reject(new Error(`no user of ${SECRET}`)))),
      },
    },
  },
};

function expectClean(...values: unknown[]): void {
  const printed = values.map((value) => inspect(value, { depth: 12, showHidden: true })).join("\n");
  for (const form of [...FORMS, "other/Secret value-2"]) expect(printed).not.toContain(form);
}

describe("what is injected is not shown when", () => {
  it.each(Object.entries(HOOKS))("%s", async (_, { options = {}, rule }) => {
    const logger = new RecordingLogger();
    const rules = { pay: { args: { key: SECRET }, ...rule } };
    await using fixture = await startToolset({ tools: [TOOL], rules, options: { ...options, logger } });
    const failure = await rejection(fixture.tool.invoke({}));
    const thrown = await rejection(fixture.tool.run({}));
    const reported = await fixture.call({}).catch((error: unknown) => error);
    expectClean(failure, thrown, reported, logger.messages);
    const isExplained = /\[redacted\]|check before the call failed|cannot be used/;
    expect(failure.message).toMatch(isExplained);
  });

  it("a check of an agent's sensitive arguments throws", async () => {
    await using fixture = await startToolset({ tools: [TOOL] });
    const argumentProperties = {
      "$['key']": { variant: "argument", argumentPath: "$['credential']", isSensitive: true },
    };
    const availableTools = [{ ...TOOL, run: undefined, description: "Pays.", argumentProperties }];
    const resource = { $resourceType: "mcp", name: "bank", availableTools };
    const logger = new RecordingLogger();
    await using mcp = await createMcpToolsFromAgent({ resources: [resource] } as never, {
      servers: { bank: { url: fixture.server.url } },
      logger,
      agentInput: { credential: SECRET },
      meta: () => fail(`no meta for ${SECRET}`),
    });
    const failure = await rejection(mcp.tools[0]?.invoke({}) as Promise<unknown>);
    expect(failure.kind).toBe("denied");
    expectClean(failure, logger.messages);
    expect(logger.messages.join("\n")).toContain("no meta for [redacted]");
  });

  it.each(Object.keys(agentIntegrations))("a check after an approval throws (%s)", async (integration) => {
    const logger = new RecordingLogger();
    await using fixture = await startToolset({
      name: "test",
      tools: [TOOL],
      rules: { pay: { args: { key: SECRET }, requireApproval: true } },
      options: { logger, meta: () => fail(`no meta for ${SECRET}`) },
    });
    const model = createScriptedModel([{ name: "test__pay", args: {} }]);
    const agent = agentIntegrations[integration]?.({
      model,
      mcp: fixture.mcp,
      checkpointer: new MemorySaver(),
    });
    await agent?.invoke(userInput, threadConfig("1"));
    const result = await agent?.invoke(resumeWith({ type: "approve" }), threadConfig("1"));
    expectClean(result && getToolMessages(result), logger.messages);
    expect(logger.messages.join("\n")).toContain("no meta for [redacted]");
  });
});

describe("an injected value that the server echoes in an error", () => {
  const echoArguments = (run: RawRequest) =>
    sendError(run, {
      code: -32_000,
      message: `rejected ${JSON.stringify((run.body["params"] as { arguments: unknown }).arguments)}`,
    });

  it.each([
    ["four characters", "Pq7Z", '{"key":"[redacted]"}'],
    ["a number", 482_913, '{"key":[redacted]}'],
    ["values in it, and not names", { id: { tags: ["Pq7Zx"] } }, '{"key":{"id":{"tags":["[redacted]"]}}}'],
    ["fewer characters", "Pq7", '{"key":"Pq7"}'],
    ["no text", true, '{"key":true}'],
  ])("is redacted, for people and models: %s", async (_, value, shown) => {
    await using server = await startRawServer((request) => {
      if (request.method === "tools/call") return echoArguments(request);
      if (request.method !== "tools/list") return false;
      return sendJson(request.response, request.id, {
        tools: [{ ...TOOL, inputSchema: { type: "object" } }],
      });
    });
    const rules = { pay: { args: { key: () => value } } };
    await using mcp = await createMcpTools({ bank: { url: server.url, tools: rules } });
    const failure = await rejection(mcp.callTool({ name: "pay" }));
    expect(failure.message).toContain(`rejected ${shown}`);
    const message = await invokeTool(mcp.tools[0]);
    expect(message.content).toContain(`rejected ${shown}`);
  });

  it("is kept in results, which belong to the caller", async () => {
    const run = () => "Pq7Zx was paid";
    const rules = { pay: { args: { key: "Pq7Zx" } } };
    await using fixture = await startToolset({ tools: [{ ...TOOL, run }], rules });
    expect((await fixture.call({})).content).toBe("Pq7Zx was paid");
  });
});

it("a failure without injected values is the error that was thrown", async () => {
  const error = new McpRuntimeError("unavailable", "closed on Sundays", { cause: new Error("Sunday") });
  const beforeToolCall = () => {
    throw error;
  };
  const rules = { pay: { args: { key: SECRET } } };
  await using fixture = await startToolset({ tools: [TOOL], rules, options: { beforeToolCall } });
  expect(await rejection(fixture.tool.invoke({}))).toBe(error);
});
