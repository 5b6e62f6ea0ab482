import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { McpClient, type McpToolsOptions, type ToolRule } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { deferred, rejection } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { startToolset, type TestToolset } from "../../fixtures/toolsets.js";

const never = () => new Promise<never>(() => undefined);
const pay: TestTool = {
  name: "pay",
  run: async ({ fail }, { progress }) => {
    await progress(1, 2);
    if (fail === true) throw new Error("no money");
    return "paid";
  },
};

/** Long enough to connect, once the modules are loaded. */
const SHORT = { timeouts: { totalMs: 500 } };

function start(
  options: McpToolsOptions,
  rule: ToolRule = {},
  definition: object = SHORT,
): Promise<TestToolset> {
  return startToolset({ name: "bank", tools: [pay], rules: { pay: rule }, options, definition });
}

beforeAll(async () => {
  await using _ = await startToolset({ tools: [pay] });
});

describe("a hook that never settles", () => {
  it.each<[hook: string, options: McpToolsOptions, rule: ToolRule]>([
    ["filter", { filter: never }, {}],
    ["beforeToolCall", { beforeToolCall: never }, {}],
    ["meta", { meta: never }, {}],
    ["args", {}, { args: { account: never, user: () => "alice" } }],
    ["requireApproval", {}, { requireApproval: never }],
    ["durable", {}, { durable: never }],
  ])(
    "before the call fails it after timeouts.totalMs, and nothing is sent: %s",
    async (hook, options, rule) => {
      await using fixture = await start(options, rule);
      const { status, artifact } = await fixture.call({});
      expect(status).toBe("error");
      expect(artifact).toMatchObject({
        error: {
          kind: "timeout",
          outcomeUnknown: false,
          message: expect.stringMatching(
            `nothing was sent: ${hook} did not settle in time.*timeouts.totalMs`,
          ),
        },
      });
      expect(fixture.logger.warnings.join("\n")).toContain(`${hook} did not settle in time`);
      expect(fixture.server.received("tools/call")).toEqual([]);
    },
  );

  it("after the call withholds its result, and the model learns that the tool ran", async () => {
    await using fixture = await start({ afterToolCall: never });
    const { status, text, artifact } = await fixture.call({});
    expect(status).toBe("error");
    expect(text).toContain("ran, but its result is withheld: afterToolCall did not settle in time");
    expect(text).not.toContain("paid");
    expect(artifact).toMatchObject({ error: { kind: "invalid-response", outcomeUnknown: false } });
    expect(fixture.server.executions).toHaveLength(1);
  });

  it("after the call may also end with the caller's timeout: the model learns that the tool may have run", async () => {
    await using fixture = await start({ afterToolCall: never }, {}, {});
    const { artifact } = await fixture.call({}, { signal: AbortSignal.timeout(300) });
    expect(artifact).toMatchObject({ error: { kind: "timeout", outcomeUnknown: true, attempts: 1 } });
    expect(fixture.server.executions).toHaveLength(1);
  });

  it("leaves no promise of another function of the rule unhandled", async () => {
    const late = deferred();
    const account = () => late.promise.then(() => Promise.reject(new Error("late")));
    const broken = () => {
      throw new Error("broken");
    };
    const cyclic = () => {
      const value: Record<string, unknown> = {};
      return Object.assign(value, { value });
    };
    for (const failing of [broken, cyclic]) {
      await using fixture = await start({}, { args: { account, failing } });
      expect(await fixture.call({})).toMatchObject({
        status: "error",
        artifact: { error: { kind: "denied" } },
      });
    }
    // An unhandled rejection fails the test run.
    late.resolve();
    await sleep(1);
  });

  it("is not limited by totalMs: 0, but by the signal of the caller", async () => {
    await using fixture = await start({ beforeToolCall: never }, {}, { timeouts: { totalMs: 0 } });
    const controller = new AbortController();
    const reason = new Error("enough");
    const failed = rejection(fixture.call({}, { signal: controller.signal }));
    controller.abort(reason);
    expect(await failed).toBe(reason);
  });

  it("excludes the tool from lists if it is the filter, with a warning", async () => {
    await using fixture = await start({ filter: never });
    expect(await fixture.mcp.toolsFor({})).toEqual([]);
    expect(fixture.logger.warnings.join("\n")).toContain("filter did not settle within 500 ms");
  });
});

