import { describe, expect, it } from "vitest";
import { getPrompt } from "../../../../src/client/prompt-client.js";
import { toMessages } from "../../../../src/tools/content/to-documents.js";

/** Converts the messages of a `prompts/get` result. */
async function convertMessages(...messages: readonly unknown[]) {
  const send = async () => ({ messages });
  const runner = {
    runOperation: async (_options: unknown, work: (request: typeof send) => unknown) => work(send),
  };

  const prompt = await getPrompt({ server: "docs", runner } as never, { name: "p" }, {});
  return toMessages(prompt).map((message) => [message.getType(), message.content]);
}

const user = (content: unknown) => ({ role: "user", content });

describe("toMessages", () => {
  it("maps roles to message types", async () => {
    const texts = [
      user({ type: "text", text: "Hi." }),
      { role: "assistant", content: { type: "text", text: "Hello." } },
    ];
    expect(await convertMessages(...texts)).toEqual([
      ["human", "Hi."],
      ["ai", "Hello."],
    ]);
  });

  it.each([
    [
      "an image",
      { type: "image", data: "AQID", mimeType: "image/png" },
      [{ type: "image", data: "AQID", mimeType: "image/png" }],
    ],
    [
      "audio",
      { type: "audio", data: "AQID", mimeType: "audio/wav" },
      [{ type: "audio", data: "AQID", mimeType: "audio/wav" }],
    ],
    ["an embedded text", { type: "resource", resource: { uri: "a:1", text: "inside" } }, "inside"],
    [
      "an embedded file",
      { type: "resource", resource: { uri: "file:///a.pdf", blob: "AQID", mimeType: "application/pdf" } },
      [
        {
          type: "file",
          data: "AQID",
          mimeType: "application/pdf",
          metadata: { uri: "file:///a.pdf", filename: "a.pdf" },
        },
      ],
    ],
    ["a resource link", { type: "resource_link", uri: "a:1", name: "notes" }, 'Resource "notes": a:1'],
    ["a block of an unknown type", { type: "chart", points: [1] }, '{"type":"chart","points":[1]}'],
  ])("converts %s like a tool result", async (_, content, expected) => {
    expect(await convertMessages(user(content))).toEqual([["human", expected]]);
  });

  it("accepts strings and arrays of blocks, which servers send against the specification", async () => {
    const blocks = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ];
    expect(await convertMessages(user("plain"), user(blocks), user([]))).toEqual([
      ["human", "plain"],
      ["human", blocks],
      ["human", ""],
    ]);
  });
});
