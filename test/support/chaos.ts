import { randomInt } from "node:crypto";
import { FAILURE_KINDS, McpClient, McpRuntimeError } from "../../src/index.js";
import {
  FORGOTTEN_SESSION_ANSWERS,
  type ForgottenSessionAnswer,
  type McpTestServer,
  startMcpTestServer,
  type TestTool,
} from "../../src/testing/index.js";
import { eventually, times } from "./clients.js";
import { createDice, type Dice } from "./dice.js";
import { type FaultCounts, FaultProxy, type FaultRates } from "./fault-proxy.js";
import { LegacySseServer } from "./legacy-sse-server.js";

interface ChaosOptions {
  readonly seed: number;
  /** Longer, when it takes longer until every caller has made a few calls. */
  readonly forMs: number;
  /** How the server answers; `legacy sse` is an older one, which `http` has to find out. */
  readonly answers: "json" | "sse" | "legacy sse";
  /** Number the events, so that broken streams are resumed. */
  readonly resumable?: boolean;
  /** Repeat on sessions of their own. */
  readonly isolated?: boolean;
  readonly callers: number;
}

/** What must not happen; each is a list of what did. */
export interface ChaosViolations {
  /** Calls that did not end in their time, or soon after they were cancelled. */
  readonly hung: string[];
  /** Calls that ended in something else than a result, a kind of failure or their own caller's reason. */
  readonly strayEndings: string[];
  /** Calls that were given another call's result. */
  readonly wrongResults: string[];
  /** Calls of the tool that must not be repeated, executed more than once. */
  readonly paidTwice: string[];
  /** Failed calls that said they had not been run, and had. */
  readonly falseDenials: string[];
  readonly unhandledRejections: string[];
  /** What did not work once the network was good again. */
  readonly notHealed: string[];
  readonly leftOpen: string[];
}

export interface ChaosReport {
  readonly calls: number;
  /** How many calls ended in a `result`, by their caller (`cancelled by caller`), or in which kind of failure. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** By call id. */
  readonly executions: ReadonlyMap<string, number>;
  readonly faults: FaultCounts;
  readonly disturbances: Readonly<Record<string, number>>;
  readonly healedAfterMs: number;
  readonly violations: ChaosViolations;
}

const TIMEOUTS = { connectMs: 300, requestMs: 400, totalMs: 1_500 } as const;
/** What a busy event loop may add to a deadline. */
const SLACK_MS = 1_000;
/** One reset ends many calls at once: a breaker that soon opens, and stays so, would keep all chaos out. */
const BREAKER = { failures: 12, recoveryMs: 50, probes: 1, successes: 2 } as const;
const RATES: FaultRates = {
  resetOnConnect: 0.05,
  reset: 0.01,
  truncate: 0.01,
  blackhole: 0.005,
  delay: 0.05,
};
/** On a machine with little time to spare, `forMs` alone might see no fault at all. */
const LEAST_CALLS = 10;
const WARM_UP_ROUNDS = 10;
const CANCELLED = "cancelled by caller";
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** `CHAOS_SEED`, or a new one. */
export function chaosSeed(): number {
  const given = process.env["CHAOS_SEED"];
  if (given === undefined || given === "") return randomInt(2 ** 31);
  const seed = Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`CHAOS_SEED must be a whole number, found "${given}".`);
  return seed;
}

/**
 * Many callers on one client, over a network and to a server that fail all the time. Then the network
 * is good again, and at last the client is closed. The seed brings back what is decided, not when it
 * happens: a failure comes back with its seed often, not always.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, forMs, answers, resumable = false, isolated = false, callers } = options;
  const dice = createDice(seed);
  const socketsBefore = openSockets();
  using rejections = watchRejections();
  const executions = new Map<string, number>();
  const tools = createTools(dice.fork(), executions);
  await using server: ChaosServer =
    answers === "legacy sse"
      ? await LegacySseServer.start({ tools })
      : await startMcpTestServer({ answers, resumable, tools });
  await warmUp(server, callers);
  await using proxy = await FaultProxy.start({ target: server.url, seed, rates: RATES });
  await using client = new McpClient(
    {
      name: "chaos",
      url: proxy.url,
      // An older server is found in twice as many steps, each of which may meet a fault.
      timeouts: answers === "legacy sse" ? { ...TIMEOUTS, connectMs: 1_000 } : TIMEOUTS,
      retry: { max: 2, baseMs: 10, maxMs: 50, isolated },
      breaker: BREAKER,
    },
    { logger: SILENT },
  );
  // Somebody listens, so that the server's own stream is open as well.
  client.on("toolsChanged", () => undefined);

  const record = new ChaosRecord();
  const endAt = performance.now() + forMs;
  const disturbances = disturb({ server, proxy, client, dice: dice.fork(), endAt });
  await Promise.all(
    times(callers, (caller) => callUntil(endAt, { client, caller, dice: dice.fork(), record })),
  );
  const disturbed = await disturbances;

  proxy.calm();
  const { healedAfterMs, notHealed } = await heal(client, server, callers);
  await client.close();
  const leftOpen = await whatIsLeft({ client, server, proxy, socketsBefore });
  return {
    calls: record.calls,
    outcomes: Object.fromEntries(record.outcomes),
    executions,
    faults: proxy.counts,
    disturbances: disturbed,
    healedAfterMs,
    violations: {
      hung: record.hung,
      strayEndings: record.strayEndings,
      wrongResults: record.wrongResults,
      paidTwice: [...executions].flatMap(([id, count]) =>
        id.startsWith("pay") && count > 1
          ? [`${id}: ${count} times, ended in ${record.endings.get(id)}`]
          : [],
      ),
      falseDenials: record.denials
        .filter((id) => executions.has(id))
        .map((id) => `${id}: ${record.endings.get(id)}`),
      unhandledRejections: rejections.seen,
      notHealed,
      leftOpen,
    },
  };
}

/** Every violation in one line each. */
export function describeViolations(violations: ChaosViolations): string[] {
  return Object.entries(violations).flatMap(([name, found]: [string, string[]]) =>
    found.map((text) => `${name}: ${text}`),
  );
}

