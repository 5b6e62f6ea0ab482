import { slope } from "../measure/statistics.mjs";
import { ECHO } from "./echo.mjs";

/** What one more tool, server or concurrent call costs. */
export async function* slopes(bench) {
  const { toolCounts, servers: serverCounts, batches, batchTimes, slowRounds: rounds } = bench.size;
  const openAll = async (options, toolCount) =>
    bench.blocks("open", { servers: await bench.openServer("bare", options), toolCount }, { rounds });

  yield await toSlope("tools", "one more tool of a server: time to tools", toolCounts, (toolCount) =>
    openAll({ toolCount }, toolCount),
  );
  yield await toSlope("servers", "one more server: time to tools", serverCounts, (count) =>
    openAll({ servers: count }, 3 * count),
  );
  const servers = await bench.openServer("bare", { answers: "json" });
  yield await toSlope("calls", "one more concurrent call: time to the last answer", batches, (size) =>
    bench.blocks("batch", { servers, call: ECHO, size, times: batchTimes }, { rounds }),
  );
}

/** Rounds stay rounds: the slope is taken through the blocks of the same round. */
async function toSlope(name, title, sizes, measure) {
  const results = [];
  for (const size of sizes) results.push(await measure(size));
  const failures = Object.assign({}, ...results.map((result) => result.failures));
  const [{ blocks: first }] = results;
  const samples = {};
  for (const peer of Object.keys(first)) {
    if (failures[peer] !== undefined) continue;
    samples[peer] = first[peer].map((_, round) =>
      slope(results.map(({ blocks }, index) => [sizes[index], blocks[peer][round].ms])),
    );
  }
  return { id: `slope/${name}`, title, unit: "ms", better: "lower", samples, failures };
}
