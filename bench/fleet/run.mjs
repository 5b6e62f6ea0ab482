// A fleet of worker processes and many servers on one Redis, and a simulation of larger ones.
// Usage: node bench/fleet/run.mjs [--workers 2,4,8,16] [--servers 10] [--many 500] [--manyWorkers 2] [--out <folder>]
import { fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { describeMachine, getLoad } from "../report/describe-machine.mjs";
import { median } from "../measure/statistics.mjs";
import { simulate, simulateStart } from "./simulate.mjs";

const { values: flags } = parseArgs({
  options: {
    workers: { type: "string", default: "2,4,8,16" },
    servers: { type: "string", default: "10" },
    many: { type: "string", default: "500" },
    manyWorkers: { type: "string", default: "2" },
    windowMs: { type: "string", default: "20000" },
    out: { type: "string", default: fileURLToPath(new URL("../results", import.meta.url)) },
  },
});
const STALE_AFTER_MS = 4_000;
const READ_EVERY_MS = 1_000;
const CHANGES = 5;
const CALLS = 200;

if (spawnSync("redis-server", ["--version"]).error !== undefined) {
  process.stdout.write("Skipped: redis-server is not installed.\n");
  process.exit(0);
}

/** Everything that a fleet consists of; closed in reverse order. */
class Fleet {
  #closers = [];
  workers = [];

  static async open({ workers, servers, latencyMs = 5 }) {
    const fleet = new Fleet();
    try {
      await fleet.#openAll({ workers, servers, latencyMs });
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  async #openAll({ workers, servers, latencyMs }) {
    await this.#openRedis();
    this.servers = startChild("servers.mjs", { servers, latencyMs });
    this.#closers.push(() => stop(this.servers));
    const { urls } = await nextMessage(this.servers);
    const options = { urls, redis: this.redisUrl, staleAfterMs: STALE_AFTER_MS };
    this.workers = Array.from({ length: workers }, () => startChild("worker.mjs", options));
    this.#closers.push(() => Promise.all(this.workers.map(stop)));
    await Promise.all(this.workers.map(nextMessage));
    await this.redis.config("resetstat");
    const started = Promise.all(this.workers.map(nextMessage));
    for (const worker of this.workers) worker.send({ start: true });
    this.starts = await started;
    this.startStats = await commandStats(this.redis);
  }

  async #openRedis() {
    const port = await findFreePort();
    const folder = mkdtempSync(join(tmpdir(), "fleet-"));
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder];
    this.redisProcess = spawn("redis-server", args, { stdio: "ignore" });
    this.redisUrl = `redis://127.0.0.1:${port}`;
    this.redis = new Redis(this.redisUrl, { maxRetriesPerRequest: null });
    this.redis.on("error", () => undefined);
    await this.redis.ping();
    this.#closers.push(async () => {
      this.redis.disconnect();
      await this.killRedis();
      rmSync(folder, { recursive: true, force: true });
    });
  }

  async killRedis() {
    if (this.redisProcess.exitCode !== null || this.redisProcess.signalCode !== null) return;
    const exited = once(this.redisProcess, "exit");
    this.redisProcess.kill("SIGKILL");
    await exited;
  }

  askAll(command, params = {}) {
    return Promise.all(this.workers.map((worker) => ask(worker, command, params)));
  }

  async counts() {
    const reply = nextMessage(this.servers);
    this.servers.send({ counts: true });
    return (await reply).counts;
  }

  /** A stream opens shortly after its session. A change is announced only on those that are open. */
  async waitForStreams() {
    while ((await this.counts()).streams < this.workers.length) await setTimeout(50);
  }

  /** Changes a server, and waits until every worker has its new tool. Returns how long each took. */
  async change(server, name) {
    const waiting = this.askAll("waitForTool", { name });
    const reply = nextMessage(this.servers);
    this.servers.send({ change: server });
    const { changedAt } = await reply;
    return (await waiting).map(({ at }) => at - changedAt);
  }

  async close() {
    for (const close of this.#closers.toReversed()) await close();
  }
}

function startChild(file, options) {
  const stdio = ["ignore", "ignore", "inherit", "ipc"];
  return fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(options)], { stdio });
}

function nextMessage(child) {
  return new Promise((resolve, reject) => {
    const settle = (message) => {
      child.off("exit", fail);
      resolve(message);
    };
    const fail = (code) => {
      child.off("message", settle);
      reject(new Error(`A process exited with code ${code}.`));
    };
    child.once("message", settle).once("exit", fail);
  });
}

let lastId = 0;
function ask(worker, command, params) {
  lastId += 1;
  const id = lastId;
  return new Promise((resolve) => {
    const onMessage = (message) => {
      if (message.id !== id) return;
      worker.off("message", onMessage);
      resolve(message);
    };
    worker.on("message", onMessage);
    worker.send({ id, command, ...params });
  });
}

async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}

