import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";

interface Recorded {
  readonly start: readonly string[];
  /** When the schema and the details of one tool are read. */
  readonly firstUse: readonly string[];
  readonly call: readonly string[];
}

/** At most this many functions of this package are on the way from `invoke` to the HTTP client. */
const MAX_CALL_FRAMES = 24;

const script = fileURLToPath(new URL("fixtures/record-journeys.mjs", import.meta.url));
const documentation = readFileSync(new URL("../docs/architecture.md", import.meta.url), "utf8");

/** The functions that a section lists, one per line: "1. `client/mcp-client` `McpClient.callTool`: …". */
function listedFunctions(heading: string): string[] {
  const [, section = ""] = documentation.split(`\n## ${heading}\n`);
  const [content = ""] = section.split("\n## ");
  return [...content.matchAll(/^\d+\. `([^`]+)` `([^`]+)`/gm)].map(([, file, name]) => `${file} ${name}`);
}

/** Callbacks are named after the function that they are in. */
function withoutRepetitions(names: readonly string[]): string[] {
  return names.filter((name, index) => name !== names[index - 1]);
}

describe("docs/architecture.md", () => {
  let recorded: Recorded;

  beforeAll(async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script]);
    recorded = JSON.parse(stdout) as Recorded;
  });

  it("lists the functions of the start in the order in which they are entered", () => {
    const listed = listedFunctions("From an agent definition to tools");
    expect(listed.length).toBeGreaterThan(10);
    const isListed = new Set(listed);
    const entered = recorded.start.filter((name) => isListed.delete(name));
    expect(entered).toEqual(listed);
  });

  it.each([
    "tools/create-tools createRuntime",
    "json-schema/portable-schema toPortableSchema",
    "json-schema/schema-hash schemaHash",
    "json/json deepFreeze",
  ])("%s runs when a tool is first used, not at the start", (name) => {
    expect(recorded.firstUse).toContain(name);
    expect(recorded.start).not.toContain(name);
  });

  it("lists every function between invoke and the HTTP client", () => {
    expect(listedFunctions("A tool call")).toEqual(withoutRepetitions(recorded.call));
  });

  it(`the path of a call has at most ${MAX_CALL_FRAMES} functions`, () => {
    expect(recorded.call.length).toBeGreaterThan(10);
    expect(recorded.call.length).toBeLessThanOrEqual(MAX_CALL_FRAMES);
  });
});
