import { describe, expect, it } from "vitest";
import { createTestClient, rejection } from "../../fixtures/clients.js";
import {
  SKILL_FILES,
  SKILL_SERVERS,
  type SkillServer,
  skillMarkdown,
  startRawSkillServer,
  startSkillServer,
  toEntry,
} from "../../fixtures/skill-server.js";
import { startMcpTestServer } from "../../../src/testing/index.js";

function createSkillClient(server: SkillServer, kind: (typeof SKILL_SERVERS)[number]) {
  return createTestClient(server, { protocol: kind.endsWith("2025-11-25") ? "legacy" : "2026-07-28" });
}

describe.each(SKILL_SERVERS)("the skills of a server (%s)", (kind) => {
  it("are listed page by page without reading a file", async () => {
    await using server = await startSkillServer(kind);
    await using client = createSkillClient(server, kind);
    const skills = await client.listSkills();
    expect(skills.map(({ name, uri, description }) => ({ name, uri, description }))).toEqual([
      {
        name: "refunds",
        uri: "skill://acme/refunds/SKILL.md",
        description: "Refund an order, step by step.",
      },
      { name: "pdf-processing", uri: "skill://pdf-processing/SKILL.md", description: "Fill PDF forms." },
    ]);
    const files = skills[1]?.files === "dynamic" ? [] : (skills[1]?.files ?? []);
    expect(files.map(({ path, size }) => `${path} ${size}`).toSorted()).toEqual([
      "SKILL.md 104",
      "assets/dot.png 4",
      "references/FORMS.md 23",
    ]);
    expect(server.reads).toEqual([]);
  });

  it("are read by name, by URI and with a skill of the list", async () => {
    await using server = await startSkillServer(kind);
    await using client = createSkillClient(server, kind);
    const byName = await client.readSkill("pdf-processing");
    expect(byName).toMatchObject({
      path: "SKILL.md",
      text: SKILL_FILES["pdf-processing/SKILL.md"],
      body: "Read [the forms](references/FORMS.md) first.",
      isVerified: true,
    });
    expect(await client.readSkill("skill://pdf-processing/SKILL.md")).toEqual(byName);
    const requests = server.methods.length;
    expect(await client.readSkill(byName.skill)).toEqual(byName);
    expect(server.methods.slice(requests)).toEqual(["resources/read"]);
  });

  it("have other files, by path or URI, as text or binary", async () => {
    await using server = await startSkillServer(kind);
    await using client = createSkillClient(server, kind);
    const skill = await client.getSkill("pdf-processing");
    const uri = "skill://pdf-processing/references/FORMS.md";
    for (const file of ["references/FORMS.md", "./references/FORMS.md#form-1", uri])
      expect(await client.readSkill(skill, { file })).toMatchObject({
        uri,
        text: "Form 1: name and date.\n",
      });
    const dot = await client.readSkill(skill, { file: "assets/dot.png" });
    expect(dot).toMatchObject({ blob: "iVBORw==", isVerified: true });
    expect(dot.text).toBeUndefined();
  });

  it("are not found by another name, and only files that are listed are requested", async () => {
    await using server = await startSkillServer(kind);
    await using client = createSkillClient(server, kind);
    const typo = await rejection(client.readSkill("refund"));
    expect(typo).toMatchObject({ kind: "not-found" });
    expect(typo.message).toContain('Did you mean "refunds"?');
    expect(await rejection(client.getSkill("skill://nowhere/SKILL.md"))).toMatchObject({ kind: "not-found" });
    const outside = [
      "../pdf-processing/SKILL.md",
      "skill://pdf-processing/SKILL.md",
      "NOTES.md",
      "..%2fx",
      "/SKILL.md",
    ];
    for (const file of outside)
      expect(await rejection(client.readSkill("refunds", { file }))).toMatchObject({ kind: "not-found" });
    expect(server.reads).toEqual([]);
  });
});

describe("skills", () => {
  it("of a server without them are an empty list", async () => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    expect(await client.listSkills()).toEqual([]);
    expect(await rejection(client.readSkill("skill://x/SKILL.md"))).toMatchObject({ kind: "not-found" });
    expect(server.requests.some(({ method }) => method?.startsWith("skills/"))).toBe(false);
  });

  it("that share a name are read by URI", async () => {
    const files = {
      "a/help/SKILL.md": skillMarkdown("help", "A."),
      "b/help/SKILL.md": skillMarkdown("help", "B."),
    };
    await using server = await startSkillServer("SDK 2, 2026-07-28", files);
    await using client = createTestClient(server);
    const ambiguous = await rejection(client.readSkill("help"));
    expect(ambiguous).toMatchObject({ kind: "invalid-request" });
    expect(ambiguous.message).toContain("use the URI");
    expect((await client.readSkill("skill://b/help/SKILL.md")).skill.description).toBe("B.");
  });

  it("with dynamic files are read without digests, below their folder only", async () => {
    const markdown = skillMarkdown("daily", "Today.");
    const frontmatter = { name: "daily", description: "Today." };
    await using server = await startRawSkillServer(() => ({
      entries: [{ uri: "skill://daily/SKILL.md", frontmatter, resources: "dynamic" }],
      read: (uri) => (uri.endsWith("SKILL.md") ? markdown : `today: ${uri}`),
    }));
    await using client = createTestClient(server);
    expect(await client.readSkill("daily")).toMatchObject({ body: "# daily", isVerified: false });
    expect(await client.readSkill("daily", { file: "data/1.txt" })).toMatchObject({
      text: "today: skill://daily/data/1.txt",
    });
    const outside = await rejection(client.readSkill("daily", { file: "../other/SKILL.md" }));
    expect(outside).toMatchObject({ kind: "not-found" });
  });

  it("may have a file whose name is encoded in another way", async () => {
    const files = { "qa/SKILL.md": skillMarkdown("qa"), "qa/Q&A ü.md": "answers" };
    const entry = toEntry("qa", files, { name: "qa", description: "How to use qa." });
    const resources = entry.resources.map((file) => ({
      ...file,
      uri: file.uri.replace("Q&A ü", "Q%26A%20%C3%BC"),
    }));
    await using server = await startRawSkillServer(() => ({
      entries: [{ ...entry, resources }],
      read: (uri) => (uri.endsWith("SKILL.md") ? files["qa/SKILL.md"] : "answers"),
    }));
    await using client = createTestClient(server);
    for (const file of ["Q&A ü.md", "Q%26A%20%C3%BC.md", "Q&A%20ü.md"])
      expect((await client.readSkill("qa", { file })).text).toBe("answers");
    expect(new Set(server.reads)).toEqual(new Set(["skill://qa/Q%26A%20%C3%BC.md"]));
  });

  it.each([
    ["a number as a skill", [5, {}]],
    ["an empty name", ["", {}]],
    ["an object that is not a skill", [{ name: "x" }, {}]],
    ["a file that is not a string", ["x", { file: 5 }]],
    ["an unknown option", ["x", { path: "SKILL.md" }]],
  ])("are not requested with %s", async (_, [skill, options]) => {
    await using server = await startMcpTestServer();
    await using client = createTestClient(server);
    const error = await rejection(client.readSkill(skill as never, options as never));
    expect(error).toMatchObject({ kind: "invalid-config" });
    expect(server.requests).toEqual([]);
  });
});