async function findFreePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The calls and the total time of each command since the last reset. Those of this process are left out. */
async function commandStats(redis) {
  const lines = (await redis.info("commandstats")).split("\r\n");
  const stats = lines.flatMap((line) => {
    const [, name, calls, usec] = /^cmdstat_([^:|]+):calls=(\d+),usec=(\d+)/.exec(line) ?? [];
    return name === undefined || name === "info" || name === "config"
      ? []
      : [[name, { calls: +calls, usec: +usec }]];
  });
  return Object.fromEntries(stats);
}

/** The commands that stores have sent. Redis also counts those that a script runs: two for each script of a lease. */
function countStoreCommands(stats) {
  const names = ["getrange", "set", "del", "eval", "scan", "publish"];
  const total = sum(names.map((name) => stats[name]?.calls ?? 0));
  return total - 2 * (stats.eval?.calls ?? 0);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

async function measureRedisMs(redis) {
  const times = [];
  for (let index = 0; index < 200; index += 1) {
    const start = performance.now();
    await redis.get("missing");
    times.push(performance.now() - start);
  }
  return median(times);
}

async function measureFleet(workers, servers, windowMs) {
  const fleet = await Fleet.open({ workers, servers });
  try {
    const startLists = (await fleet.counts())["tools/list"];
    await fleet.waitForStreams();
    const spread = [];
    for (let index = 0; index < CHANGES; index += 1) {
      spread.push(...(await fleet.change(index, `s${index}__tool-5`)));
    }
    const listsOfChanges = (await fleet.counts())["tools/list"] - startLists;
    await fleet.askAll("readEvery", { ms: READ_EVERY_MS });
    await setTimeout(STALE_AFTER_MS + READ_EVERY_MS);
    await fleet.redis.config("resetstat");
    const before = await fleet.counts();
    const usageBefore = await fleet.askAll("usage");
    const startedAt = performance.now();
    await setTimeout(windowMs);
    const minutes = (performance.now() - startedAt) / 60_000;
    const stats = await commandStats(fleet.redis);
    const lists = (await fleet.counts())["tools/list"] - before["tools/list"];
    const usage = await fleet.askAll("usage");
    await fleet.askAll("readEvery", { ms: 0 });
    const redisMs = await measureRedisMs(fleet.redis);
    const { times } = await ask(fleet.workers[0], "call", { count: CALLS });
    const commands = Object.values(stats);
    return {
      workers,
      servers,
      startMs: median(fleet.starts.map(({ startMs }) => startMs)),
      startListsPerServer: startLists / servers,
      startCommandsPerServer: countStoreCommands(fleet.startStats) / servers,
      listsPerChange: listsOfChanges / CHANGES,
      changeMs: { median: median(spread), max: Math.max(...spread) },
      listsPerServerAndMinute: lists / servers / minutes,
      commandsPerSecond: countStoreCommands(stats) / (minutes * 60),
      redisCpuShare: sum(commands.map(({ usec }) => usec)) / (minutes * 60e6),
      usecPerCommand: Object.fromEntries(
        Object.entries(stats).map(([name, { calls, usec }]) => [name, usec / calls]),
      ),
      workerCpuShare:
        median(usage.map(({ cpuMs }, index) => cpuMs - usageBefore[index].cpuMs)) / (minutes * 60_000),
      workerRssMb: median(usage.map(({ rssBytes }) => rssBytes)) / 1e6,
      redisMs,
      listMs: median(times),
    };
  } finally {
    await fleet.close();
  }
}

/** The same calls before and after Redis is killed, and a change without it. */
async function measureOutage() {
  const fleet = await Fleet.open({ workers: 2, servers: 10 });
  try {
    await fleet.askAll("call", { count: CALLS });
    const block = async () => median((await ask(fleet.workers[0], "call", { count: CALLS })).times);
    const before = [await block(), await block(), await block()];
    await fleet.killRedis();
    const after = [await block(), await block(), await block()];
    await fleet.waitForStreams();
    const changeMs = Math.max(...(await fleet.change(0, "s0__tool-5")));
    const [{ warnings }] = await fleet.askAll("usage");
    return { before: Math.min(...before), after: Math.min(...after), changeMs, warnings };
  } finally {
    await fleet.close();
  }
}

/** How far the simulation is from what was measured, as a share. */
function compare(measured, costs) {
  const simulated = simulate({
    ...costs,
    workers: measured.workers,
    servers: measured.servers,
    windowMs: 300_000,
  });
  const start = simulateStart({ ...costs, workers: measured.workers, startMs: measured.startMs });
  const errorOf = (name, from = simulated) => from[name] / measured[name] - 1;
  return {
    workers: measured.workers,
    simulated,
    start,
    errors: {
      lists: errorOf("listsPerServerAndMinute"),
      commands: errorOf("commandsPerSecond"),
      startLists: errorOf("startListsPerServer", start),
      startCommands: errorOf("startCommandsPerServer", start),
    },
  };
}

const percent = (share) => `${(share * 100).toFixed(1)} %`;

function toMarkdown({ machine, fleets, outage, validation, plans }) {
  const row = (cells) => `| ${cells.join(" | ")} |`;
  const errors = new Map(validation.map(({ workers, errors: found }) => [workers, found]));
  return [
    `${machine.cores} cores, Node ${machine.node}, load ${machine.load.before} before and ${machine.load.after} after, ${machine.seconds} s.`,
    "",
    row([
      "workers",
      "servers",
      "start ms",
      "lists per server at start",
      "commands per server at start",
      "lists per change",
      "change to tool ms (max)",
      "lists per server and minute",
      "store commands/s",
      "Redis CPU",
      "worker CPU",
      "simulation error: lists, commands; at start: lists, commands",
    ]),
    row(Array.from({ length: 12 }, () => "---")),
    ...fleets.map((fleet) => {
      const found = errors.get(fleet.workers);
      return row([
        fleet.workers,
        fleet.servers,
        fleet.startMs.toFixed(0),
        fleet.startListsPerServer.toFixed(2),
        fleet.startCommandsPerServer.toFixed(1),
        fleet.listsPerChange.toFixed(2),
        `${fleet.changeMs.median.toFixed(0)} (${fleet.changeMs.max.toFixed(0)})`,
        fleet.listsPerServerAndMinute.toFixed(2),
        fleet.commandsPerSecond.toFixed(0),
        percent(fleet.redisCpuShare),
        percent(fleet.workerCpuShare),
        found === undefined || fleet.servers !== Number(flags.servers)
          ? ""
          : `${percent(found.lists)}, ${percent(found.commands)}; ${percent(found.startLists)}, ${percent(found.startCommands)}`,
      ]);
    }),
    "",
    `A call without Redis: ${outage.after.toFixed(2)} ms (p50) after ${outage.before.toFixed(2)} ms with it; a change still arrives (${outage.changeMs} ms), with ${outage.warnings} warning per worker.`,
    "",
    row([
      "simulated workers",
      "servers",
      "stale after s",
      "lists per server and minute",
      "store commands/s",
      "feed messages/s",
      "Redis CPU (cores)",
    ]),
    row(Array.from({ length: 7 }, () => "---")),
    ...plans.map((plan) =>
      row([
        plan.workers,
        plan.servers,
        plan.staleAfterMs / 1_000,
        plan.listsPerServerAndMinute.toFixed(2),
        plan.commandsPerSecond.toFixed(0),
        plan.messagesPerSecond.toFixed(0),
        plan.redisCores.toFixed(2),
      ]),
    ),
    "",
  ].join("\n");
}

const startedAt = Date.now();
const loadBefore = getLoad();
const fleets = [];
for (const workers of flags.workers.split(",").map(Number)) {
  process.stderr.write(`${workers} workers\n`);
  fleets.push(await measureFleet(workers, Number(flags.servers), Number(flags.windowMs)));
}
if (Number(flags.many) > 0) {
  process.stderr.write(`${flags.manyWorkers} workers, ${flags.many} servers\n`);
  fleets.push(await measureFleet(Number(flags.manyWorkers), Number(flags.many), Number(flags.windowMs)));
}
process.stderr.write("without Redis\n");
const outage = await measureOutage();

const [smallest] = fleets;
const costs = {
  staleAfterMs: STALE_AFTER_MS,
  readEveryMs: READ_EVERY_MS,
  listMs: smallest.listMs,
  redisMs: smallest.redisMs,
};
const validation = fleets.slice(0, flags.workers.split(",").length).map((fleet) => compare(fleet, costs));
// PUBLISH writes to every subscriber: its cost grows with them. The slope is the cost of a message.
const publishCosts = fleets.map(({ workers, usecPerCommand }) => [workers, usecPerCommand.publish ?? 0]);
const [[fewest, cheapest]] = publishCosts;
const [most, dearest] = publishCosts[validation.length - 1];
const usecPerMessage = Math.max(0.2, most === fewest ? 0 : (dearest - cheapest) / (most - fewest));
const usecPerCommand = (smallest.usecPerCommand.getrange ?? 0) + (smallest.usecPerCommand.set ?? 0);
const plans = [
  [16, 500],
  [100, 1_000],
  [1_000, 1_000],
  [1_000, 10_000],
].map(([workers, servers]) => {
  const plan = { workers, servers, ...costs, staleAfterMs: 300_000, readEveryMs: 30_000, windowMs: 900_000 };
  const simulated = simulate(plan);
  const usec =
    simulated.commandsPerSecond * (usecPerCommand / 2) + simulated.messagesPerSecond * usecPerMessage;
  return { ...plan, ...simulated, redisCores: usec / 1e6 };
});
const machine = describeMachine({ loadBefore, startedAt });
const results = { machine, fleets, outage, validation, usecPerMessage, plans };
const markdown = toMarkdown(results);
mkdirSync(flags.out, { recursive: true });
writeFileSync(join(flags.out, "fleet.json"), `${JSON.stringify(results, undefined, 2)}\n`);
writeFileSync(join(flags.out, "fleet.md"), markdown);
process.stdout.write(`${markdown}\n`);
process.exit(0);