it("onApproval waits for a person: it is not limited by timeouts.totalMs", async () => {
  const asked = deferred();
  const answered = deferred();
  const onApproval = () => {
    asked.resolve();
    return answered.promise.then(() => true);
  };
  await using fixture = await start({ onApproval }, { requireApproval: true });
  const call = fixture.call({});
  await asked.promise;
  // Longer than the timeout.
  await sleep(700);
  answered.resolve();
  expect((await call).text).toBe("paid");
});

describe("onProgress that never settles", () => {
  it("does not hold the result, with a warning that names it", async () => {
    await using fixture = await start({ onProgress: never });
    expect((await fixture.call({})).text).toBe("paid");
    expect(fixture.logger.warnings.join("\n")).toContain("A progress listener (onProgress");
  });
});

describe("onToolError that never settles", () => {
  it("is replaced by the default text, with a warning that names it", async () => {
    await using fixture = await start({ onToolError: never });
    const { status, text } = await fixture.call({ fail: true });
    expect([status, text]).toEqual(["error", expect.stringContaining("no money")]);
    expect(fixture.logger.warnings.join("\n")).toContain("onToolError failed; the default message is used");
  });

  it("is replaced, too, when the call has failed because of another hook", async () => {
    await using fixture = await start({ onToolError: never, beforeToolCall: never });
    expect((await fixture.call({})).text).toContain('Tool "bank__pay" failed');
  });

  it("ends when the caller aborts", async () => {
    const called = deferred();
    const onToolError = () => {
      called.resolve();
      return never();
    };
    await using fixture = await start({ onToolError }, {}, {});
    const controller = new AbortController();
    const reason = new Error("enough");
    const failed = rejection(fixture.call({ fail: true }, { signal: controller.signal }));
    await called.promise;
    controller.abort(reason);
    expect(await failed).toBe(reason);
  });

  it("ends when the toolset is closed", async () => {
    const called = deferred();
    const onToolError = () => {
      called.resolve();
      return never();
    };
    await using fixture = await start({ onToolError }, {}, {});
    const failed = rejection(fixture.call({ fail: true }));
    await called.promise;
    await fixture.mcp.close();
    expect(await failed).toMatchObject({ kind: "closed" });
  });
});

describe("a fallback of a client that never settles", () => {
  const open = async (totalMs: number) => {
    const server = await startMcpTestServer({ tools: [pay] });
    server.addFault({ type: "status", status: 503 }, { method: "tools/call" });
    const logger = new RecordingLogger();
    const called = deferred();
    const fallback = () => {
      called.resolve();
      return never();
    };
    const definition = { name: "bank", url: server.url, retry: false as const, timeouts: { totalMs } };
    const client = new McpClient({ ...definition, fallback }, { logger });
    return {
      client,
      logger,
      called: called.promise,
      async [Symbol.asyncDispose]() {
        await client.close();
        await server.close();
      },
    };
  };

  it("keeps the failure of the call, with a warning that names it", async () => {
    await using fixture = await open(100);
    expect(await rejection(fixture.client.callTool({ name: "pay" }))).toMatchObject({ kind: "unavailable" });
    expect(fixture.logger.warnings.join("\n")).toContain("The fallback failed; the original failure is kept");
  });

  it("ends when the caller aborts", async () => {
    await using fixture = await open(600_000);
    const controller = new AbortController();
    const reason = new Error("enough");
    const failed = rejection(fixture.client.callTool({ name: "pay" }, { signal: controller.signal }));
    await fixture.called;
    controller.abort(reason);
    expect(await failed).toBe(reason);
  });

  it("ends when the client is closed", async () => {
    await using fixture = await open(600_000);
    const failed = rejection(fixture.client.callTool({ name: "pay" }));
    await fixture.called;
    await fixture.client.close({ drainMs: 0 });
    expect(await failed).toMatchObject({ kind: "closed" });
  });
});
