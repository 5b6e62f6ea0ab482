import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually } from "../../fixtures/clients.js";
import { projectWith, temporaryFolder } from "../../fixtures/fake-terminal.js";
import { quickServer, untilGone } from "../../fixtures/stdio-servers.js";

/** Needs `npm run build`: what is tested is what would be published. */
const MAIN = [process.execPath, fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url))];
/** A process has to be loaded, on a machine that is shared. */
const PATIENCE = { timeout: 60_000 };

/** util-linux has it on every Linux; that of other systems takes other options. */
const hasScript = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
if (!hasScript) console.log("skipped: a pseudo-terminal needs `script` of util-linux, which is not here");

interface Running {
  readonly child: ChildProcess;
  /** All that a person would have seen, with its escapes. */
  shown: string;
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
  const result: Running = { child, shown: "", ended };
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (result.shown += chunk.toString()));
  return result;
}

/** On a pseudo-terminal of so many columns. What is written to stdin is typed there. */
function onTerminal(cwd: string, columns: number, ...args: readonly string[]): Running {
  const quoted = [...MAIN, ...args].map((word) => `'${word}'`).join(" ");
  const command = ["script", "-qec", `stty cols ${columns}; exec ${quoted}`, "/dev/null"];
  return run(command, cwd, { TERM: "xterm-256color", SHELL: "/bin/sh" });
}

describe.runIf(hasScript)("on a pseudo-terminal", () => {
  it("there are colours, 40 columns are kept, and the live line is gone at the end", PATIENCE, async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "delay", ms: 300 }, { method: "initialize", times: 1 });
    using folder = projectWith({ weather: { url: server.url } });
    const list = onTerminal(folder.path, 40, "list");
    expect(await list.ended).toBe(0);
    expect(list.shown).toContain("\u001b[32m✓\u001b[39m");
    expect(list.shown).toMatch(/⠋ connecting 0\/1 {2}0\.\d s {2}weather/);
    const [after = ""] = list.shown.split("\r\u001b[2K").slice(-1);
    expect(after).toMatch(/^\S*✓/);
    const lines = stripVTControlCharacters(after).split(/\r?\n/);
    expect(lines.filter((line) => line.length > 40)).toEqual([]);
  });

  it("a command of a project's file is asked about: a no starts nothing", PATIENCE, async () => {
    using folder = projectWith({ child: quickServer() });
    const list = onTerminal(folder.path, 80, "list");
    await eventually(() => list.shown.includes("[y/N] "), 30_000);
    list.child.stdin?.write("n\n");
    expect(await list.ended).toBe(4);
    expect(list.shown).toContain("would start a command");
  });

  it("a yes starts it, and Ctrl-C closes it and ends with 130", PATIENCE, async () => {
    using pids = temporaryFolder();
    const pidFile = join(pids.path, "pid");
    using folder = projectWith({ child: quickServer("silent", pidFile) });
    const list = onTerminal(folder.path, 80, "list");
    await eventually(() => list.shown.includes("[y/N] "), 30_000);
    list.child.stdin?.write("y\n");
    await eventually(() => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "", 30_000);
    list.child.stdin?.write("\u0003");
    expect(await list.ended).toBe(130);
    await untilGone(Number(readFileSync(pidFile, "utf8")));
    expect(list.shown.trimEnd().endsWith("\u001b[2K")).toBe(true);
  });
});

describe("on a pipe", () => {
  it("one document goes to stdout, and a reader who has enough ends it", PATIENCE, async () => {
    await using server = await startMcpTestServer();
    using folder = projectWith({ weather: { url: server.url } });
    const list = run([...MAIN, "list", "--json"], folder.path);
    expect(await list.ended).toBe(0);
    expect(JSON.parse(list.shown)).toMatchObject({ ok: true, servers: [{ name: "weather" }] });
    const unread = run([...MAIN, "--help"], folder.path);
    unread.child.stdout?.destroy();
    expect(await unread.ended).toBe(0);
    expect(unread.shown).toBe("");
  });

  it.runIf(existsSync("/dev/full"))("output that cannot be written is told in a line", PATIENCE, async () => {
    using folder = temporaryFolder();
    const sh = (redirection: string) =>
      run(["/bin/sh", "-c", `exec "$0" "$@" ${redirection}`, ...MAIN, "--help"], folder.path);
    const full = sh("> /dev/full");
    expect(await full.ended).toBe(1);
    expect(full.shown).toMatch(/^✗ The output cannot be written: ENOSPC: .*\.\n$/);
    const mute = sh("> /dev/full 2> /dev/full");
    expect([await mute.ended, mute.shown]).toEqual([1, ""]);
  });
});