/**
 * On a good network and without haste: code that runs for the first time would miss every deadline.
 * Idempotent, because a machine that stands still for seconds makes the server close sockets in use.
 */
async function warmUp(server: ChaosServer, callers: number): Promise<void> {
  await using client = new McpClient({ name: "warm-up", url: server.url }, { logger: SILENT });
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1)
    await Promise.all(times(callers, () => client.callTool({ name: "check" }, { idempotent: true })));
}

/** `pay` must not be run twice, `get` may; both count their runs, by call. `check` does nothing wrong. */
function createTools(dice: Dice, executions: Map<string, number>): TestTool[] {
  const run: TestTool["run"] = async ({ id }) => {
    executions.set(String(id), (executions.get(String(id)) ?? 0) + 1);
    if (dice.chance(0.5)) await pause(dice.chance(0.05) ? dice.between(300, 600) : dice.between(1, 20));
    if (dice.chance(0.02)) throw new Error(`${String(id)} failed`);
    // A long answer comes in several chunks, and can be cut in the middle.
    return `${String(id)} ${"x".repeat(dice.chance(0.05) ? 100_000 : 10)}`;
  };
  return [
    { name: "pay", annotations: { readOnlyHint: false, idempotentHint: false }, run },
    { name: "get", annotations: { readOnlyHint: true }, run },
    { name: "check", run: () => "fine" },
  ];
}

/** How calls ended. */
class ChaosRecord {
  calls = 0;
  readonly outcomes = new Map<string, number>();
  readonly endings = new Map<string, string>();
  /** Failed calls that say that they have not been run. */
  readonly denials: string[] = [];
  readonly hung: string[] = [];
  readonly strayEndings: string[] = [];
  readonly wrongResults: string[] = [];

  succeeded(id: string, text: string): void {
    this.#end(id, "result");
    if (!text.startsWith(`${id} `)) this.wrongResults.push(`${id}: ${text.slice(0, 80)}`);
  }

  failed(id: string, error: unknown, reason: unknown): void {
    if (reason !== undefined && error === reason) return this.#end(id, CANCELLED);
    if (!(error instanceof McpRuntimeError) || !Object.hasOwn(FAILURE_KINDS, error.kind)) {
      this.strayEndings.push(`${id}: ${describe(error)}`);
      return this.#end(id, "stray");
    }
    if (!error.outcomeUnknown) this.denials.push(id);
    this.#end(id, error.kind, `${error.kind} after ${error.attempts} attempts: ${error.message}`);
  }

  hangs(id: string, what: string): void {
    this.hung.push(`${id}: ${what}`);
    this.#end(id, "hung");
  }

  #end(id: string, outcome: string, details = outcome): void {
    this.calls += 1;
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    this.endings.set(id, details);
  }
}

interface Caller {
  readonly client: McpClient;
  readonly caller: number;
  readonly dice: Dice;
  readonly record: ChaosRecord;
}

async function callUntil(endAt: number, { client, caller, dice, record }: Caller): Promise<void> {
  for (let n = 0; n < LEAST_CALLS || performance.now() < endAt; n += 1) {
    const tool = dice.oneOf(["pay", "get"]);
    const cancelAfterMs = dice.chance(0.15) ? dice.between(0, 200) : undefined;
    await callOnce(client, { id: `${tool}-${caller}-${n}`, tool, cancelAfterMs }, record);
    await pause(dice.between(0, 20));
  }
}

interface ChaosCall {
  readonly id: string;
  readonly tool: string;
  readonly cancelAfterMs: number | undefined;
}

