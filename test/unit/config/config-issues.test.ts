import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configError } from "../../../src/errors/mcp-runtime-error.js";
import { zodToIssues, ZOD_CONTEXT } from "../../../src/config/parse-options.js";
import { formatPath } from "../../../src/json/describe-value.js";

/** The issues of a value that the schema rejects. */
function findIssues(schema: z.ZodType, value: unknown, basePath?: readonly PropertyKey[]) {
  const { error } = schema.safeParse(value, ZOD_CONTEXT);
  return error === undefined ? [] : zodToIssues(error, basePath);
}

describe("formatPath", () => {
  it.each([
    [[], ""],
    [["url"], "url"],
    [["resources", 2, "availableTools", 0, "inputSchema"], "resources[2].availableTools[0].inputSchema"],
    [[0, "name"], "[0].name"],
    [["headers", "X-Key"], "headers.X-Key"],
    [["headers", "X Key"], `headers["X Key"]`],
    [["a.b", "c"], `["a.b"].c`],
    [["", "c"], `[""].c`],
    [[`say "hi"`], String.raw`["say \"hi\""]`],
  ])("%j is formatted as %s", (segments, path) => {
    expect(formatPath(segments)).toBe(path);
  });
});

describe("zodToIssues", () => {
  it("returns every problem with its path", () => {
    const schema = z.object({ name: z.string(), tools: z.array(z.object({ id: z.number() })) });
    expect(findIssues(schema, { name: 7, tools: [{ id: 1 }, { id: "x" }] })).toMatchObject([
      { path: "name" },
      { path: "tools[1].id" },
    ]);
  });

  it.each([
    [z.number(), "5", "expected a number, got a string"],
    [z.number(), Number.NaN, "expected a number, got NaN"],
    [z.number().int(), 1.5, "expected a whole number, got 1.5"],
    [z.number().nonnegative(), -1, "expected a number of at least 0, got -1"],
    [z.number().positive(), 0, "expected a number above 0, got 0"],
    [z.string().min(1), "", 'expected a non-empty string, got ""'],
    [z.boolean(), "yes", 'expected true or false, got "yes"'],
    [z.array(z.string()), {}, "expected an array, got an object"],
    [z.record(z.string(), z.string()), [], "expected an object, got an array"],
    [z.union([z.literal(false), z.object({})]), "no", 'expected false or an object, got "no"'],
    [z.union([z.boolean(), z.object({})]), "no", 'expected true, false or an object, got "no"'],
    [z.union([z.string(), z.number()]), Number.NaN, "expected a string or a number, got NaN"],
    [z.enum(["a", "b"]), "c", 'expected "a" or "b", got "c"'],
    [z.string({ error: "expected a name" }), 7, "expected a name"],
  ])("describes the expected and the received value (%#)", (schema, value, message) => {
    expect(findIssues(schema, value)).toEqual([{ path: "", message }]);
  });

  it("prefixes paths with the path of the input", () => {
    const [issue] = findIssues(z.object({ name: z.string() }), {}, ["resources", 2]);
    expect(issue?.path).toBe("resources[2].name");
  });

  it("returns the problems of the deepest matching branch of a union", () => {
    const schema = z.object({ retry: z.union([z.literal(false), z.object({ maxRetries: z.number() })]) });
    expect(findIssues(schema, { retry: { maxRetries: "x" } })).toMatchObject([{ path: "retry.maxRetries" }]);
  });

  it("merges the branches of a union when none matches deeper", () => {
    const schema = z.object({ id: z.union([z.string(), z.number()]) });
    expect(findIssues(schema, { id: true })).toEqual([
      {
        path: "id",
        message: "expected a string or a number, got a boolean",
      },
    ]);
  });

  it("returns the same message of several branches once", () => {
    const same = { error: "expected a name" };
    expect(findIssues(z.union([z.string(same), z.number(same)]), true)).toEqual([
      { path: "", message: "expected a name" },
    ]);
  });
});

describe("configError", () => {
  const issues = [
    { path: "", message: "cannot determine the transport" },
    { path: "url", message: "expected a URL" },
  ];

  it("lists every problem in its message, with its path", () => {
    expect(configError(`Server "a"`, issues).message).toBe(
      `Server "a" is not valid:\n  cannot determine the transport\n  url: expected a URL`,
    );
  });

  it("has kind invalid-config, the issues and the server", () => {
    expect(configError(`Server "a"`, issues, { server: "a" })).toMatchObject({
      kind: "invalid-config",
      server: "a",
      issues,
      attempts: 0,
    });
  });
});
