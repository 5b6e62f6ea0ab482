import { leastSquaresSlope } from "../measure/statistics.mjs";
import { ECHO_CALL } from "./echo-call.mjs";

/** The cost of each additional tool, server and concurrent call. */
export async function* scaling(bench) {
  const { toolCounts, serverCounts, batchSizes, batchRepeats, slowRounds: rounds } = bench.size;
  const openTools = async (options, toolCount) =>
    bench.runBlocks(
      "open-tools",
      { servers: await bench.openServer("bare", options), toolCount },
      { rounds },
    );

  yield await measureSlope("tools", "each additional tool: time to tools", toolCounts, (toolCount) =>
    openTools({ toolCount }, toolCount),
  );
  yield await measureSlope("servers", "each additional server: time to tools", serverCounts, (count) =>
    openTools({ servers: count }, 3 * count),
  );
  const servers = await bench.openServer("bare", { responseType: "json" });
  yield await measureSlope(
    "calls",
    "each additional concurrent call: time to the last response",
    batchSizes,
    (size) => bench.runBlocks("batch", { servers, call: ECHO_CALL, size, repeats: batchRepeats }, { rounds }),
  );
}

/** Fits one slope per round, through the blocks of that round. */
async function measureSlope(name, title, sizes, measure) {
  const results = [];
  for (const size of sizes) results.push(await measure(size));
  const failures = Object.assign({}, ...results.map((result) => result.failures));
  const [{ blocks: firstBlocks }] = results;
  const samples = {};
  for (const peer of Object.keys(firstBlocks)) {
    if (failures[peer] !== undefined) continue;
    samples[peer] = firstBlocks[peer].map((_, round) =>
      leastSquaresSlope(results.map(({ blocks }, index) => [sizes[index], blocks[peer][round].ms])),
    );
  }
  return { id: `scaling/${name}`, title, unit: "ms", better: "lower", samples, failures };
}
