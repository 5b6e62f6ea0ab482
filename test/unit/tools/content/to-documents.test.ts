import { describe, expect, it } from "vitest";
import { toResourceContents } from "../../../../src/client/resource-content.js";
import { toDocuments } from "../../../../src/tools/content/to-documents.js";

const ORIGIN = { server: "docs", uri: "a:1" };

function documentOf(content: Record<string, unknown>) {
  const [document] = toDocuments(toResourceContents({ contents: [content] }, ORIGIN), { server: "docs" });
  return document;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("what was read of a resource, as a document", () => {
  it("has its text, and says where it is from", () => {
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
  ])("is read as text where bytes are %s", (mimeType) => {
    const document = documentOf({ blob: base64("Grüße 👋"), mimeType });
    expect(document?.pageContent).toBe("Grüße 👋");
    expect(document?.metadata).not.toHaveProperty("blob");
  });

  it.each([
    ["bytes of another type", { blob: "AQID", mimeType: "image/png" }],
    ["bytes of no type", { blob: base64("text?") }],
    ["bytes that are not what they are called", { blob: "/////w==", mimeType: "text/plain" }],
    ["what is no base64", { blob: "not base64!", mimeType: "text/plain" }],
  ])("keeps %s out of the text, and in the metadata", (_, content) => {
    const document = documentOf(content);
    expect(document?.pageContent).toBe("");
    expect(document?.metadata).toMatchObject({ uri: "a:1", server: "docs", blob: content.blob });
  });
});