async function callOnce(
  client: McpClient,
  { id, tool, cancelAfterMs }: ChaosCall,
  record: ChaosRecord,
): Promise<void> {
  const controller = new AbortController();
  const cancel = () => controller.abort(new Error(`${id} is not wanted any more`));
  const cancelTimer = cancelAfterMs === undefined ? undefined : setTimeout(cancel, cancelAfterMs);
  const allowedMs = Math.min(TIMEOUTS.totalMs, cancelAfterMs ?? TIMEOUTS.totalMs);
  let isHung = false;
  const options = { signal: controller.signal, idempotent: tool === "get" };
  const call = client.callTool({ name: tool, args: { id } }, options).then(
    (result) => {
      if (!isHung) record.succeeded(id, result.isError ? `${id} ` : result.text());
    },
    (error: unknown) => {
      if (!isHung) record.failed(id, error, controller.signal.reason);
    },
  );
  let hangTimer: NodeJS.Timeout | undefined;
  const hang = new Promise<void>((resolve) => {
    hangTimer = setTimeout(() => {
      isHung = true;
      const what = cancelAfterMs === undefined ? "its whole time" : "its cancellation";
      record.hangs(id, `still under way ${SLACK_MS} ms after ${what} (${allowedMs} ms)`);
      resolve();
    }, allowedMs + SLACK_MS);
  });
  await Promise.race([call, hang]);
  clearTimeout(hangTimer);
  clearTimeout(cancelTimer);
}

type ChaosServer = AsyncDisposable &
  Pick<
    McpTestServer,
    "url" | "restart" | "forgetSessions" | "notifyToolsChanged" | "openSessions" | "openSockets"
  >;

interface Scene {
  readonly client: McpClient;
  readonly server: ChaosServer;
  readonly proxy: FaultProxy;
}

/** What happens to everybody at once, now and then. */
async function disturb({
  server,
  proxy,
  client,
  dice,
  endAt,
}: Scene & { readonly dice: Dice; readonly endAt: number }): Promise<Record<string, number>> {
  const answers = Object.keys(FORGOTTEN_SESSION_ANSWERS) as [ForgottenSessionAnswer];
  const disturbances: Record<string, () => Promise<void> | void> = {
    forgetSessions: () => server.forgetSessions(dice.oneOf(answers)),
    restart: () => server.restart(),
    refuse: () => proxy.refuseFor(dice.between(5, 100)),
    // Nobody may be there to hear it.
    toolsChanged: () => server.notifyToolsChanged().catch(() => undefined),
    close: () => client.close(),
  };
  const counts: Record<string, number> = {};
  const names = Object.keys(disturbances) as [string];
  for (;;) {
    await pause(dice.between(50, 400));
    if (performance.now() > endAt) return counts;
    const name = dice.oneOf(names);
    counts[name] = (counts[name] ?? 0) + 1;
    await disturbances[name]?.();
  }
}

/** Black holes are left after `totalMs`, a breaker lets probes in after `recoveryMs`; the rest is for a busy machine. */
const HEAL_MS = 20_000;

/** On a good network all calls succeed again, at once, on one session. */
async function heal(
  client: McpClient,
  server: ChaosServer,
  callers: number,
): Promise<{ healedAfterMs: number; notHealed: string[] }> {
  const startedAt = performance.now();
  for (;;) {
    const notHealed = await whatIsAmiss(client, server, callers);
    const healedAfterMs = performance.now() - startedAt;
    if (notHealed.length === 0 || healedAfterMs > HEAL_MS) return { healedAfterMs, notHealed };
    await pause(BREAKER.recoveryMs);
  }
}

async function whatIsAmiss(client: McpClient, server: ChaosServer, callers: number): Promise<string[]> {
  // Sessions whose greeting got lost are nobody's; without them it can be seen whose are left.
  server.forgetSessions();
  const timeoutMs = TIMEOUTS.totalMs;
  const checks = await Promise.allSettled(
    times(callers, () => client.callTool({ name: "check" }, { timeoutMs })),
  );
  const amiss = checks.flatMap((check) => (check.status === "rejected" ? [describe(check.reason)] : []));
  const sessions = server.openSessions.length;
  if (sessions !== 1) amiss.push(`${sessions} sessions instead of one`);
  const breaker = client.breaker?.stats().state;
  if (breaker !== "closed") amiss.push(`the breaker is ${breaker}`);
  return amiss;
}

/** After `close()`. Sockets get a moment: the other side's end is on its way. */
async function whatIsLeft({
  client,
  server,
  proxy,
  socketsBefore,
}: Scene & { readonly socketsBefore: number }): Promise<string[]> {
  const left = () =>
    Object.entries({
      "connections to the proxy": proxy.openConnections,
      "connections to the server": server.openSockets,
      "sockets of this process": openSockets() - socketsBefore,
      "sessions of the client": client.sessions().length,
      "sessions of the server": server.openSessions.length,
    }).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
  await eventually(() => left().length === 0).catch(() => undefined);
  return client.state === "closed" ? left() : [...left(), `the client is ${client.state}`];
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}

function watchRejections(): Disposable & { readonly seen: string[] } {
  const seen: string[] = [];
  const see = (reason: unknown) => {
    seen.push(describe(reason));
  };
  process.on("unhandledRejection", see);
  return {
    seen,
    [Symbol.dispose]() {
      process.off("unhandledRejection", see);
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
