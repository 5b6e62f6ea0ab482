import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definitionError, toIssues, toPath } from "../../../src/definitions/definition-issues.js";

/** The issues of a value that the schema refuses. */
function issuesOf(schema: z.ZodType, value: unknown, at?: readonly PropertyKey[]) {
  const { error } = schema.safeParse(value);
  return error === undefined ? [] : toIssues(error, at);
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
    expect(toPath(segments)).toBe(path);
  });
});

describe("toIssues", () => {
  it("tells every problem with its path", () => {
    const schema = z.object({ name: z.string(), tools: z.array(z.object({ id: z.number() })) });
    expect(issuesOf(schema, { name: 7, tools: [{ id: 1 }, { id: "x" }] })).toEqual([
      { path: "name", message: "Invalid input: expected string, received number" },
      { path: "tools[1].id", message: "Invalid input: expected number, received string" },
    ]);
  });

  it("begins its paths where the input stands", () => {
    const [issue] = issuesOf(z.object({ name: z.string() }), {}, ["resources", 2]);
    expect(issue?.path).toBe("resources[2].name");
  });

  it("of a union tells the problems of the branch that came furthest", () => {
    const schema = z.object({ retry: z.union([z.literal(false), z.object({ max: z.number() })]) });
    expect(issuesOf(schema, { retry: { max: "x" } })).toEqual([
      { path: "retry.max", message: "Invalid input: expected number, received string" },
    ]);
  });

  it("of a union where none came far tells all branches at once", () => {
    const schema = z.object({ id: z.union([z.string(), z.number()]) });
    expect(issuesOf(schema, { id: true })).toEqual([
      {
        path: "id",
        message:
          "Invalid input: expected string, received boolean, or Invalid input: expected number, received boolean",
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
    expect(definitionError(`Server "a"`, issues).message).toBe(
      `Server "a" is not valid:\n  tells no kind of server\n  url: expected an address`,
    );
  });

  it("is of kind definition, with the issues and the server", () => {
    expect(definitionError(`Server "a"`, issues, { server: "a" })).toMatchObject({
      kind: "definition",
      server: "a",
      issues,
      attempts: 0,
    });
  });
});
