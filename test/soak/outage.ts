// tsx test/soak/outage.ts [seconds]: a server is down for a minute while 30 callers go on calling.
// Prints a report; fails if the callers cause a storm of attempts or do not succeed once the server is back.
import { createServer } from "node:net";
import { McpClient } from "../../src/index.js";
import { startMcpTestServer } from "../../src/testing/index.js";
import { echo, eventually, times } from "../fixtures/clients.js";

const seconds = Number(process.argv[2] ?? 60);
if (!(seconds > 0))
  throw new Error("Usage: tsx test/soak/outage.ts [seconds]; seconds must be a positive number.");

const CALLERS = 30;
/** Callers may try for the 1.25 s in which five counted failures open the circuit; after that, only probes do. */
const MAX_ATTEMPTS = CALLERS * 15 + seconds;

await using server = await startMcpTestServer();
await using client = new McpClient({ name: "outage", url: server.url });
let attempts = 0;
const progress = { isDone: false };
const failures: Record<string, number> = {};
const states: string[] = [];
client.on("breakerChanged", ({ state }) => states.push(state));
await client.callTool(echo());

let successes = 0;
const callers = times(CALLERS, async () => {
  while (!progress.isDone) {
    const outcome = await client.tryCallTool(echo());
    if (outcome.ok) successes += 1;
    else failures[outcome.error.kind] = (failures[outcome.error.kind] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
});

// While the server is down, its port counts and resets every connection.
await server.stop();
const counter = createServer((socket) => {
  attempts += 1;
  socket.resetAndDestroy();
});
await new Promise<void>((resolve) => counter.listen(Number(new URL(server.url).port), "127.0.0.1", resolve));
await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
await new Promise((resolve) => counter.close(resolve));
console.log(`down for ${seconds} s: ${attempts} attempts to connect by ${CALLERS} callers`);
console.log(`failed calls: ${JSON.stringify(failures)}; circuit: ${states.join(", ")}`);

const returnedAt = performance.now();
await server.start();
const successesBefore = successes;
await eventually(() => successes - successesBefore >= CALLERS, 60_000);
console.log(`back: ${CALLERS} calls succeeded after ${(performance.now() - returnedAt).toFixed(0)} ms`);
progress.isDone = true;
await Promise.all(callers);

if (attempts > MAX_ATTEMPTS)
  throw new Error(`${attempts} attempts during the outage; at most ${MAX_ATTEMPTS} are allowed.`);
if (client.breaker?.stats().state !== "closed")
  throw new Error("The circuit is not closed after the return.");
