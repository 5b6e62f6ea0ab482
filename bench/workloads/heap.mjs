import { theilSenSlope } from "../measure/statistics.mjs";
import { RUNTIME } from "../peers/index.mjs";
import { ECHO_CALL } from "./echo-call.mjs";

const TIMEOUT_MS = 600_000;

/** Heap growth over many calls. Measured for langchain-mcp-runtime only: 100,000 calls take minutes. */
export async function* heap(bench) {
  for (const responseType of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { responseType });
    const params = { servers, call: ECHO_CALL, ...bench.size.heap };
    const { blocks, failures } = await bench.runInFreshProcesses("heap", params, {
      rounds: 1,
      peers: [RUNTIME],
      timeoutMs: TIMEOUT_MS,
    });
    const samples = Object.fromEntries(
      Object.entries(blocks).map(([peer, [{ samples: heapSizes }]]) => [peer, [toGrowth(heapSizes)]]),
    );
    const { from, to } = bench.size.heap;
    const title = `heap after GC, last relative to first, call ${from} to ${to}, ${responseType.toUpperCase()}`;
    yield {
      id: `heap/${responseType}`,
      title,
      unit: "x",
      better: "lower",
      isRatio: true,
      samples,
      failures,
      heapSizes: blocks,
    };
  }
}

/** The last heap size divided by the first one, along the Theil-Sen trend line. */
function toGrowth(heapSizes) {
  const [[firstCall, firstBytes]] = heapSizes;
  const [lastCall] = heapSizes.at(-1);
  return 1 + (theilSenSlope(heapSizes) * (lastCall - firstCall)) / firstBytes;
}
