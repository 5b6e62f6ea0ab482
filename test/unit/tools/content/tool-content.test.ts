import { describe, expect, it } from "vitest";
import { contentOf, convert } from "./convert.js";

const PNG = "iVBORw0KGgo=";

describe("text", () => {
  it("one text block is a string", async () => {
    expect(await contentOf([{ type: "text", text: "12 degrees" }])).toBe("12 degrees");
  });

  it("several text blocks have only the two fields that providers accept", async () => {
    const blocks = [
      { type: "text", text: "12 degrees", annotations: { audience: ["user"] }, _meta: { id: 1 } },
      { type: "text", text: "rain" },
    ];
    expect(await contentOf(blocks)).toEqual([
      { type: "text", text: "12 degrees" },
      { type: "text", text: "rain" },
    ]);
  });

  it("blank texts among others are dropped", async () => {
    const blocks = [
      { type: "text", text: "" },
      { type: "text", text: "rain" },
      { type: "text", text: " \n" },
    ];
    expect(await contentOf(blocks)).toBe("rain");
  });

  it("a single blank text is kept", async () => {
    expect(await contentOf([{ type: "text", text: " \n" }])).toBe(" \n");
  });

  it("no content is an empty string", async () => {
    expect(await contentOf([])).toBe("");
  });

  it("missing content is an empty string", async () => {
    expect((await convert({})).content).toBe("");
  });
});

describe("images and audio", () => {
  it("an image is a standard image block", async () => {
    expect(await contentOf([{ type: "image", data: PNG, mimeType: "image/png" }])).toEqual([
      { type: "image", mimeType: "image/png", data: PNG },
    ]);
  });

  it("audio is a standard audio block", async () => {
    expect(await contentOf([{ type: "audio", data: "UklGRg==", mimeType: "audio/wav" }])).toEqual([
      { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
    ]);
  });

  it("text and image keep their order", async () => {
    const blocks = [
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "text", text: "a map" },
    ];
    expect(await contentOf(blocks)).toEqual([
      { type: "image", mimeType: "image/png", data: PNG },
      { type: "text", text: "a map" },
    ]);
  });

  it.each([
    ["image/jpg", "image/jpeg"],
    ["IMAGE/PNG", "image/png"],
    ["image/png; charset=binary", "image/png"],
  ])("the MIME type %s becomes %s", async (mimeType, expected) => {
    expect(await contentOf([{ type: "image", data: PNG, mimeType }])).toEqual([
      { type: "image", mimeType: expected, data: PNG },
    ]);
  });

  it.each([
    ["line breaks", "iVBO\r\nRw0K\nGgo=\n"],
    ["no padding", "iVBORw0KGgo"],
  ])("base64 with %s is normalized", async (_, data) => {
    expect(await contentOf([{ type: "image", data, mimeType: "image/png" }])).toEqual([
      { type: "image", mimeType: "image/png", data: PNG },
    ]);
  });

  it("URL-safe base64 becomes standard base64", async () => {
    expect(await contentOf([{ type: "image", data: "_9j-4A", mimeType: "image/jpeg" }])).toEqual([
      { type: "image", mimeType: "image/jpeg", data: "/9j+4A==" },
    ]);
  });
});

describe("resources", () => {
  it("an embedded text resource is a text", async () => {
    const resource = { uri: "file:///notes.md", mimeType: "text/markdown", text: "# Notes" };
    expect(await contentOf([{ type: "resource", resource }])).toBe("# Notes");
  });

  it("an embedded blob is a file block with its URI and a file name", async () => {
    const resource = { uri: "repo://a/b/report.pdf?v=2", mimeType: "application/pdf", blob: "JVBERg==" };
    expect(await contentOf([{ type: "resource", resource }])).toEqual([
      {
        type: "file",
        mimeType: "application/pdf",
        data: "JVBERg==",
        metadata: { uri: "repo://a/b/report.pdf?v=2", filename: "report.pdf" },
      },
    ]);
  });

  it.each([
    ["image/png", "image"],
    ["audio/mpeg", "audio"],
    ["application/pdf", "file"],
  ])("embedded %s is a block of type %s", async (mimeType, type) => {
    const resource = { uri: "file:///x", mimeType, blob: "AAAA" };
    expect(await contentOf([{ type: "resource", resource }])).toEqual([
      { type, mimeType, data: "AAAA", metadata: { uri: "file:///x", filename: "x" } },
    ]);
  });

  it.each([undefined, null, 7, "", "pdf", "text/\nplain", "a b/c"])(
    "a blob with the invalid type %j is an octet stream",
    async (mimeType) => {
      const content = await contentOf([{ type: "resource", resource: { blob: "AAAA", mimeType } }]);
      expect(content).toBe("Binary resource (application/octet-stream, 3 bytes)");
    },
  );

  it.each(["application/gzip", "video/mp4", "application/zip", "application/vnd.ms-excel"])(
    "an embedded blob of type %s is described in one line",
    async (mimeType) => {
      const blob = Buffer.alloc(1_500).toString("base64");
      const resource = { uri: "file:///a\nb", mimeType, blob };
      expect(await contentOf([{ type: "resource", resource }])).toBe(
        `Binary resource (${mimeType}, 1,500 bytes): file:///a b`,
      );
    },
  );

  it.each([
    "text/plain",
    "text/csv; charset=utf-8",
    "application/json",
    "application/ld+json",
    "image/svg+xml",
  ])("an embedded blob of type %s is text", async (mimeType) => {
    const blob = Buffer.from("Grüße 👋").toString("base64");
    expect(await contentOf([{ type: "resource", resource: { uri: "file:///x", mimeType, blob } }])).toBe(
      "Grüße 👋",
    );
  });

  it("an embedded blob that is not UTF-8 despite its type is binary", async () => {
    const resource = { uri: "file:///x", mimeType: "text/plain", blob: "/////w==" };
    expect(await contentOf([{ type: "resource", resource }])).toBe(
      "Binary resource (text/plain, 4 bytes): file:///x",
    );
  });

  it("an SVG image is text, which providers accept", async () => {
    const data = Buffer.from("<svg/>").toString("base64");
    expect(await contentOf([{ type: "image", data, mimeType: "image/svg+xml" }])).toBe("<svg/>");
  });

  it("a resource link is described as text", async () => {
    const link = {
      type: "resource_link",
      uri: "file:///src/main.rs",
      name: "main.rs",
      mimeType: "text/x-rust",
      description: "Where it\nstarts",
    };
    expect(await contentOf([link])).toBe(
      'Resource "main.rs" (text/x-rust): file:///src/main.rs\nWhere it starts',
    );
  });

  it("a resource link is described by its title, without hidden characters", async () => {
    const link = {
      type: "resource_link",
      uri: "https://example.com/a",
      name: "a",
      title: "\u202eThe \u001b[31mreport",
    };
    expect(await contentOf([link])).toBe('Resource "The report": https://example.com/a');
  });

  it("an embedded resource with only a URI is described like a link", async () => {
    const content = await contentOf([{ type: "resource", resource: { uri: "file:///notes.md" } }]);
    expect(content).toBe("Resource: file:///notes.md");
  });
});

