import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { fallback } from "../../../src/client/middleware/fallback.js";
import { ToolResult } from "../../../src/client/tool-result.js";
import type { FallbackCall, FallbackOption } from "../../../src/config/server-definition.js";
import type { FailureKind } from "../../../src/errors/failure-kinds.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { createRequest } from "../../fixtures/request-context.js";

const text = (value: string) => ({ type: "text", text: value });

/** Runs a tool call that fails with `error`, or returns its result. */
async function run(option: FallbackOption, next: () => Promise<unknown>, request = createRequest()) {
  const warnings: string[] = [];
  const events = { warn: (message: string) => void warnings.push(message) };
  const promise = fallback({ server: "main", clock: new FakeClock(), events }, option)(next)(request);
  const outcome = await promise.catch((error: unknown) => (error as McpRuntimeError).kind);
  return { outcome, warnings };
}

const fail =
  (kind: FailureKind = "unavailable", outcomeUnknown = false) =>
  async () => {
    throw new McpRuntimeError(kind, kind, { outcomeUnknown });
  };

describe("a fallback", () => {
  it.each<[what: string, returned: unknown, result: object]>([
    [
      "a result of callTool",
      new ToolResult({ content: [text("a")] }, undefined, { server: "s", tool: "t" }),
      { content: [text("a")] },
    ],
    ["a string", "a", { content: [text("a")] }],
    ["strings and blocks", ["a", text("b")], { content: [text("a"), text("b")] }],
    ["a plain result", { structuredContent: { n: 1 } }, { structuredContent: { n: 1 } }],
    ["content as a string", { content: "a", isError: true }, { content: [text("a")], isError: true }],
    ["a message", new AIMessage("a"), { content: [text("a")] }],
    [
      "an error message of a tool",
      new ToolMessage({ content: "a", tool_call_id: "1", status: "error" }),
      { content: [text("a")], isError: true },
    ],
  ])("may return %s", async (_, returned, result) => {
    const { outcome, warnings } = await run(() => returned as never, fail());
    expect(outcome).toMatchObject(result);
    expect(warnings).toEqual([]);
  });

  it("that returns undefined, throws or returns something else keeps the failure", async () => {
    expect(await run(() => undefined, fail())).toEqual({ outcome: "unavailable", warnings: [] });
    const broken = () => {
      throw new Error("also down");
    };
    expect(await run(broken, fail())).toMatchObject({
      outcome: "unavailable",
      warnings: [expect.stringContaining("also down")],
    });
    expect(await run(() => 7 as never, fail())).toMatchObject({
      outcome: "unavailable",
      warnings: [expect.stringContaining("invalid result")],
    });
  });

  it.each<[how: string, respond: () => unknown, mayHaveRun: boolean]>([
    ["resolves to an invalid value", async () => 7, true],
    ["rejects with any error", async () => Promise.reject(new Error("reset")), true],
    ["rejects before it is sent", async () => Promise.reject(new McpRuntimeError("not-sent", "down")), false],
    ["resolves to undefined", async () => undefined, false],
    ["returns an invalid value", () => 7, false],
  ])("that %s counts as one that may have run the call, or not", async (_, respond, mayHaveRun) => {
    const request = createRequest();
    await run(respond as never, fail("not-sent"), request);
    expect(request.mayHaveRun).toBe(mayHaveRun);
  });

  it.each<FailureKind>(["closed", "invalid-config", "cancelled", "denied"])(
    "does not replace a failure of kind %s",
    async (kind) => {
      expect((await run(() => "spare", fail(kind))).outcome).toBe(kind);
    },
  );

  it("does not replace the reason of an abort, nor failures of other requests", async () => {
    const reason = new Error("stop");
    const handler = fallback(
      { server: "main", clock: new FakeClock(), events: { warn: () => undefined } },
      () => "spare",
    );
    expect(await rejection(handler(() => Promise.reject(reason))(createRequest()))).toBe(reason);
    const list = createRequest({ method: "tools/list", tool: undefined, params: {} });
    expect((await run(() => "spare", fail(), list)).outcome).toBe("unavailable");
  });

  it("receives copies of the call, with the caller", async () => {
    const calls: FallbackCall[] = [];
    const params = { name: "pay", arguments: { to: { name: "ann" } }, _meta: { trace: "1" } };
    const callerContext = { configurable: { user: "ann" } };
    const respond = (_: McpRuntimeError, call: FallbackCall) => {
      calls.push(call);
      Object.assign(call.args["to"] as object, { name: "eve" });
      return "spare";
    };
    await run(respond, fail(), createRequest({ params, callerContext, identity: "ann" }));
    expect(calls).toMatchObject([
      { server: "main", tool: "pay", identity: "ann", meta: { trace: "1" }, context: callerContext },
    ]);
    expect(params.arguments.to.name).toBe("ann");
  });

  it("records successful results, and a recorder that fails does not fail the call", async () => {
    const result = { content: [text("a")] };
    const recorded: unknown[] = [];
    const respond = () => undefined;
    await run({ respond, record: (_, value) => recorded.push(value) }, async () => result);
    expect(recorded).toEqual([result]);
    const broken = async () => Promise.reject(new Error("full"));
    const { outcome } = await run({ respond, record: broken as never }, async () => result);
    expect(outcome).toBe(result);
  });

  it.each([
    ["did not run", false, false, "spare"],
    ["may have run", true, false, "connection-lost"],
    ["may have run and is idempotent", true, true, "spare"],
  ])("that is a client runs a call that %s: %s %s", async (_, outcomeUnknown, isIdempotent, expected) => {
    const client = { callTool: async () => "spare", ensureSession: async () => undefined };
    const { outcome } = await run(
      client,
      fail("connection-lost", outcomeUnknown),
      createRequest({ isIdempotent }),
    );
    expect(outcome).toEqual(expected === "spare" ? { content: [text("spare")] } : expected);
  });

  it.each<[kind: FailureKind, code: number, attempts: number, isIdempotent: boolean, runs: number]>([
    ["server-error", -32_603, 1, false, 0],
    ["server-error", -32_603, 1, true, 1],
    ["server-error", -32_603, 0, false, 1],
    ["invalid-request", -32_602, 1, false, 1],
  ])("that is a client follows %s %d, attempts: %d, idempotent: %s", async (...row) => {
    const [kind, code, attempts, isIdempotent, runs] = row;
    let calls = 0;
    const client = { callTool: async () => `spare ${(calls += 1)}`, ensureSession: async () => undefined };
    const next = () => Promise.reject(new McpRuntimeError(kind, kind, { code }));
    await run(client, next, Object.assign(createRequest({ isIdempotent }), { attempts }));
    expect(calls).toBe(runs);
  });
});
