// Packs the package, installs it in empty folders beside the versions of rows.ts, and uses it there.
// Usage: npm run matrix [-- <part of a name>…]. Fails if a promised combination fails.
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "../fixtures/clients.js";
import { DynamoServer } from "../fixtures/dynamo-server.js";
import { findFreePort, isListening } from "../fixtures/listener.js";
import { MATRIX, type MatrixRow } from "./rows.js";

const INSTALL_MS = 180_000;
const CHECK_MS = 60_000;
const COMMAND_MS = 400_000;
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "matrix-"));

interface Outcome {
  readonly name: string;
  readonly state: "ok" | "FAILED" | "not installed";
  readonly detail: string;
}

class NotInstalledError extends Error {}

interface RunOptions {
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command in its own process group, which is killed after the timeout. Rejects with its output if it fails. */
async function run(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  const { cwd, timeoutMs, env = {} } = options;
  const child = spawn(command === "node" ? process.execPath : command, args, {
    cwd,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += String(chunk)));
  const timer = setTimeout(() => killGroup(child), timeoutMs);
  const code = await new Promise<number | string | null>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (exitCode, signal) => resolve(exitCode ?? signal));
  });
  clearTimeout(timer);
  if (code === 0) return output;
  const reason = code === "SIGKILL" ? `no end after ${timeoutMs / 1_000} s` : `exit code ${code}`;
  throw new Error(`${[command, ...args].join(" ").slice(0, 80)}: ${reason}: ${summarize(output)}`);
}

function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, "SIGKILL");
}

/** The lines that name the error. */
function summarize(output: string): string {
  const lines = output.split("\n").filter((line) => /error|Error|ERESOLVE|peer |Found:/.test(line));
  return (lines.length === 0 ? output.slice(-300) : lines.slice(0, 5).join(" | ")).replaceAll(/\s+/g, " ");
}

async function pack(): Promise<string> {
  await run("npm", ["run", "build"], { cwd: root, timeoutMs: INSTALL_MS });
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const output = await run("npm", args, { cwd: root, timeoutMs: INSTALL_MS });
  return join(folder, /\S+\.tgz/.exec(output)?.[0] ?? "");
}

async function install(tarball: string, { packages, overrides = {} }: MatrixRow, cwd: string): Promise<void> {
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "empty", private: true, overrides }));
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts", "--loglevel=error"];
  try {
    await run("npm", ["install", ...quiet, tarball, ...packages], { cwd, timeoutMs: INSTALL_MS });
  } catch (error) {
    throw new NotInstalledError(error instanceof Error ? error.message : String(error));
  }
  cpSync(fileURLToPath(new URL("checks", import.meta.url)), join(cwd, "checks"), { recursive: true });
}

interface StoreServer extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
}

async function startServer(kind: MatrixRow["server"]): Promise<StoreServer> {
  if (kind === undefined) return { env: {}, async [Symbol.asyncDispose]() {} };
  if (kind === "redis") return startRedis();
  const server = await DynamoServer.start();
  await server.createTable("matrix");
  const credentials = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
  return {
    env: { DYNAMO_ENDPOINT: server.endpoint, ...credentials },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function startRedis(): Promise<StoreServer> {
  const port = await findFreePort();
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
  const child = spawn("redis-server", settings, { stdio: "ignore" });
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  await Promise.race([failed, eventually(() => isListening(port))]);
  return {
    env: { REDIS_URL: `redis://127.0.0.1:${port}` },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
    },
  };
}

async function runTests(node: string, files: readonly string[], folderOfRow: string): Promise<void> {
  const env = { IOREDIS_FILE: join(folderOfRow, "node_modules/ioredis/built/index.js") };
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts", ...files];
  await run(node, args, { cwd: root, timeoutMs: COMMAND_MS, env });
}

async function checkRow(row: MatrixRow, tarball: string, cwd: string): Promise<Outcome> {
  const { name, checks = [], commands = [], tests = [] } = row;
  const node = row.node === undefined ? "node" : join(cwd, row.node);
  try {
    await install(tarball, row, cwd);
    await using server = await startServer(row.server);
    for (const check of checks)
      for (const mode of ["import", "require"])
        await run(node, ["checks/run.mjs", check, mode], { cwd, timeoutMs: CHECK_MS, env: server.env });
    for (const [command, ...args] of commands) await run(command, args, { cwd, timeoutMs: COMMAND_MS });
    if (tests.length > 0) await runTests(node, tests, cwd);
    return { name, state: "ok", detail: row.packages.join(" ") };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    const isMissing = row.isOptional === true && error instanceof NotInstalledError;
    return { name, state: isMissing ? "not installed" : "FAILED", detail };
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

async function publish(): Promise<Outcome> {
  const name = "npm publish --dry-run";
  try {
    const args = ["publish", "--dry-run", "--ignore-scripts"];
    const output = await run("npm", args, { cwd: root, timeoutMs: INSTALL_MS });
    return { name, state: "ok", detail: /package size:\s*(.*)/.exec(output)?.[1] ?? "" };
  } catch (error) {
    return { name, state: "FAILED", detail: String(error) };
  }
}

function print({ name, state, detail }: Outcome): void {
  console.log([state.padEnd(14), name.padEnd(42), detail].join(" "));
}

const filters = process.argv.slice(2);
const isSelected = (name: string) => filters.length === 0 || filters.some((filter) => name.includes(filter));
const outcomes: Outcome[] = [];
try {
  const tarball = await pack();
  for (const [index, row] of MATRIX.entries()) {
    if (!isSelected(row.name)) continue;
    outcomes.push(await checkRow(row, tarball, join(folder, String(index))));
    print(outcomes.at(-1) as Outcome);
  }
  if (isSelected("npm publish")) {
    outcomes.push(await publish());
    print(outcomes.at(-1) as Outcome);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const failed = outcomes.filter(({ state }) => state === "FAILED").length;
const works = outcomes.filter(({ state }) => state === "ok").length;
console.log(
  `${works} of ${outcomes.length} work, ${failed} failed, ${outcomes.length - works - failed} could not be installed.`,
);
process.exitCode = failed === 0 ? 0 : 1;
