import { constants, PerformanceObserver } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { McpClient } from "../../src/index.js";
import { times } from "./clients.js";
import { collectGarbage, collectYoungGarbage } from "./collect-garbage.js";
import { TestServerProcess } from "./test-server-process.js";

export interface Reading {
  readonly calls: number;
  readonly heapBytes: number;
  /** TCP sockets of this process. */
  readonly sockets: number;
  readonly listeners: number;
}

interface EnduranceOptions {
  readonly answers: "json" | "sse";
  readonly calls: number;
  /** How many readings are taken, evenly spread. */
  readonly readings: number;
  /** Called after each reading. */
  readonly onReading?: (reading: Reading) => void;
}

const CONCURRENCY = 16;

/** Makes many calls on one client, which share one signal, and reads what stays behind. */
export async function endure({ answers, calls, readings, onReading }: EnduranceOptions): Promise<Reading[]> {
  await using server = await TestServerProcess.start(answers);
  await using client = new McpClient({ name: "endurance", url: server.url });
  const shared = new AbortController();
  const taken: Reading[] = [];
  for (let round = 1; round <= readings; round += 1) {
    await Promise.all(
      times(CONCURRENCY, () => callMany(client, calls / readings / CONCURRENCY, shared.signal)),
    );
    const reading = {
      calls: (calls / readings) * round,
      heapBytes: heapAfterGc(),
      sockets: process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length,
      listeners: listenersOf(shared.signal),
    };
    taken.push(reading);
    onReading?.(reading);
  }
  return taken;
}

/** One call after the other, and how many bytes of each are still there when what is young was collected. */
export async function bytesOutliving(calls: number): Promise<number> {
  await using server = await TestServerProcess.start("json");
  await using client = new McpClient({ name: "young", url: server.url });
  await callMany(client, calls);
  for (;;) {
    const before = heapAfterGc();
    const wasUndisturbed = watchFullCollections();
    await callMany(client, calls);
    collectYoungGarbage();
    const bytes = (process.memoryUsage().heapUsed - before) / calls;
    // A full one takes along what has outlived its call: such a reading says nothing.
    if (await wasUndisturbed()) return bytes;
  }
}

/** The function that comes back tells whether there was none until then. */
function watchFullCollections(): () => Promise<boolean> {
  let wasFull = false;
  const observer = new PerformanceObserver((list) => {
    const kinds = list.getEntries().map((entry) => (Reflect.get(entry, "detail") as { kind: number }).kind);
    wasFull ||= kinds.includes(constants.NODE_PERFORMANCE_GC_MAJOR);
  });
  observer.observe({ entryTypes: ["gc"] });
  return async () => {
    await setImmediate();
    observer.disconnect();
    return !wasFull;
  };
}

async function callMany(client: McpClient, count: number, signal?: AbortSignal): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const result = await client.callTool({ name: "echo", args: { text: "x" } }, { signal });
    if (result.text() !== "x") throw new Error(`wrong answer: ${result.text()}`);
  }
}

function listenersOf(signal: AbortSignal): number {
  const symbol = Object.getOwnPropertySymbols(signal).find(({ description }) => description === "kEvents");
  const events =
    symbol === undefined ? undefined : (Reflect.get(signal, symbol) as Map<string, { size?: number }>);
  return events?.get("abort")?.size ?? 0;
}

function heapAfterGc(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Bytes that each further call leaves behind: the slope of a line through the readings. */
export function bytesPerCall(readings: readonly Reading[]): number {
  const x = mean(readings.map(({ calls }) => calls));
  const y = mean(readings.map(({ heapBytes }) => heapBytes));
  const covariance = mean(readings.map(({ calls, heapBytes }) => (calls - x) * (heapBytes - y)));
  const variance = mean(readings.map(({ calls }) => (calls - x) ** 2));
  return covariance / variance;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
