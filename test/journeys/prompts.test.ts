import { describe, expect, it } from "vitest";
import { McpClient } from "../../src/index.js";
import { McpTestServer, startMcpTestServer, type TestPrompt } from "../../src/testing/index.js";
import { clientOf, failureOf } from "../support/clients.js";

const COUNTRIES: Record<string, readonly string[]> = { NO: ["Oslo", "Bergen"], SE: ["Stockholm"] };

const TRAVEL: TestPrompt = {
  name: "travel",
  title: "A journey",
  description: "Plans a journey.",
  arguments: [
    { name: "country", required: true },
    { name: "city", description: "Where to." },
  ],
  get: ({ country, city }) => `Plan a journey to ${String(city)} in ${String(country)}.`,
  complete: ({ name, value }, { country = "" }) =>
    (name === "country" ? Object.keys(COUNTRIES) : (COUNTRIES[country] ?? [])).filter((text) =>
      text.startsWith(value),
    ),
};

describe("the prompts of a server", () => {
  it("come from all pages, by name, with their arguments", async () => {
    const other = { name: "arrive", get: () => "…" };
    await using server = await startMcpTestServer({
      prompts: [TRAVEL, other],
      listing: { type: "pages", size: 1 },
    });
    await using client = clientOf(server);
    expect(await client.listPrompts()).toEqual([
      { name: "arrive", arguments: [] },
      {
        name: "travel",
        title: "A journey",
        description: "Plans a journey.",
        arguments: [
          { name: "country", required: true },
          { name: "city", description: "Where to.", required: false },
        ],
      },
    ]);
  });

  it("are filled in", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = clientOf(server);
    const prompt = await client.getPrompt({ name: "travel", args: { country: "NO", city: "Oslo" } });
    expect(prompt).toEqual({
      messages: [{ role: "user", content: [{ type: "text", text: "Plan a journey to Oslo in NO." }] }],
    });
  });

  it("are none where the server has none, and nothing is asked then", async () => {
    await using server = await startMcpTestServer();
    await using client = clientOf(server);
    expect(await client.listPrompts()).toEqual([]);
    expect(await failureOf(client.getPrompt({ name: "travel" }))).toMatchObject({ kind: "not-found" });
    expect(server.received("POST")).toHaveLength(2);
  });

  it("lose only what is malformed, with a warning that names it", async () => {
    await using server = await startMcpTestServer({ prompts: [] });
    await using client = clientOf(server);
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    const prompts = [
      7,
      { title: "nameless" },
      { name: "odd", arguments: "none" },
      {
        name: "fine",
        description: "a\u200bb",
        arguments: [null, { name: "x", title: "t\u202e" }, { title: "y" }],
      },
      { name: "fine" },
    ];
    server.addFault({ type: "result", result: { prompts } }, { on: "prompts/list" });
    expect(await client.listPrompts()).toEqual([
      { name: "fine", description: "ab", arguments: [{ name: "x", title: "t", required: false }] },
    ]);
    expect(warnings).toEqual([
      'Server "test": a prompt is not an object and is left out.',
      'Server "test": a prompt has no name and is left out.',
      'Server "test": prompt "odd" has arguments that are no list and is left out.',
      'Server "test": prompt "fine" is listed twice; the first one counts.',
    ]);
  });

  it.each([
    ["no messages", {}, "it has no list of messages"],
    ["a role nobody knows", { messages: [{ role: "system", content: { type: "text", text: "x" } }] }, "role"],
    ["a message without content", { messages: [{ role: "user" }] }, "has no content"],
    ["a message that is none", { messages: [null] }, "role"],
  ])("are malformed with %s: half a prompt says something else", async (_, result, why) => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = clientOf(server);
    server.addFault({ type: "result", result }, { on: "prompts/get" });
    const failure = await failureOf(client.getPrompt({ name: "travel" }));
    expect(failure.kind).toBe("malformed");
    expect(failure.message).toContain(why);
  });

  it("are called by name, with texts for arguments", async () => {
    await using client = new McpClient({ name: "test", server: new McpTestServer() });
    for (const wrong of [
      undefined,
      {},
      { name: 7 },
      { name: "a", args: { n: 7 } },
      { name: "a", args: ["b"] },
    ])
      expect(await failureOf(client.getPrompt(wrong as never))).toMatchObject({ kind: "definition" });
    expect(client.state).toBe("idle");
  });
});

describe("completion", () => {
  it("knows what was typed, and what was given before", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = clientOf(server);
    const city = { prompt: "travel", argument: "city" };
    expect(await client.complete({ prompt: "travel", argument: "country", value: "" })).toEqual({
      values: ["NO", "SE"],
      total: 2,
      hasMore: false,
    });
    expect(await client.complete({ ...city, value: "O", given: { country: "NO" } })).toMatchObject({
      values: ["Oslo"],
    });
    expect(await client.complete({ ...city, value: "O", given: { country: "SE" } })).toMatchObject({
      values: [],
    });
  });

  it("of a server that completes nothing is empty", async () => {
    await using server = await startMcpTestServer({ resources: [] });
    await using client = clientOf(server);
    const call = { resourceTemplate: "file:///{path}", argument: "path", value: "" };
    expect(await client.complete(call)).toEqual({ values: [], hasMore: false });
  });

  it("takes nothing else than it says", async () => {
    await using client = new McpClient({ name: "test", server: new McpTestServer() });
    const argument = { argument: "a", value: "" };
    for (const wrong of [
      undefined,
      argument,
      { ...argument, prompt: "a", resourceTemplate: "b" },
      { prompt: "a" },
    ])
      expect(await failureOf(client.complete(wrong as never))).toMatchObject({ kind: "definition" });
  });

  it("leaves out values that are no texts, and is malformed without a list", async () => {
    await using server = await startMcpTestServer({ prompts: [TRAVEL] });
    await using client = clientOf(server);
    const call = { prompt: "travel", argument: "country", value: "" };
    const completion = { values: ["NO", 7, null], hasMore: true, total: "many" };
    server.addFault({ type: "result", result: { completion } }, { on: "completion/complete", times: 1 });
    expect(await client.complete(call)).toEqual({ values: ["NO"], hasMore: true });
    server.addFault({ type: "result", result: {} }, { on: "completion/complete", times: 1 });
    expect(await failureOf(client.complete(call))).toMatchObject({ kind: "malformed" });
  });
});
