import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createMcpTools } from "../../dist/index.js";
import { measureHeapBytes } from "../measure/heap-bytes.mjs";

/**
 * Opens many servers and leaves them idle: time and CPU time until all are connected, and heap and sockets afterwards.
 * With `isLate`, the toolset is created before any server responds, so that each adds its tools later.
 */
export async function run({ servers, isLate }) {
  const names = Object.keys(servers);
  const definitions = Object.fromEntries(names.map((name) => [name, { url: servers[name] }]));
  // Loads all modules first.
  await (await createMcpTools({ first: definitions[names[0]] })).close();
  const heapBefore = await measureHeapBytes();
  const start = { ms: performance.now(), cpu: process.cpuUsage() };
  const toolset = await createMcpTools(definitions, {
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...(isLate ? { waitForUncached: false, startupWaitMs: 0 } : {}),
  });
  while (toolset.servers.connected.length < names.length) await setTimeout(20);
  const toolCount = toolset.tools.length;
  const ms = performance.now() - start.ms;
  const { user, system } = process.cpuUsage(start.cpu);
  if (toolCount !== 3 * names.length) throw new Error(`created ${toolCount} of ${3 * names.length} tools`);
  const heapBytes = (await measureHeapBytes()) - heapBefore;
  const sockets = countSockets();
  await toolset.close();
  return { ms, cpuMs: (user + system) / 1_000, heapBytes, sockets };
}

/** Node does not report sockets that do not keep the process alive. */
function countSockets() {
  const isSocket = (name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).startsWith("socket:");
    } catch {
      return false;
    }
  };
  return readdirSync("/proc/self/fd").filter(isSocket).length;
}
