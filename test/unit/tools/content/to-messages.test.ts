import { describe, expect, it } from "vitest";
import { toPrompt } from "../../../../src/client/prompt.js";
import { toMessages } from "../../../../src/tools/content/to-messages.js";

function messagesOf(...messages: readonly unknown[]) {
  return toMessages(toPrompt({ messages }, { server: "docs", name: "p" })).map((message) => [
    message.getType(),
    message.content,
  ]);
}

const user = (content: unknown) => ({ role: "user", content });

describe("a prompt, as messages", () => {
  it("keeps who says what", () => {
    const texts = [
      user({ type: "text", text: "Hi." }),
      { role: "assistant", content: { type: "text", text: "Hello." } },
    ];
    expect(messagesOf(...texts)).toEqual([
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
      "a sound",
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
    ["a link", { type: "resource_link", uri: "a:1", name: "notes" }, 'Resource "notes": a:1'],
    ["what nobody knows", { type: "chart", points: [1] }, '{"type":"chart","points":[1]}'],
  ])("carries %s as tools' results do", (_, content, expected) => {
    expect(messagesOf(user(content))).toEqual([["human", expected]]);
  });

  it("takes texts and lists of blocks, which the protocol does not have and servers send", () => {
    const blocks = [
      { type: "text", text: "one" },
      { type: "text", text: "two" },
    ];
    expect(messagesOf(user("plain"), user(blocks), user([]))).toEqual([
      ["human", "plain"],
      ["human", blocks],
      ["human", ""],
    ]);
  });
});
