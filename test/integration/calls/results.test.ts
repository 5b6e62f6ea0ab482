import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { McpClient, type McpRuntimeError } from "../../../src/index.js";
import { McpTestServer, type TestTool } from "../../../src/testing/index.js";
import { rejection, times } from "../../fixtures/clients.js";
import { ERAS, EraServer, type ServedEra } from "../../fixtures/era-server.js";

function clientOn(era: ServedEra, ...tools: TestTool[]): McpClient {
  return new McpClient({ name: "linked", server: new EraServer(era, { tools }) });
}

const clientWith = (...tools: TestTool[]) => clientOn("legacy", ...tools);

describe.each(ERAS)("a result (%s)", (era) => {
  it("has only the _meta from the tool", async () => {
    const content = [{ type: "text", text: "one" }];
    await using client = clientOn(
      era,
      { name: "plain", run: () => ({ content }) },
      { name: "marked", run: () => ({ content, _meta: { "example.com/page": 1 } }) },
    );
    expect((await client.callTool({ name: "plain" })).meta).toBeUndefined();
    expect((await client.callTool({ name: "marked" })).meta).toEqual({ "example.com/page": 1 });
  });

  it("joins its text blocks with newlines", async () => {
    const content = [
      { type: "text", text: "one" },
      { type: "image", data: "", mimeType: "image/png" },
      { type: "text", text: "two" },
    ];
    await using client = clientOn(era, { name: "t", run: () => ({ content }) });
    const result = await client.callTool({ name: "t" });
    expect(result.text()).toBe("one\ntwo");
    expect(result.content).toHaveLength(3);
    expect(result.isError).toBe(false);
  });

  it("returns the structured content, or its text parsed as JSON", async () => {
    await using client = clientOn(
      era,
      { name: "text", run: () => '{"a":1}' },
      {
        name: "both",
        run: () => ({ content: [{ type: "text", text: "not JSON" }], structuredContent: { a: 2 } }),
      },
      { name: "neither", run: () => "not JSON" },
    );
    expect((await client.callTool({ name: "text" })).json()).toEqual({ a: 1 });
    expect((await client.callTool({ name: "both" })).json()).toEqual({ a: 2 });
    const neither = await client.callTool({ name: "neither" });
    expect(() => neither.json()).toThrow(
      expect.objectContaining({ kind: "invalid-response", tool: "neither" }),
    );
  });

  it("is typed and validated with a schema", async () => {
    await using client = clientOn(era, {
      name: "weather",
      run: ({ city }) => ({
        content: [],
        structuredContent: { city, celsius: city === "Oslo" ? 7 : "warm" },
      }),
    });
    const output = z.object({ city: z.string(), celsius: z.number() });
    const result = await client.callTool({ name: "weather", args: { city: "Oslo" } }, { output });
    expectTypeOf(result.structuredContent).toEqualTypeOf<{ city: string; celsius: number }>();
    expect(result.structuredContent.celsius).toBe(7);
    const failure = await rejection(client.callTool({ name: "weather", args: { city: "Rome" } }, { output }));
    expect(failure).toMatchObject({
      kind: "invalid-response",
      tool: "weather",
      issues: [{ path: "structuredContent.celsius" }],
    });
  });

  it("with isError is returned without validation", async () => {
    await using client = clientOn(era, {
      name: "broken",
      run: () => {
        throw new Error("out of paper");
      },
    });
    const result = await client.callTool({ name: "broken" }, { output: z.object({ pages: z.number() }) });
    expect(result.isError).toBe(true);
    expect(result.text()).toBe("out of paper");
  });
});

describe("tryCallTool", () => {
  it("returns details on success and on failure", async () => {
    const server = new McpTestServer();
    await using client = new McpClient({ name: "linked", server });
    expect(await client.tryCallTool({ name: "echo", args: { text: "x" }, id: "call-1" })).toMatchObject({
      ok: true,
      server: "linked",
      tool: "echo",
      requestId: "call-1",
      attempts: 1,
      latencyMs: expect.any(Number),
    });
    const outcome = await client.tryCallTool({ name: "echo" }, { timeoutMs: -1 });
    expect(outcome).toMatchObject({ ok: false, attempts: 0, requestId: expect.stringMatching(/.{8}/) });
    if (!outcome.ok) expectTypeOf(outcome.error).toEqualTypeOf<McpRuntimeError>();
  });

  it.each([undefined, null, 7, {}, { name: 7 }, { name: "echo", args: [] }, { name: "echo", args: "text" }])(
    "rejects an invalid call: %j",
    async (call) => {
      await using client = clientWith();
      expect(await client.tryCallTool(call as never)).toMatchObject({
        ok: false,
        error: { kind: "invalid-config" },
      });
    },
  );
});

describe("callTools", () => {
  it("keeps the order, isolates failures and limits concurrency", async () => {
    let [running, maxRunning] = [0, 0];
    await using client = clientWith({
      name: "work",
      run: async ({ n }) => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        await new Promise((resolve) => setTimeout(resolve, Number(n) % 3));
        running -= 1;
        return n;
      },
    });
    const calls = times(12, (n) => ({ name: "work", args: n === 5 ? ([] as never) : { n } }));
    const outcomes = await client.callTools(calls, { concurrency: 3 });
    expect(outcomes.map((outcome) => (outcome.ok ? outcome.result.text() : outcome.error.kind))).toEqual(
      times(12, (n) => (n === 5 ? "invalid-config" : String(n))),
    );
    expect(maxRunning).toBe(3);
  });
});

describe("the arguments", () => {
  it("are not modified, also with _meta", async () => {
    let seen: unknown;
    const server = new McpTestServer({ tools: [{ name: "t", run: (args) => ((seen = args), "ok") }] });
    await using client = new McpClient({ name: "linked", server });
    const args = Object.freeze({ deep: Object.freeze({ list: Object.freeze([1, 2]) }) });
    const meta = Object.freeze({ trace: "abc" });
    await client.callTool({ name: "t", args }, { meta });
    expect(seen).toEqual({ deep: { list: [1, 2] } });
  });
});