describe("outputHandling", () => {
  const blocks = [
    { type: "text", text: "here" },
    { type: "image", data: PNG, mimeType: "image/png" },
    { type: "audio", data: "AAAA", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "file:///a.png", mimeType: "image/png", blob: PNG } },
    { type: "resource_link", uri: "file:///b" },
  ];
  const allContent = { image: "content", audio: "content", resource: "content" } as const;

  it.each([
    ["image", ["text", "audio", "image", "text"]],
    ["audio", ["text", "image", "image", "text"]],
    ["resource", ["text", "image", "audio", "text"]],
  ])("%s blocks can be in the artifact only", async (kind, types) => {
    const outputHandling = { ...allContent, [kind]: "artifact" };
    const { content, artifact } = await convert({ content: blocks }, { outputHandling });
    expect(content).toMatchObject(types.map((type) => ({ type })));
    expect(artifact.content).toEqual(blocks);
  });

  it("an embedded image counts as a resource", async () => {
    const outputHandling = { ...allContent, resource: "artifact" } as const;
    expect(await contentOf(blocks.slice(3, 4), { outputHandling })).toBe("");
  });

  it("structured content is shown when all other content is in the artifact", async () => {
    const outputHandling = { ...allContent, image: "artifact" } as const;
    const result = { content: blocks.slice(1, 2), structuredContent: { width: 1 } };
    expect((await convert(result, { outputHandling })).content).toBe('{"width":1}');
  });
});

describe("the artifact", () => {
  it("has allContent that the server sent", async () => {
    const result = {
      content: [{ type: "text", text: "no", annotations: { priority: 1 } }],
      structuredContent: { code: 7 },
      _meta: { trace: "abc" },
      isError: true,
    };
    expect((await convert(result)).artifact).toEqual({
      content: [{ type: "text", text: "no", annotations: { priority: 1 } }],
      structuredContent: { code: 7 },
      meta: { trace: "abc" },
      isError: true,
    });
  });

  it("of a text result has no structured content, no meta and no error", async () => {
    expect((await convert({ content: [] })).artifact).toStrictEqual({
      content: [],
      structuredContent: undefined,
      meta: undefined,
      isError: false,
    });
  });

  it("is a copy of the result", async () => {
    const result = {
      content: [{ type: "text", text: "a", _meta: { tags: ["x"] } }],
      structuredContent: { list: [{ id: 1 }] },
      _meta: { trace: { id: 1 } },
    };
    const { artifact } = await convert(result);
    expect(artifact.content[0]).not.toBe(result.content[0]);
    expect(artifact.content[0]?.["_meta"]).not.toBe(result.content[0]?._meta);
    expect(artifact.structuredContent).not.toBe(result.structuredContent);
    expect(artifact.meta?.["trace"]).not.toBe(result._meta.trace);
  });

  it("keeps a key called __proto__ as a key", async () => {
    const block: unknown = JSON.parse('{"type":"text","text":"a","__proto__":{"admin":true}}');
    const { artifact } = await convert({ content: [block] });
    expect(JSON.stringify(artifact.content)).toBe('[{"type":"text","text":"a","__proto__":{"admin":true}}]');
    expect(artifact.content[0]?.["admin"]).toBeUndefined();
  });
});
