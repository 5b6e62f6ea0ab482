// npm run soak: 10,000 users of one toolset, and 1,000 toolsets opened and closed. Prints measurements; fails on heap growth.
import { createMcpTools, type McpToolset } from "../../src/index.js";
import { times } from "../fixtures/clients.js";
import { bytesPerCall, type Measurement, measureHeapAfterGc } from "../fixtures/endurance.js";
import { TestServerProcess } from "../fixtures/test-server-process.js";

const CONCURRENCY = 16;
const IDENTITIES = 10_000;
/** Fewer than the users, so that most of them are evicted. */
const MAX_IDENTITIES = 1_000;
const TOOLSETS = 1_000;
const MEASUREMENTS = 20;

interface Churn {
  readonly name: string;
  readonly count: number;
  /** Any leak per item takes more; what is left are optimized code and the growth of maps that are full. */
  readonly maxBytes: number;
  readonly run: (index: number) => Promise<void>;
}

/** Runs all items and compares the heap of the second half: what an item leaves behind adds up. */
async function measureChurn({ name, count, maxBytes, run }: Churn): Promise<void> {
  const measurements: Measurement[] = [];
  const step = count / MEASUREMENTS;
  for (let done = 0; done < count; done += step) {
    let next = done;
    const work = async () => {
      while (next < done + step) await run((next += 1) - 1);
    };
    await Promise.all(times(CONCURRENCY, work));
    const heapBytes = measureHeapAfterGc();
    const sockets = process.getActiveResourcesInfo().filter((type) => type === "TCPSocketWrap").length;
    measurements.push({ calls: done + step, heapBytes, sockets, listeners: 0 });
    console.log(
      `${name}  ${done + step}  heap ${(heapBytes / 1024 / 1024).toFixed(2)} MB  ${sockets} sockets  rss ${(process.memoryUsage().rss / 1024 / 1024).toFixed(0)} MB`,
    );
  }
  const slope = bytesPerCall(measurements.slice(measurements.length / 2));
  console.log(`${name}  ${slope.toFixed(1)} bytes each in the second half`);
  if (slope > maxBytes) throw new Error(`${name}: the heap grows by ${slope.toFixed(1)} bytes each.`);
}

async function callEcho(mcp: McpToolset, user: string): Promise<void> {
  const config = { configurable: { user } };
  const result = await mcp.callTool({ name: "srv__echo", args: { text: user } }, { config });
  if (result.text() !== user) throw new Error(`wrong result: ${result.text()}`);
}

await using server = await TestServerProcess.start("json");
{
  await using mcp = await createMcpTools({
    srv: {
      url: server.url,
      identity: ({ purpose, configurable }) =>
        purpose === "discovery" ? "catalog" : String(configurable["user"]),
      limits: { identities: MAX_IDENTITIES },
    },
  });
  await measureChurn({
    name: "identities",
    count: IDENTITIES,
    maxBytes: 100,
    run: (index) => callEcho(mcp, `user-${index}`),
  });
}
await measureChurn({
  name: "toolsets",
  count: TOOLSETS,
  // Compiled code still grows by up to 900 bytes each. Whatever keeps a toolset or its client keeps more than 10,000.
  maxBytes: 3_000,
  run: async (index) => {
    await using mcp = await createMcpTools({ srv: { url: server.url } });
    await callEcho(mcp, `toolset-${index}`);
  },
});
