import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseCommandLine } from "../../../src/cli/command-line.js";
import { COMMAND_NAMES } from "../../../src/cli/commands.js";
import { UsageError } from "../../../src/cli/usage-error.js";
import { widthOf } from "../../../src/cli/terminal/text-width.js";
import { packagesLoadedBy, readSource } from "../../fixtures/layers.js";
import { cli, fakeTerminal, runOn } from "../../fixtures/fake-terminal.js";

function complaintAbout(...args: string[]): [text: string, next: string] {
  try {
    parseCommandLine(args);
  } catch (error) {
    if (error instanceof UsageError) return [error.message, error.next];
    throw error;
  }
  throw new Error("expected a complaint");
}

describe("a command line", () => {
  it("is sorted into command, words, options and a program", () => {
    const line = parseCommandLine([
      "--json",
      "call",
      "weather",
      "forecast",
      "-a",
      "-",
      "-H",
      "a: 1",
      "--header=b: 2",
    ]);
    expect([line.command, line.words, line.program]).toEqual(["call", ["weather", "forecast"], []]);
    expect([...line.flags].toSorted()).toEqual(["args", "header", "json"]);
    expect([line.value("args"), line.values("header"), line.value("url")]).toEqual([
      "-",
      ["a: 1", "b: 2"],
      undefined,
    ]);
    expect(parseCommandLine(["list", "--", "npx", "-y", "server", "--json"]).program).toEqual([
      "npx",
      "-y",
      "server",
      "--json",
    ]);
  });

  it.each([
    [["lst"], 'There is no command "lst".', "Did you mean list?"],
    [["serve"], 'There is no command "serve".', "Commands are list, call, doctor, drift, snapshot."],
    [["list", "--jsn"], "There is no option --jsn.", "Did you mean --json?"],
    [["list", "--frobnicate"], "There is no option --frobnicate.", "See --help."],
    [["list", "--args", "{}"], "list has no option --args.", "It is one of call."],
    [["list", "--config"], "--config needs a value.", "Write --config <file>."],
    [["list", "--config", "--json"], "--config needs a value.", "Write --config <file>."],
    [["list", "--json=yes"], "--json takes no value.", "Write --json alone."],
    [["list", "--url", "a", "--url", "b"], "--url was given twice.", "Give it once."],
    [["list", "--"], "Nothing stands behind --.", "Write the command that starts the server there."],
    [["--yes"], "No command was given.", "Commands are list, call, doctor, drift, snapshot."],
  ])("that is wrong is told with what was meant: %j", (args, text, next) => {
    expect(complaintAbout(...args)).toEqual([text, next]);
  });

  it("that is wrong costs exit code 2, for people on stderr and for programs as JSON", async () => {
    const { code, stdout, stderr } = await cli(undefined, "lst");
    expect([code, stdout, stderr]).toEqual([2, "", '✗ There is no command "lst".\n  → Did you mean list?\n']);
    const json = await cli(undefined, "lst", "--json");
    expect([json.code, json.stderr]).toEqual([2, ""]);
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      exitCode: 2,
      error: { text: 'There is no command "lst".', next: "Did you mean list?" },
    });
  });
});

describe("help", () => {
  it("is there for the whole and for every command, with examples, and fits the terminal", async () => {
    for (const args of [[], ["--help"], ...COMMAND_NAMES.map((name) => [name, "--help"])]) {
      for (const columns of [40, 80, 200]) {
        const { code, stdout } = await runOn(fakeTerminal({ columns, env: { NO_COLOR: "1" } }), ...args);
        expect(code).toBe(0);
        expect(stdout).toContain("npx langchain-mcp-runtime");
        expect(stdout).toContain("Examples");
        expect(stdout.split("\n").filter((line) => widthOf(line) > columns)).toEqual([]);
      }
    }
  });

  it("is there before any package is loaded, and no command loads LangChain", () => {
    const files = readSource(fileURLToPath(new URL("../../../src", import.meta.url)));
    expect(packagesLoadedBy("cli/main.ts", files)).toEqual([]);
    const commands = COMMAND_NAMES.flatMap((name) => packagesLoadedBy(`cli/${name}-command.ts`, files));
    expect(commands.filter((name) => /langchain|modelcontextprotocol|undici/.test(name))).toEqual([]);
  });

  it("tells the version", async () => {
    expect((await cli(undefined, "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
