import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually } from "../../fixtures/clients.js";
import { createProject } from "../../fixtures/fake-terminal.js";
import { quickServer, waitForExit } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** Needs `npm run build`: this tests the published files. */
const MAIN = [process.execPath, fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url))];
/** Starting a process takes long on a busy machine. */
const SLOW = { timeout: 60_000 };

/** `script` is part of util-linux. On other systems it has other options. */
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
if (!hasScript)
  console.log("skipped: a pseudo-terminal needs `script` of util-linux, which is not installed");

interface Running {
  readonly child: ChildProcess;
  /** The output on stdout and stderr, with escape sequences. */
  output: string;
  readonly ended: Promise<number | null>;
}

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL");
});

function run(command: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Running {
  const { NO_COLOR: _, FORCE_COLOR: __, LANGCHAIN_MCP_LOG: ___, ...inherited } = process.env;
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, env: { ...inherited, ...env } });
  running.push(child);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const result: Running = { child, output: "", ended };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (result.output += chunk.toString()));
  return result;
}

/** Runs on a pseudo-terminal. Data written to stdin is typed on the terminal. */
function runOnTerminal(cwd: string, columns: number, ...args: readonly string[]): Running {
  return runOnTerminalOfType("xterm-256color", cwd, columns, ...args);
}

function runOnTerminalOfType(
  TERM: string | undefined,
  cwd: string,
  columns: number,
  ...args: readonly string[]
): Running {
  const quoted = [...MAIN, ...args].map((argument) => `'${argument}'`).join(" ");
  const command = ["script", "-qec", `stty cols ${columns}; exec ${quoted}`, "/dev/null"];
  return run(command, cwd, { TERM, SHELL: "/bin/sh" });
}

/** Commands in the folder of `createDriftedProject`, with their exit codes. */
const COMMANDS: readonly (readonly [code: number, command: string])[] = [
  [1, "list"],
  [5, "call up fails"],
  [2, "call up missing"],
  [1, "doctor"],
  [3, "drift agent.json"],
  [1, "snapshot"],
  [0, "describe up fails"],
];

/** A folder with a server that works, one that does not, and an agent whose tools are not those of the servers. */
function createDriftedProject(url: string): TemporaryFolder {
  const inputSchema = { type: "object" };
  const agent = { $resourceType: "mcp", name: "up", availableTools: [{ name: "removed", inputSchema }] };
  return new TemporaryFolder({
    ".mcp.json": { mcpServers: { up: { url }, down: { url: "http://127.0.0.1:1/mcp" } } },
    "agent.json": { resources: [agent] },
  });
}

function startFailingServer() {
  const fail = () => ({ isError: true, content: [{ type: "text", text: "no" }] });
  return startMcpTestServer({ tools: [{ name: "fails", description: "Fails.", run: fail }] });
}

describe.runIf(hasScript)("on a pseudo-terminal", () => {
  it.each(COMMANDS)("of 20 columns and no type, %i is the exit code of %s", SLOW, async (code, line) => {
    await using server = await startFailingServer();
    using folder = createDriftedProject(server.url);
    const command = runOnTerminalOfType(undefined, folder.path, 20, ...line.split(" "));
    expect([await command.ended, command.output]).toEqual([code, expect.stringMatching(/\S/)]);
    expect(command.output).not.toMatch(/^\s+at /m);
    expect(server.openSessions).toEqual([]);
  });

  it("the output has colors, fits 40 columns, and the spinner is erased at the end", SLOW, async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "delay", ms: 300 }, { method: "initialize", times: 1 });
    using folder = createProject({ weather: { url: server.url } });
    const list = runOnTerminal(folder.path, 40, "list");
    expect(await list.ended).toBe(0);
    expect(list.output).toContain("\u001b[32m✓\u001b[39m");
    expect(list.output).toMatch(/⠋ connecting 0\/1 {2}0\.\d s {2}weather/);
    const [after = ""] = list.output.split("\r\u001b[2K").slice(-1);
    expect(after).toMatch(/^\S*✓/);
    const lines = stripVTControlCharacters(after).split(/\r?\n/);
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
  });

  it("the user is asked before a command of a project file starts: no starts nothing", SLOW, async () => {
    using folder = createProject({ child: quickServer() });
    const list = runOnTerminal(folder.path, 80, "list");
    await eventually(() => list.output.includes("[y/N] "), 30_000);
    list.child.stdin?.write("n\n");
    expect(await list.ended).toBe(4);
    expect(list.output).toContain("would start ");
  });

  it("yes starts the command, and Ctrl-C stops it with exit code 130", SLOW, async () => {
    using pids = new TemporaryFolder();
    const pidFile = join(pids.path, "pid");
    using folder = createProject({ child: quickServer("silent", pidFile) });
    const list = runOnTerminal(folder.path, 80, "list");
    await eventually(() => list.output.includes("[y/N] "), 30_000);
    list.child.stdin?.write("y\n");
    await eventually(() => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "", 30_000);
    list.child.stdin?.write("\u0003");
    expect(await list.ended).toBe(130);
    await waitForExit(Number(readFileSync(pidFile, "utf8")));
    expect(list.output.trimEnd().endsWith("\u001b[2K")).toBe(true);
  });
});

describe("on a pipe", () => {
  it.each(COMMANDS)("that is closed, %i is the exit code of %s", SLOW, async (code, line) => {
    await using server = await startFailingServer();
    using folder = createDriftedProject(server.url);
    const command = run([...MAIN, ...line.split(" ")], folder.path, { LANGCHAIN_MCP_LOG: "debug" });
    command.child.stdout?.destroy();
    command.child.stderr?.destroy();
    expect(await command.ended).toBe(code);
    expect(server.openSessions).toEqual([]);
  });

  it("--json prints one document to stdout, and a closed pipe ends the process", SLOW, async () => {
    await using server = await startMcpTestServer();
    using folder = createProject({ weather: { url: server.url } });
    const list = run([...MAIN, "list", "--json"], folder.path);
    expect(await list.ended).toBe(0);
    expect(JSON.parse(list.output)).toMatchObject({ ok: true, servers: [{ name: "weather" }] });
    const unread = run([...MAIN, "--help"], folder.path);
    unread.child.stdout?.destroy();
    expect(await unread.ended).toBe(0);
    expect(unread.output).toBe("");
  });

  it.runIf(existsSync("/dev/full"))(
    "an output that cannot be written is reported in one line",
    SLOW,
    async () => {
      using folder = new TemporaryFolder();
      const sh = (redirection: string) =>
        run(["/bin/sh", "-c", `exec "$0" "$@" ${redirection}`, ...MAIN, "--help"], folder.path);
      const full = sh("> /dev/full");
      expect(await full.ended).toBe(1);
      expect(full.output).toMatch(/^✗ .*ENOSPC: .*\.\n$/);
      const bothFull = sh("> /dev/full 2> /dev/full");
      expect([await bothFull.ended, bothFull.output]).toEqual([1, ""]);
    },
  );
});
