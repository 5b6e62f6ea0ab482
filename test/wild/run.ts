// Uses real servers from npm (servers.ts): lists their tools, checks what models would see against the rules of the
// providers, calls a safe tool, kills the server and calls again. Usage: npm run wild [-- <part of a name>…]
// With --save <folder>, writes the tools as servers.json, which `npm run bench:schemas -- --data <folder>` reads.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createMcpTools, type McpClient, type McpToolset } from "../../src/index.js";
import type { JsonObject } from "../../src/json/json.js";
import { eventually } from "../fixtures/clients.js";
import { findFreePort, isListening } from "../fixtures/listener.js";
import { findProviderViolations } from "../fixtures/provider-rules.js";
import { RecordingLogger } from "../fixtures/recording-logger.js";
import { PLACEHOLDERS, WILD_SERVERS, type WildServer } from "./servers.js";

const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const START_MS = 60_000;
const MODEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{ name: none, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: none, user: {} }]
contexts: [{ name: none, context: { cluster: none, user: none } }]
current-context: none
`;

interface Row {
  readonly name: string;
  readonly transport: string;
  tools: number;
  call: string;
  afterKill: string;
  ms: number;
  /** Empty if everything worked. */
  problem: string;
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What the servers list, for other measurements. */
const listed: { readonly server: string; readonly tools: readonly object[] }[] = [];

const folder = mkdtempSync(join(tmpdir(), "wild-"));
writeFileSync(join(folder, "kubeconfig"), KUBECONFIG);

/** The program of a package without `npx`, which would start it as a child of its own. */
function toProgram(server: WildServer, port: number): Program {
  const root = join(modules, server.package);
  const { bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly bin: string | Record<string, string>;
  };
  const file = typeof bin === "string" ? bin : Object.values(bin)[0];
  const values = [String(port), folder, modules];
  const fill = (text: string) =>
    PLACEHOLDERS.reduce(
      (filled, placeholder, index) => filled.replaceAll(placeholder, values[index] ?? ""),
      text,
    );
  return {
    command: process.execPath,
    args: [join(root, file ?? ""), ...(server.args ?? []).map(fill)],
    env: Object.fromEntries(Object.entries(server.env ?? {}).map(([name, value]) => [name, fill(value)])),
  };
}

/** A server that listens on a port, in a process group of its own. */
class HttpProgram implements AsyncDisposable {
  readonly #program: Program;
  readonly #port: number;
  #child: ChildProcess | undefined;
  #output = "";

  constructor(program: Program, port: number) {
    this.#program = program;
    this.#port = port;
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#program;
    const child = spawn(command, args, {
      cwd: folder,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (this.#output = `${this.#output}${String(chunk)}`.slice(-2_000)));
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`exited with ${child.exitCode}: ${this.#output}`);
      return isListening(this.#port);
    }, START_MS);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid, "SIGKILL");
    await ended;
    await eventually(async () => !(await isListening(this.#port)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}

/** The servers that this process has started. */
function findChildren(): number[] {
  const rows = execFileSync("ps", ["-A", "-o", "pid=,ppid=,comm="], { encoding: "utf8" }).trim().split("\n");
  return rows.flatMap((row) => {
    const [pid, parent, program] = row.trim().split(/\s+/);
    return Number(parent) === process.pid && program !== "ps" ? [Number(pid)] : [];
  });
}

async function use(client: McpClient, { call }: WildServer): Promise<string> {
  if (call === undefined) return `lists ${(await client.listTools({})).length}`;
  const result = await client.callTool({ name: call.name, args: { ...call.args } }, { idempotent: true });
  if (result.isError) throw new Error(`${call.name} failed: ${result.text().slice(0, 200)}`);
  return call.name;
}

function checkTools({ tools }: McpToolset): string {
  const problems = tools.flatMap(({ name, schema }) => [
    ...(MODEL_NAME.test(name) ? [] : [`name ${name}`]),
    ...findProviderViolations(schema as JsonObject).map((violation) => `${name}: ${violation}`),
  ]);
  return problems.slice(0, 3).join("; ");
}

async function check(server: WildServer): Promise<Row> {
  const name = [server.package.replace(/^@modelcontextprotocol\//, ""), server.suffix]
    .filter(Boolean)
    .join(" ");
  const row: Row = { name, transport: "stdio", tools: 0, call: "", afterKill: "", ms: 0, problem: "" };
  const startedAt = performance.now();
  try {
    const port = await findFreePort();
    const program = toProgram(server, port);
    const before = findChildren();
    await using http = server.path === undefined ? undefined : new HttpProgram(program, port);
    await http?.start();
    const definition =
      http === undefined
        ? { ...program, args: [...program.args], cwd: folder }
        : { url: `http://localhost:${port}${server.path ?? ""}` };
    await using mcp = await createMcpTools({ wild: definition }, { logger: new RecordingLogger() });
    row.ms = Math.round(performance.now() - startedAt);
    row.tools = mcp.tools.length;
    const client = mcp.clients.wild;
    if (http !== undefined) Object.assign(row, { transport: "http" });
    row.problem = mcp.tools.length === 0 ? "no tools" : checkTools(mcp);
    listed.push({ server: name, tools: await client.listTools({}) });
    row.call = await use(client, server);
    const started = findChildren().filter((pid) => !before.includes(pid));
    if (started.length === 0) throw new Error("no process was started");
    if (http === undefined) for (const pid of started) process.kill(pid, "SIGKILL");
    await http?.kill();
    await http?.start();
    row.afterKill = await use(client, server);
  } catch (error) {
    row.problem = (error instanceof Error ? error.message : String(error))
      .replaceAll(/\s+/g, " ")
      .slice(0, 300);
  }
  return row;
}

const { values: flags, positionals: filters } = parseArgs({
  options: { save: { type: "string" } },
  allowPositionals: true,
});
const selected = WILD_SERVERS.filter(
  (server) =>
    filters.length === 0 || filters.some((filter) => `${server.package} ${server.suffix}`.includes(filter)),
);
const rows: Row[] = [];
for (const server of selected) {
  const row = await check(server);
  rows.push(row);
  const cells = [
    row.name.padEnd(46),
    row.transport.padEnd(5),
    String(row.tools).padStart(4),
    `${row.ms} ms`.padStart(9),
  ];
  console.log([...cells, row.call.padEnd(26), row.afterKill.padEnd(26), row.problem || "ok"].join("  "));
}
rmSync(folder, { recursive: true, force: true });
if (flags.save !== undefined) writeFileSync(join(flags.save, "servers.json"), JSON.stringify(listed));
const failed = rows.filter(({ problem }) => problem !== "");
const packages = new Set(selected.map((server) => server.package)).size;
console.log(
  `${rows.length - failed.length} of ${rows.length} configurations of ${packages} packages work; ${rows.reduce((sum, { tools }) => sum + tools, 0)} tools.`,
);
process.exit(failed.length === 0 ? 0 : 1);
