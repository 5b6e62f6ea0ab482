import { describe, expect, it } from "vitest";
import { readResource } from "../../../../src/client/resource-client.js";
import { toDocuments } from "../../../../src/tools/content/to-documents.js";

/** Converts a content of a `resources/read` result. */
async function convertContent(content: Record<string, unknown>) {
  const send = async () => ({ contents: [content] });
  const runner = {
    runOperation: async (_options: unknown, work: (request: typeof send) => unknown) => work(send),
  };

  const [document] = toDocuments(await readResource({ server: "docs", runner } as never, "a:1", {}), {
    server: "docs",
  });
  return document;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("toDocuments", () => {
  it("returns the text, with the source in the metadata", () => {
    const contents = [{ uri: "a:1", mimeType: "text/plain", text: "Hello." }];
    const [document] = toDocuments(contents, { server: "docs", name: "greeting" });
    expect(document?.pageContent).toBe("Hello.");
    expect(document?.metadata).toEqual({
      source: "a:1",
      uri: "a:1",
      server: "docs",
      name: "greeting",
      mimeType: "text/plain",
    });
  });

  it.each([
    "text/plain",
    "TEXT/HTML; charset=utf-8",
    "application/json",
    "application/ld+json",
    "image/svg+xml",
  ])("decodes a blob of type %s", async (mimeType) => {
    const document = await convertContent({ blob: base64("Grüße 👋"), mimeType });
    expect(document?.pageContent).toBe("Grüße 👋");
    expect(document?.metadata).not.toHaveProperty("blob");
  });

  it.each([
    ["a blob of another type", { blob: "AQID", mimeType: "image/png" }],
    ["a blob without a type", { blob: base64("text?") }],
    ["a blob that is not UTF-8 despite its type", { blob: "/////w==", mimeType: "text/plain" }],
    ["a blob that is not base64", { blob: "not base64!", mimeType: "text/plain" }],
  ])("keeps %s in the metadata only", async (_, content) => {
    const document = await convertContent(content);
    expect(document?.pageContent).toBe("");
    expect(document?.metadata).toMatchObject({ uri: "a:1", server: "docs", blob: content.blob });
  });
});
