// One worker of a fleet: a toolset with a Redis store, controlled by messages of its parent.
// Usage: worker.mjs '{"urls":[…],"redis":"redis://…","staleAfterMs":10000}'
import { once } from "node:events";
import { createMcpTools } from "../../dist/index.js";
import { redisStore } from "../../dist/stores/index.js";

const { urls, redis, staleAfterMs } = JSON.parse(process.argv[2]);
let warnings = 0;
const logger = { debug() {}, info() {}, warn: () => (warnings += 1), error() {} };
// Many processes start at once here, on few cores.
const timeouts = { connectMs: 120_000, requestMs: 120_000 };
const store = redisStore(redis, { logger, timeoutMs: 30_000 });
const servers = Object.fromEntries(urls.map((url, index) => [`s${index}`, { url, timeouts }]));
// All workers start in the same moment, when all have loaded their modules.
process.send({ isLoaded: true });
await once(process, "message");
const startedAt = performance.now();
const toolset = await createMcpTools(servers, { cache: { store, staleAfterMs }, logger });
process.send({ startMs: performance.now() - startedAt });

/** Reads all lists, as an agent with tools of its own for every user does before each run. */
let reading;
const read = () => toolset.toolsFor({}).catch(() => undefined);

async function call(count) {
  const times = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    await toolset.callTool({ name: `s${index % urls.length}__tool-0`, args: { text: "x" } });
    times.push(performance.now() - start);
  }
  return times;
}

const commands = {
  async readEvery({ ms }) {
    clearInterval(reading);
    if (ms > 0) reading = setInterval(() => void read(), ms);
    return {};
  },
  /** When the tool of a server was in the list (Unix time in milliseconds). */
  waitForTool: ({ name }) =>
    new Promise((resolve) => {
      const check = () => {
        if (!toolset.tools.some((tool) => tool.name === name)) return;
        unsubscribe();
        resolve({ at: Date.now() });
      };
      const unsubscribe = toolset.on("toolsChanged", check);
      check();
    }),
  call: async ({ count }) => ({ times: await call(count) }),
  async usage() {
    const { user, system } = process.cpuUsage();
    return { cpuMs: (user + system) / 1_000, rssBytes: process.memoryUsage().rss, warnings };
  },
  async close() {
    clearInterval(reading);
    await toolset.close();
    await store.close();
    return {};
  },
};
process.on("message", async ({ id, command, ...params }) => {
  process.send({ id, ...(await commands[command](params)) });
  if (command === "close") process.disconnect();
});
process.on("disconnect", () => process.exit(0));
