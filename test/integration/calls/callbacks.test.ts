import { describe, expect, it } from "vitest";
import { createMcpTools, type Logger, McpClient } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { rejection } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const fail = async (): Promise<never> => {
  throw new Error("late");
};
const returnUnreadable = () => ({
  get then() {
    throw new Error("now");
  },
});

/** Returns the rejections that nothing has handled while `work` was running. */
async function collectUnhandled(work: () => Promise<void>): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const listener = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", listener);
  try {
    await work();
    // Node reports them after the microtasks of the current turn.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", listener);
  }
  return unhandled;
}

describe("a synchronous callback that returns a promise", () => {
  it.each([
    ["", fail],
    [", or an object whose then throws", returnUnreadable],
  ])("identity%s: the call is refused with a clear error, and nothing is sent", async (_, identityOf) => {
    await using server = await startMcpTestServer();
    const identity = identityOf as never;
    await using client = new McpClient({ name: "s", url: server.url, identity });
    const unhandled = await collectUnhandled(async () => {
      const failure = await rejection(client.callTool({ name: "echo", args: { text: "x" } }));
      expect(failure).toMatchObject({ kind: "unauthorized", message: expect.stringContaining("a promise") });
    });
    expect(unhandled).toEqual([]);
    expect(server.requests).toEqual([]);
  });

  it.each([
    ["", fail, "got a promise"],
    [", or an object whose then throws", returnUnreadable, "got an object"],
  ])("naming.prefix%s: the start is refused with a clear error", async (_, prefix, message) => {
    await using server = await startMcpTestServer();
    const unhandled = await collectUnhandled(async () => {
      const options = { naming: { prefix: prefix as never } };
      const failure = await rejection(createMcpTools({ s: { url: server.url } }, options));
      expect(failure).toMatchObject({ kind: "invalid-config", message: expect.stringContaining(message) });
    });
    expect(unhandled).toEqual([]);
  });

  it("classify: the failure keeps its kind, with a warning", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    await using client = new McpClient({ name: "s", url: server.url, classify: fail as never }, { logger });
    await client.ensureSession();
    server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    const unhandled = await collectUnhandled(async () => {
      const failure = await rejection(client.callTool({ name: "echo", args: { text: "x" } }));
      expect(failure.kind).toBe("server-error");
    });
    expect(unhandled).toEqual([]);
    expect(logger.warnings).toEqual([expect.stringContaining("classify returned a promise")]);
  });

  it.each(["requestStarted", "handshakeStarted"] as const)(
    "a wrapper of %s: the request is sent once, with a warning",
    async (event) => {
      await using server = await startMcpTestServer();
      const logger = new RecordingLogger();
      await using client = new McpClient({ name: "s", url: server.url }, { logger });
      client.on(event, ({ wrap }) =>
        wrap((async (run: () => void) => {
          run();
          await fail();
        }) as never),
      );
      const unhandled = await collectUnhandled(async () => {
        const result = await client.callTool({ name: "echo", args: { text: "x" } });
        expect(result.text()).toBe("x");
      });
      expect(unhandled).toEqual([]);
      expect(server.executions).toHaveLength(1);
      expect(logger.warnings).toEqual([expect.stringContaining("returned a promise")]);
    },
  );

  it("fallback.record: the result of the call is kept, with a warning", async () => {
    await using server = await startMcpTestServer();
    const logger = new RecordingLogger();
    const failNow = () => {
      throw new Error("now");
    };
    for (const record of [fail, failNow]) {
      const fallback = { respond: () => undefined, record: record as never };
      await using client = new McpClient({ name: "s", url: server.url, fallback }, { logger });
      const unhandled = await collectUnhandled(async () => {
        const result = await client.callTool({ name: "echo", args: { text: "x" } });
        expect(result.text()).toBe("x");
      });
      expect(unhandled).toEqual([]);
    }
    expect(logger.warnings).toEqual([expect.stringContaining("late"), expect.stringContaining("now")]);
  });
});

describe("a listener of toolsChanged", () => {
  it("that rejects or throws is logged, and the tools follow the server", async () => {
    await using server = await startMcpTestServer({ tools: [{ name: "a", run: () => "" }] });
    const logger = new RecordingLogger();
    await using mcp = await createMcpTools({ s: { url: server.url } }, { logger });
    mcp.on("toolsChanged", fail as never);
    mcp.on("toolsChanged", () => {
      throw new Error("now");
    });
    const unhandled = await collectUnhandled(async () => {
      server.tools = [{ name: "b", run: () => "" }];
      await mcp.refresh();
    });
    expect(unhandled).toEqual([]);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["s__b"]);
    expect(logger.warnings.toSorted()).toEqual([
      expect.stringContaining("late"),
      expect.stringContaining("now"),
    ]);
  });
});

describe("a logger", () => {
  const throwNow = () => {
    throw new Error("now");
  };
  const createLogger = (log: () => unknown): Logger =>
    ({ debug: log, info: log, warn: log, error: log, isDebugEnabled: log }) as Logger;

  it.each([
    ["rejects", fail],
    ["throws", throwNow],
  ])("that %s affects neither a start nor a call nor a client", async (_, log) => {
    await using server = await startMcpTestServer({ tools: [{ name: "pay_all", run: () => "paid" }] });
    const logger = createLogger(log);
    const unhandled = await collectUnhandled(async () => {
      await using mcp = await createMcpTools(
        { s: { url: server.url, tools: { nothing: { timeoutMs: 5 }, pay_al: false } } },
        { logger, tools: () => ({ unknown: 1 }) as never },
      );
      expect(mcp.tools).toEqual([]);
      await using client = new McpClient({ name: "s", url: server.url }, { logger });
      client.on("requestEnded", throwNow);
      expect((await client.callTool({ name: "pay_all" })).text()).toBe("paid");
    });
    expect(unhandled).toEqual([]);
  });
});
