import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseCommandLine, COMMAND_NAMES } from "../../../src/cli/command-line.js";
import { UsageError } from "../../../src/cli/exit-codes.js";
import { PROJECT_FILES } from "../../../src/config/files/config-locations.js";
import { textWidth } from "../../../src/cli/text-format.js";
import { packagesLoadedBy, readSource } from "../../fixtures/layers.js";
import { cli, createFakeTerminal, runOn } from "../../fixtures/fake-terminal.js";

function getUsageError(...args: string[]): [message: string, hint: string] {
  try {
    parseCommandLine(args);
  } catch (error) {
    if (error instanceof UsageError) return [error.message, error.hint];
    throw error;
  }
  throw new Error("expected a UsageError");
}

describe("parseCommandLine", () => {
  it("separates the command, positionals, options and the program after --", () => {
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
    expect([line.command, line.positionals, line.program]).toEqual(["call", ["weather", "forecast"], []]);
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
    [["lst"], 'Unknown command "lst".', "Did you mean list?"],
    [
      ["serve"],
      'Unknown command "serve".',
      "Commands: list, describe, call, doctor, drift, snapshot, publish, withdraw.",
    ],
    [["list", "--jsn"], "Unknown option --jsn.", "Did you mean --json?"],
    [["list", "--frobnicate"], "Unknown option --frobnicate.", "See --help."],
    [["list", "--args", "{}"], "list has no option --args.", "It is an option of call."],
    [["list", "--output", "a"], "list has no option --output.", "It is an option of call and snapshot."],
    [
      ["publish", "--url", "http://a"],
      "publish has no option --url.",
      "It is an option of list, describe, call, doctor, drift, and snapshot.",
    ],
    [["list", "--config"], "--config needs a value.", "Usage: --config <file>."],
    [["list", "--config", "--json"], "--config needs a value.", "Usage: --config <file>."],
    [["list", "--json=yes"], "--json takes no value.", "Use --json without a value."],
    [["list", "--url", "a", "--url", "b"], "--url was given twice.", "Use it once."],
    [["list", "--"], "Missing command after --.", "Write the command that starts the server after --."],
    [
      ["--yes"],
      "Missing command.",
      "Commands: list, describe, call, doctor, drift, snapshot, publish, withdraw.",
    ],
  ])("rejects %j with a message and a hint", (args, message, hint) => {
    expect(getUsageError(...args)).toEqual([message, hint]);
  });

  it("errors end with exit code 2, as text on stderr or with --json on stdout", async () => {
    const { code, stdout, stderr } = await cli(undefined, "lst");
    expect([code, stdout, stderr]).toEqual([2, "", '✗ Unknown command "lst".\n  → Did you mean list?\n']);
    const json = await cli(undefined, "lst", "--json");
    expect([json.code, json.stderr]).toEqual([2, ""]);
    expect(JSON.parse(json.stdout)).toEqual({
      ok: false,
      exitCode: 2,
      error: { text: 'Unknown command "lst".', hint: "Did you mean list?" },
    });
  });
});

describe("help", () => {
  it("the overview and every command have help with examples that fits the terminal", async () => {
    for (const args of [[], ["--help"], ...COMMAND_NAMES.map((name) => [name, "--help"])]) {
      for (const columns of [40, 80, 200]) {
        const { code, stdout } = await runOn(
          createFakeTerminal({ columns, env: { NO_COLOR: "1" } }),
          ...args,
        );
        expect(code).toBe(0);
        expect(stdout).toContain("npx langchain-mcp-runtime");
        expect(stdout).toContain("Examples");
        expect(stdout.split("\n").filter((line) => textWidth(line) > columns)).toEqual([]);
      }
    }
  });

  it("the overview lists the config files", async () => {
    const { stdout } = await cli(undefined, "--help");
    for (const file of PROJECT_FILES) expect(stdout).toContain(file);
    expect(PROJECT_FILES).toContain(".gemini/settings.json");
  });

  it("help loads no package, and no command loads LangChain, the MCP SDK or undici", () => {
    const files = readSource(fileURLToPath(new URL("../../../src", import.meta.url)));
    expect(packagesLoadedBy("cli/main.ts", files)).toEqual([]);
    const paths = files.map(({ path }) => path).filter((path) => /^cli\/.*-command\.ts$/.test(path));
    const names = paths.map((path) => path.replace(/^.*\/|-command\.ts$/g, ""));
    const commands = names.flatMap((name) => (name === "registry" ? ["publish", "withdraw"] : [name]));
    expect(commands.toSorted()).toEqual(COMMAND_NAMES.toSorted());
    const packages = paths.flatMap((path) => packagesLoadedBy(path, files));
    expect(packages.filter((name) => /langchain|modelcontextprotocol|undici/.test(name))).toEqual([]);
  });

  it("--version prints the version", async () => {
    expect((await cli(undefined, "--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
