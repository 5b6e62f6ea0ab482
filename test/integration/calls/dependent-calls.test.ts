import { describe, expect, it } from "vitest";
import type { CallOutcome, DependentCall, ToolCall, ToolResult } from "../../../src/index.js";
import type { TestTool } from "../../../src/testing/index.js";
import { deferred, rejection } from "../../fixtures/clients.js";
import { startToolset } from "../../fixtures/toolsets.js";

const tools: readonly TestTool[] = [
  { name: "double", run: ({ value }) => String(Number(value) * 2) },
  { name: "add", run: ({ a, b }) => String(Number(a) + Number(b)) },
  {
    name: "fail",
    run: () => {
      throw new Error("out of paper");
    },
  },
];

const double = (id: string, value: number) => ({ id, name: "double", args: { value } });
const add = (dependsOn: readonly [string, string], id = "sum"): DependentCall => ({
  id,
  dependsOn,
  call: (results) => ({
    name: "add",
    args: { a: results[dependsOn[0]]?.text(), b: results[dependsOn[1]]?.text() },
  }),
});

function textsOf(outcomes: readonly CallOutcome[]): string[] {
  return outcomes.map((outcome) => (outcome.ok ? outcome.result.text() : outcome.error.message));
}

type CallMany = (
  calls: readonly (ToolCall | DependentCall)[],
  options?: { readonly concurrency?: number; readonly signal?: AbortSignal },
) => Promise<CallOutcome[]>;

describe.each([
  ["toolset.callTools", false],
  ["client.callTools", true],
])("%s", (_method, usesClient) => {
  async function createFixture(served = tools) {
    const fixture = await startToolset({ tools: served, options: { live: false } });
    const { mcp, server } = fixture;
    const callTools: CallMany = (calls, options) =>
      (usesClient ? mcp.clients["srv"] : mcp)?.callTools(calls, options) as Promise<CallOutcome[]>;
    const sent = () => server.executions.map(({ tool }) => tool);
    return { fixture, callTools, sent };
  }

  it.each([1, 16])(
    "makes a call from the results of others, in any order (concurrency %i)",
    async (concurrency) => {
      const { fixture, callTools } = await createFixture();
      await using _fixture = fixture;
      const outcomes = await callTools(
        [add(["sum", "a"], "total"), add(["a", "b"]), double("a", 1), double("b", 2)],
        { concurrency },
      );
      expect(textsOf(outcomes)).toEqual(["8", "6", "2", "4"]);
      expect(outcomes.map(({ requestId }) => requestId)).toEqual(["total", "sum", "a", "b"]);
    },
  );

  it("runs independent calls concurrently", async () => {
    const [first, second] = [deferred(), deferred()];
    const meet: readonly TestTool[] = [
      { name: "first", run: async () => (first.resolve(), await second.promise, "1") },
      { name: "second", run: async () => (second.resolve(), await first.promise, "2") },
      ...tools,
    ];
    const { fixture, callTools } = await createFixture(meet);
    await using _fixture = fixture;
    const outcomes = await callTools([
      { id: "a", name: "first" },
      add(["a", "b"]),
      { id: "b", name: "second" },
    ]);
    expect(textsOf(outcomes)).toEqual(["1", "3", "2"]);
  });

  it("does not send the dependents of a call that fails, and says why", async () => {
    const { fixture, callTools, sent } = await createFixture();
    await using _fixture = fixture;
    const outcomes = await callTools([
      { id: "broken", name: "fail" },
      double("a", 1),
      add(["a", "broken"]),
      add(["sum", "a"], "total"),
    ]);
    expect(outcomes.map(({ ok }) => ok)).toEqual([true, true, false, false]);
    expect(outcomes[2]).toMatchObject({ requestId: "sum", attempts: 0, error: { kind: "not-sent" } });
    expect(textsOf(outcomes).slice(2)).toEqual([
      'The call "sum" was not sent: the call "broken", whose result it needs, failed: out of paper',
      'The call "total" was not sent: the call "sum", whose result it needs, failed: The call "sum" was not sent: the call "broken", whose result it needs, failed: out of paper',
    ]);
    expect(sent().toSorted()).toEqual(["double", "fail"]);
  });

  it("reports a function that throws as the failure of its call", async () => {
    const { fixture, callTools } = await createFixture();
    await using _fixture = fixture;
    const call = ({ a }: Readonly<Record<string, ToolResult>>) => {
      throw new Error(`no city in ${a?.text()}`);
    };
    const outcomes = await callTools([double("a", 1), { id: "b", dependsOn: ["a"], call }, double("c", 2)]);
    expect(outcomes[1]).toMatchObject({ ok: false, error: { kind: "invalid-config" } });
    expect(textsOf(outcomes)).toEqual([
      "2",
      'The call "b" was not sent: its function failed: Error: no city in 2',
      "4",
    ]);
  });

  it("reports a function that throws a value that is not an error, with the outcomes of the others", async () => {
    const { fixture, callTools } = await createFixture();
    await using _fixture = fixture;
    const call = () => {
      throw Object.create(null);
    };
    const outcomes = await callTools([double("a", 1), { id: "b", dependsOn: [], call }]);
    expect(textsOf(outcomes)).toEqual(["2", 'The call "b" was not sent: its function failed: an object']);
  });

  it("does not wait for a function after its signal is aborted", async () => {
    const { fixture, callTools } = await createFixture();
    await using _fixture = fixture;
    const controller = new AbortController();
    const call = () => {
      controller.abort(new Error("enough"));
      return new Promise<never>(() => undefined);
    };
    const calling = callTools([double("a", 1), { dependsOn: ["a"], call }], { signal: controller.signal });
    await expect(calling).rejects.toThrow("enough");
  });

  it("bounds the message of a call at the end of a long chain that fails", async () => {
    const { fixture, callTools } = await createFixture();
    await using _fixture = fixture;
    const chain = Array.from({ length: 200 }, (_unused, index) => ({
      id: `${index}`,
      dependsOn: index === 0 ? [] : [`${index - 1}`],
      call: () => {
        throw new Error("no city");
      },
    }));
    const messages = textsOf(await callTools(chain));
    expect(Math.max(...messages.map(({ length }) => length))).toBeLessThan(1_000);
  });

  it.each<[string, readonly unknown[], string]>([
    [
      "an unknown id",
      [double("a", 1), add(["a", "x"])],
      '[1].dependsOn: no call has the id "x"; ids: "a", "sum"',
    ],
    ["an id of two calls", [double("a", 1), double("a", 2), add(["a", "a"])], '2 calls have the id "a"'],
    [
      "a circle",
      [double("a", 1), add(["a", "q"], "p"), add(["a", "p"], "q")],
      "depend on each other in a circle, or on such calls: p, q",
    ],
    ["a call that depends on itself", [add(["sum", "sum"])], "in a circle, or on such calls: sum"],
    ["no function", [{ id: "a", dependsOn: [], name: "double" }], "[0]: unknown"],
    [
      "a name instead of an array",
      [double("a", 1), { dependsOn: "a", call: () => double("b", 1) }],
      "[1].dependsOn: expected an array of call ids",
    ],
  ])("sends nothing with %s", async (_name, calls, message) => {
    const { fixture, callTools, sent } = await createFixture();
    await using _fixture = fixture;
    const error = await rejection(callTools(calls as never));
    expect(error.kind).toBe("invalid-config");
    expect(error.message).toContain(message);
    expect(sent()).toEqual([]);
  });
});
