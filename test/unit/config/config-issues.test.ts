import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configError } from "../../../src/errors/config-error.js";
import { zodToIssues } from "../../../src/config/zod-issues.js";
import { formatPath } from "../../../src/json/describe-value.js";
import { PLAIN_WORDS } from "../../../src/config/zod-error-map.js";

/** The issues of a value that the schema refuses. */
function issuesOf(schema: z.ZodType, value: unknown, at?: readonly PropertyKey[]) {
  const { error } = schema.safeParse(value, PLAIN_WORDS);
  return error === undefined ? [] : zodToIssues(error, at);
}

describe("toPath", () => {
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
  ])("%j is written %s", (segments, path) => {
    expect(formatPath(segments)).toBe(path);
  });
});

describe("toIssues", () => {
  it("tells every problem with its path", () => {
    const schema = z.object({ name: z.string(), tools: z.array(z.object({ id: z.number() })) });
    expect(issuesOf(schema, { name: 7, tools: [{ id: 1 }, { id: "x" }] })).toEqual([
      { path: "name", message: "expected a text, found a number" },
      { path: "tools[1].id", message: `expected a number, found "x"` },
    ]);
  });

  it.each([
    [z.number(), "5", "expected a number, found another text"],
    [z.number(), Number.NaN, "expected a number, found NaN"],
    [z.number().int(), 1.5, "expected a whole number, found a fraction"],
    [z.number().nonnegative(), -1, "expected a number of at least 0"],
    [z.number().positive(), 0, "expected a number above 0"],
    [z.string().min(1), "", 'expected a text that is not empty, found ""'],
    [z.boolean(), "yes", 'expected true or false, found "yes"'],
    [z.array(z.string()), {}, "expected a list, found an object"],
    [z.record(z.string(), z.string()), [], "expected an object, found a list"],
    [z.union([z.literal(false), z.object({})]), "no", 'expected false or an object, found "no"'],
    [z.enum(["a", "b"]), "c", 'expected "a" or "b", found "c"'],
    [z.string({ error: "expected a name" }), 7, "expected a name"],
  ])("speaks plainly, whatever is wrong (%#)", (schema, value, message) => {
    expect(issuesOf(schema, value)).toEqual([{ path: "", message }]);
  });

  it("begins its paths where the input stands", () => {
    const [issue] = issuesOf(z.object({ name: z.string() }), {}, ["resources", 2]);
    expect(issue?.path).toBe("resources[2].name");
  });

  it("of a union tells the problems of the branch that came furthest", () => {
    const schema = z.object({ retry: z.union([z.literal(false), z.object({ max: z.number() })]) });
    expect(issuesOf(schema, { retry: { maxRetries: "x" } })).toEqual([
      { path: "retry.max", message: `expected a number, found "x"` },
    ]);
  });

  it("of a union where none came far tells all branches at once", () => {
    const schema = z.object({ id: z.union([z.string(), z.number()]) });
    expect(issuesOf(schema, { id: true })).toEqual([
      {
        path: "id",
        message: "expected a text or a number, found a boolean",
      },
    ]);
  });

  it("of branches that say the same tells it once", () => {
    const same = { error: "expected a name" };
    expect(issuesOf(z.union([z.string(same), z.number(same)]), true)).toEqual([
      { path: "", message: "expected a name" },
    ]);
  });
});

describe("definitionError", () => {
  const issues = [
    { path: "", message: "tells no kind of server" },
    { path: "url", message: "expected an address" },
  ];

  it("says every problem in its message, with its path where there is one", () => {
    expect(configError(`Server "a"`, issues).message).toBe(
      `Server "a" is not valid:\n  tells no kind of server\n  url: expected an address`,
    );
  });

  it("is of kind definition, with the issues and the server", () => {
    expect(configError(`Server "a"`, issues, { server: "a" })).toMatchObject({
      kind: "invalid-config",
      server: "a",
      issues,
      attempts: 0,
    });
  });
});
