import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type CallOutcome, createMcpTools, FAILURE_KINDS, type ServerDefinition } from "../../src/index.js";
import { memoryStore } from "../../src/stores/index.js";
import { eventually, times } from "./clients.js";

const script = fileURLToPath(new URL("./serve-fleet.ts", import.meta.url));

/** What becomes of one server of a process. */
export type FleetOrder = "hang" | "heal" | "stop" | "start" | "change";

/** What is open on the servers of a process. */
export interface FleetReport {
  readonly sessions: number;
  readonly sockets: number;
}

/** Several servers in a process of their own. */
class FleetProcess {
  readonly #process: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #urls: string[] = [];

  constructor(servers: number) {
    this.#process = spawn(process.execPath, ["--import", "tsx", script, String(servers)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const { stdout } = this.#process;
    if (stdout === null) throw new Error("no output");
    this.#lines = createInterface(stdout)[Symbol.asyncIterator]();
  }

  get urls(): readonly string[] {
    return this.#urls;
  }

  async started(): Promise<void> {
    this.#urls = JSON.parse((await this.#lines.next()).value as string) as string[];
  }

  async order(order: FleetOrder | "report", server = 0): Promise<FleetReport> {
    this.#process.stdin?.write(`${JSON.stringify({ order, server })}\n`);
    return JSON.parse((await this.#lines.next()).value as string) as FleetReport;
  }

  async end(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.stdin?.end();
    await ended;
  }
}

interface FleetOptions {
  readonly processes: number;
  readonly serversEach: number;
  /** Calls to every server, with some servers gone in every second round. */
  readonly rounds: number;
}

interface FleetStory {
  readonly servers: number;
  /** From a warm cache, with servers that hang. */
  readonly startedAfterMs: number;
  readonly toolsAtStart: number;
  readonly calls: number;
  /** Of servers that hang or die: `result`, or the kind of failure. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** On servers that answered a handshake only after it was given up: nobody was told of them. */
  readonly sessionsLeft: number;
  /** What must not happen. */
  readonly violations: readonly string[];
}

type Role = "healthy" | "hangs" | "dies" | "changes";

function roleOf(index: number): Role {
  if (index === 8) return "changes";
  if (index % 10 === 3) return "hangs";
  return index % 10 === 6 ? "dies" : "healthy";
}

/** One toolset over all servers of all processes, used while some hang, some die and one changes. */
export async function runFleet({ processes: count, serversEach, rounds }: FleetOptions): Promise<FleetStory> {
  const processes = times(count, () => new FleetProcess(serversEach));
  const servers = times(count * serversEach, (n) => ({ name: `s${n}`, role: roleOf(n), n }));
  const order = (what: FleetOrder, n: number) =>
    processes[Math.floor(n / serversEach)]?.order(what, n % serversEach);
  const orderAll = async (what: FleetOrder, role: Role) => {
    for (const { n } of servers.filter((server) => server.role === role)) await order(what, n);
  };
  const violations: string[] = [];
  const outcomes: Record<string, number> = {};
  let calls = 0;
  try {
    await Promise.all(processes.map((one) => one.started()));
    const urls = processes.flatMap((one) => [...one.urls]);
    const definitions = Object.fromEntries(
      servers.map(({ name, role, n }): [string, ServerDefinition] => [
        name,
        definitionOf(urls[n] ?? "", role),
      ]),
    );
    await using store = memoryStore();
    await (await createMcpTools(definitions, { cache: { store } })).close();

    await orderAll("hang", "hangs");
    const before = performance.now();
    await using mcp = await createMcpTools(definitions, { cache: { store } });
    const startedAfterMs = performance.now() - before;
    const toolsAtStart = mcp.tools.length;
    mcp.on("toolsChanged", () => undefined);

    const callAll = async (round: string, mayFail: (role: Role) => boolean) => {
      const wanted = servers.map(({ name }) => ({
        name: `${name}__say`,
        args: { text: `${round} ${name}` },
      }));
      calls += wanted.length;
      for (const [index, outcome] of (await mcp.callTools(wanted, { concurrency: 32 })).entries()) {
        const { name = "", role = "healthy" } = servers[index] ?? {};
        const ending = outcome.ok ? "result" : outcome.error.kind;
        if (role !== "healthy") outcomes[ending] = (outcomes[ending] ?? 0) + 1;
        const problem = problemOf(outcome, `${round} ${name}`, mayFail(role));
        if (problem !== undefined) violations.push(`${round}, ${name} (${role}): ${problem}`);
      }
    };
    for (const round of times(rounds, (n) => n)) {
      if (round % 2 === 1) await orderAll("stop", "dies");
      await callAll(`round ${round}`, (role) => role === "hangs" || role === "dies");
      if (round % 2 === 1) await orderAll("start", "dies");
    }

    const changing = servers.find(({ role }) => role === "changes");
    if (changing !== undefined) {
      const name = `${changing.name}__extra`;
      await eventually(async () => {
        if (mcp.tools.some((tool) => tool.name === name)) return true;
        await order("change", changing.n);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        return false;
      }, 30_000);
      if ((await mcp.callTool({ name })).text() !== "new") violations.push("the new tool does not work");
    }

    await orderAll("heal", "hangs");
    await mcp.servers.reconnect();
    // Breakers that opened meanwhile let their first probe through.
    await new Promise((resolve) => setTimeout(resolve, 2 * RECOVERY_MS));
    await callAll("healed", () => false);
    await mcp.close();
    const reports = () => Promise.all(processes.map((one) => one.order("report")));
    await eventually(async () => (await reports()).every(({ sockets }) => sockets === 0));
    const sessionsLeft = (await reports()).reduce((sum, { sessions }) => sum + sessions, 0);
    return {
      servers: servers.length,
      startedAfterMs,
      toolsAtStart,
      calls,
      outcomes,
      violations,
      sessionsLeft,
    };
  } finally {
    await Promise.all(processes.map((one) => one.end()));
  }
}

const RECOVERY_MS = 100;

/** A busy machine makes a healthy server slow; only of those that hang it is known that waiting is in vain. */
function definitionOf(url: string, role: Role): ServerDefinition {
  return {
    url,
    timeouts: { connectMs: role === "hangs" ? 2_000 : 30_000, requestMs: 30_000 },
    breaker: { recoveryMs: RECOVERY_MS, successes: 1 },
  };
}

function problemOf(outcome: CallOutcome, expected: string, mayFail: boolean): string | undefined {
  if (outcome.ok)
    return outcome.result.text() === expected ? undefined : `was given ${outcome.result.text()}`;
  const { kind, message } = outcome.error;
  if (!mayFail) return `failed: ${kind}, ${message}`;
  return kind in FAILURE_KINDS ? undefined : `ended in the unknown kind ${kind}`;
}
