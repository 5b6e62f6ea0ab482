import { describe, expect, it } from "vitest";
import type { TestTool } from "../../../src/testing/index.js";
import { clientOf, failureOf } from "../../fixtures/clients.js";
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

/** Asks for a name, and remembers nothing but what it is reminded of. */
const greet: TestTool = {
  name: "greet",
  run: ({ word }, context) => {
    const { inputResponses, requestState } = context as unknown as ModernToolContext;
    if (inputResponses === undefined)
      return { resultType: "input_required", inputRequests: { who: nameForm }, requestState: "round 1" };
    return `${String(word)} ${JSON.stringify(inputResponses["who"])} ${requestState}`;
  },
};

describe("a server without sessions that wants to know something first", () => {
  it("is answered by the handler, and called again with the answer and what it wants to be reminded of", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const asked: unknown[] = [];
    await using client = clientOf(server, {
      onElicitationRequest: (request) => {
        asked.push(request);
        return { action: "accept", content: { name: "Ann" } };
      },
    });
    const result = await client.callTool({ name: "greet", args: { word: "Hello" } });
    expect(result.text()).toBe('Hello {"action":"accept","content":{"name":"Ann","polite":true}} round 1');
    expect(asked).toEqual([
      {
        mode: "form",
        message: "What is your name?",
        requestedSchema: nameForm.params.requestedSchema,
      },
    ]);
    expect(server.executions).toHaveLength(2);
  });

  it("gets a no as an answer, too", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    await using client = clientOf(server, { onElicitationRequest: () => ({ action: "decline" }) });
    const result = await client.callTool({ name: "greet", args: { word: "Hello" } });
    expect(result.text()).toContain('{"action":"decline"}');
  });

  it("may ask for several things at once, and in several rounds", async () => {
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
    await using client = clientOf(server, {
      roots: [{ uri: "file:///srv" }],
      onSamplingRequest: () => ({ model: "m", content: "fine" }),
      onElicitationRequest: () => ({ action: "accept", content: { name: "Ann" } }),
    });
    expect((await client.callTool({ name: "survey" })).text()).toBe(
      '["folders","who"] {"model":{"role":"assistant","model":"m","content":{"type":"text","text":"fine"}}}',
    );
  });

  it("that asks where nobody answers fails the call, and says what is missing", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    await using client = clientOf(server);
    const failure = await failureOf(client.callTool({ name: "greet", args: { word: "Hello" } }));
    expect(failure.kind).toBe("invalid-request");
    expect(failure.message).toMatch(/elicitation.* give its definition a handler \(onElicitationRequest/);
  });

  it("whose question makes the handler fail fails the call, and only we are told why", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const onElicitationRequest = () => {
      throw new Error("no window");
    };
    await using client = clientOf(server, { onElicitationRequest });
    const warnings: string[] = [];
    client.on("warning", ({ message }) => warnings.push(message));
    const failure = await failureOf(client.callTool({ name: "greet", args: { word: "Hello" } }));
    expect(failure).toMatchObject({
      kind: "denied",
      message:
        'Server "test" needs an answer to elicitation/create before it goes on, and got none: The client failed to answer.',
    });
    expect(warnings).toEqual(['Server "test": the handler of elicitation/create failed: no window']);
  });

  it("that asks without end is given up", async () => {
    const endless: TestTool = {
      name: "endless",
      run: () => ({ resultType: "input_required", requestState: "again" }),
    };
    await using server = await startEraServer("modern", { tools: [endless] });
    await using client = clientOf(server);
    expect(await failureOf(client.callTool({ name: "endless" }))).toMatchObject({ kind: "invalid-response" });
    expect(server.executions.length).toBeLessThan(30);
  });

  it("that asks for too much at once asks nobody", async () => {
    const inputRequests = Object.fromEntries(Array.from({ length: 257 }, (_, key) => [key, nameForm]));
    const nosy: TestTool = { name: "nosy", run: () => ({ resultType: "input_required", inputRequests }) };
    await using server = await startEraServer("modern", { tools: [nosy] });
    let asked = 0;
    const onElicitationRequest = () => ({ action: "decline" as const, times: (asked += 1) });
    await using client = clientOf(server, { onElicitationRequest });
    expect(await failureOf(client.callTool({ name: "nosy" }))).toMatchObject({ kind: "invalid-response" });
    expect(asked).toBe(0);
  });

  it("is not answered any more when the caller has gone", async () => {
    await using server = await startEraServer("modern", { tools: [greet] });
    const controller = new AbortController();
    let wasTold = false;
    await using client = clientOf(server, {
      onElicitationRequest: (_, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            wasTold = true;
            resolve({ action: "cancel" });
          });
          controller.abort("gone");
        }),
    });
    const call = client.callTool({ name: "greet" }, { signal: controller.signal });
    expect(await failureOf(call)).toBe("gone");
    expect(wasTold).toBe(true);
    expect(server.executions).toHaveLength(1);
  });
});
