// The memory of a process with 1, 50 and 500 idle servers. Usage: node bench/memory.mjs
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const COUNTS = [1, 50, 500];
const IDLE_MS = 2_000;
const [, file, urls] = process.argv;

if (urls === undefined) await measureAll();
else await measure(JSON.parse(urls));

/** In a process of its own: connects to all servers, waits, and reports its memory. */
async function measure(addresses) {
  const { createMcpTools } = await import("../dist/index.js");
  const servers = Object.fromEntries(addresses.map((url, index) => [`s${index}`, { url }]));
  const toolset = await createMcpTools(servers);
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  globalThis.gc();
  const { rss, heapUsed } = process.memoryUsage();
  process.send({ rss, heapUsed });
  await toolset.close();
  process.disconnect();
}

async function measureAll() {
  const script = fileURLToPath(new URL("fleet/servers.mjs", import.meta.url));
  process.stdout.write("| idle servers | RSS MB | heap MB |\n| --- | --- | --- |\n");
  for (const servers of COUNTS) {
    const host = fork(script, [JSON.stringify({ servers })]);
    const [{ urls: addresses }] = await once(host, "message");
    const child = fork(file, [JSON.stringify(addresses)], { execArgv: ["--expose-gc"] });
    const [{ rss, heapUsed }] = await once(child, "message");
    await once(child, "exit");
    host.disconnect();
    await once(host, "exit");
    const toMb = (bytes) => (bytes / 1e6).toFixed(0);
    process.stdout.write(`| ${servers} | ${toMb(rss)} | ${toMb(heapUsed)} |\n`);
  }
}
