import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { runCli } from "../../src/cli/run-cli.js";
import type { Terminal } from "../../src/cli/terminal.js";

interface FakeTerminalOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A terminal of so many columns; else everything is a pipe. */
  readonly columns?: number;
}

export interface FakeTerminal extends Terminal {
  readonly stdin: PassThrough;
  /** What was written so far. */
  readonly written: { stdout: string; stderr: string };
}

/** A terminal that remembers what it was shown. */
export function fakeTerminal({ cwd = tmpdir(), env = {}, columns }: FakeTerminalOptions = {}): FakeTerminal {
  const written = { stdout: "", stderr: "" };
  const isTTY = columns !== undefined;
  const stream = (name: keyof typeof written) => ({
    isTTY,
    columns,
    write: (text: string) => {
      written[name] += text;
    },
  });
  const stdin = Object.assign(new PassThrough(), { isTTY });
  return {
    stdin,
    stdout: stream("stdout"),
    stderr: stream("stderr"),
    env: { HOME: "/nowhere", ...env },
    cwd,
    written,
  };
}

export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function runOn(terminal: FakeTerminal, ...args: readonly string[]): Promise<CliRun> {
  const code = await runCli(args, terminal, new AbortController().signal);
  return { code, ...terminal.written };
}

/** Piped, in a folder. */
export function cli(
  folder: { readonly path: string } | undefined,
  ...args: readonly string[]
): Promise<CliRun> {
  return runOn(fakeTerminal(folder === undefined ? {} : { cwd: folder.path }), ...args);
}

export interface TemporaryFolder extends Disposable {
  readonly path: string;
}

/** A folder with these files, which is gone at the end. Objects are written as JSON. */
export function temporaryFolder(files: Readonly<Record<string, unknown>> = {}): TemporaryFolder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "mcp-cli-")));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(
      join(path, name),
      typeof content === "string" ? content : JSON.stringify(content, undefined, 2),
    );
  }
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A folder whose `.mcp.json` has these servers. */
export function projectWith(servers: Readonly<Record<string, unknown>>): TemporaryFolder {
  return temporaryFolder({ ".mcp.json": { mcpServers: servers } });
}
