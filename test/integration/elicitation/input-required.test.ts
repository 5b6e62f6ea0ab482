import { describe, expect, it } from "vitest";
import type { TestTool } from "../../../src/testing/index.js";
import { createTestClient, rejection, recordWarnings } from "../../fixtures/clients.js";
import { type ModernToolContext, startEraServer } from "../../fixtures/era-server.js";

const nameForm = {
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "What is your name?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string" }, polite: { type: "boolean", default: true } },
      required: ["name"],
    },
  },
};

/** Requests a name; its only state is the requestState that it receives back. */
const greet: TestTool = {
  name: "greet",
  run: ({ word }, context) => {
    const { inputResponses, requestState } = context as unknown as ModernToolContext;
    if (inputResponses === undefined)
      return { resultType: "input_required", inputRequests: { who: nameForm }, requestState: "round 1" };
    return `${String(word)} ${JSON.stringify(inputResponses["who"])} ${requestState}`;
  },
};

describe("a modern server that requires input", () => {
  it("is called again with the handler's result and its requestState", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const received: unknown[] = [];
    await using client = createTestClient(server, {
      onElicitationRequest: (request) => {
        received.push(request);
        return { action: "accept", content: { name: "Ann" } };
      },
    });
    const result = await client.callTool({ name: "greet", args: { word: "Hello" } });
    expect(result.text()).toBe('Hello {"action":"accept","content":{"name":"Ann","polite":true}} round 1');
    expect(received).toEqual([
      {
        mode: "form",
        message: "What is your name?",
        requestedSchema: nameForm.params.requestedSchema,
      },
    ]);
    expect(server.executions).toHaveLength(2);
  });

  it.each([
    ["in a method", { method: "canary-\u200b7f3a91" }, "requires a response to [redacted] to continue"],
    [
      "in the field of a form",
      {
        ...nameForm,
        params: {
          ...nameForm.params,
          requestedSchema: { type: "object", properties: { "canary-7f3a91": 1 } },
        },
      },
      "[redacted]",
    ],
  ])("does not get a secret into an error: %s", async (_, inputRequest, shown) => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const result = { resultType: "input_required", inputRequests: { who: inputRequest } };
    server.addFault({ type: "result", result }, { method: "tools/call" });
    await using client = createTestClient(server, {
      headers: { "x-api-key": "canary-7f3a91" },
      onElicitationRequest: () => ({ action: "decline" }),
    });
    const { message } = await rejection(client.callTool({ name: "greet" }));
    expect(message).toContain(shown);
    expect(message).not.toContain("canary");
  });

  it("receives a decline as well", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    await using client = createTestClient(server, { onElicitationRequest: () => ({ action: "decline" }) });
    const result = await client.callTool({ name: "greet", args: { word: "Hello" } });
    expect(result.text()).toContain('{"action":"decline"}');
  });

  it("may send several requests at once and in several rounds", async () => {
    const survey: TestTool = {
      name: "survey",
      run: (_, context) => {
        const { inputResponses, requestState } = context as unknown as ModernToolContext;
        if (requestState === undefined)
          return {
            resultType: "input_required",
            inputRequests: { folders: { method: "roots/list" }, who: nameForm },
            requestState: "half",
          };
        if (requestState === "half")
          return {
            resultType: "input_required",
            inputRequests: {
              model: {
                method: "sampling/createMessage",
                params: { messages: [{ role: "user", content: { type: "text", text: "hm" } }], maxTokens: 5 },
              },
            },
            requestState: JSON.stringify(Object.keys(inputResponses ?? {})),
          };
        return `${requestState} ${JSON.stringify(inputResponses)}`;
      },
    };
    await using server = await startEraServer("modern", { tools: [survey] });
    await using client = createTestClient(server, {
      roots: [{ uri: "file:///srv" }],
      onSamplingRequest: () => ({ model: "m", content: "fine" }),
      onElicitationRequest: () => ({ action: "accept", content: { name: "Ann" } }),
    });
    expect((await client.callTool({ name: "survey" })).text()).toBe(
      '["folders","who"] {"model":{"role":"assistant","model":"m","content":{"type":"text","text":"fine"}}}',
    );
  });

  it("fails the call with a hint when there is no handler", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    await using client = createTestClient(server);
    const failure = await rejection(client.callTool({ name: "greet", args: { word: "Hello" } }));
    expect(failure).toMatchObject({
      kind: "invalid-request",
      code: -32_021,
      message: expect.stringContaining("onElicitationRequest"),
    });
  });

  it("fails the call when the handler fails, and the reason is only logged", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const onElicitationRequest = () => {
      throw new Error("no window");
    };
    await using client = createTestClient(server, { onElicitationRequest });
    const warnings = recordWarnings(client);
    const failure = await rejection(client.callTool({ name: "greet", args: { word: "Hello" } }));
    expect(failure).toMatchObject({ kind: "denied", server: "test", tool: "greet" });
    expect(failure.message).not.toContain("no window");
    expect(warnings).toEqual([expect.stringMatching(/elicitation\/create.*no window/)]);
  });

  it("is limited in the number of rounds", async () => {
    const endless: TestTool = {
      name: "endless",
      run: () => ({ resultType: "input_required", requestState: "again" }),
    };
    await using server = await startEraServer("modern", { tools: [endless] });
    await using client = createTestClient(server);
    expect(await rejection(client.callTool({ name: "endless" }))).toMatchObject({ kind: "invalid-response" });
    expect(server.executions.length).toBeLessThan(30);
  });

  it("is limited in the number of requests at once, and no handler runs", async () => {
    const inputRequests = Object.fromEntries(Array.from({ length: 257 }, (_, key) => [key, nameForm]));
    const excessive: TestTool = {
      name: "nosy",
      run: () => ({ resultType: "input_required", inputRequests }),
    };
    await using server = await startEraServer("modern", { tools: [excessive] });
    let received = 0;
    const onElicitationRequest = () => ({ action: "decline" as const, times: (received += 1) });
    await using client = createTestClient(server, { onElicitationRequest });
    expect(await rejection(client.callTool({ name: "nosy" }))).toMatchObject({ kind: "invalid-response" });
    expect(received).toBe(0);
  });

  it("gets no response after the call was aborted", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const controller = new AbortController();
    let wasAborted = false;
    await using client = createTestClient(server, {
      onElicitationRequest: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            wasAborted = true;
            resolve({ action: "cancel" });
          });
          controller.abort("gone");
        }),
    });
    const call = client.callTool({ name: "greet" }, { signal: controller.signal });
    expect(await rejection(call)).toBe("gone");
    expect(wasAborted).toBe(true);
    expect(server.executions).toHaveLength(1);
  });
});
