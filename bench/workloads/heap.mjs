import { robustSlope } from "../measure/statistics.mjs";
import { OURS } from "../peers/index.mjs";
import { ECHO } from "./echo.mjs";

const MAX_MS = 600_000;

/** Whether the heap grows with the calls that were made. Ours alone: a hundred thousand calls take their time. */
export async function* heap(bench) {
  for (const answers of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { answers });
    const params = { servers, call: ECHO, ...bench.size.heap };
    const { blocks, failures } = await bench.fresh("heap", params, {
      rounds: 1,
      peers: [OURS],
      maxMs: MAX_MS,
    });
    const samples = Object.fromEntries(
      Object.entries(blocks).map(([peer, [{ samples: weights }]]) => [peer, [growth(weights)]]),
    );
    const { from, to } = bench.size.heap;
    const title = `heap after GC, call ${from} to ${to}, ${answers.toUpperCase()}: last to first`;
    yield {
      id: `heap/${answers}`,
      title,
      unit: "x",
      better: "lower",
      shows: "own",
      samples,
      failures,
      weights: blocks,
    };
  }
}

/** The heap at the end by that at the start, along the robust trend. */
function growth(weights) {
  const [[firstCall, firstBytes]] = weights;
  const [lastCall] = weights.at(-1);
  return 1 + (robustSlope(weights) * (lastCall - firstCall)) / firstBytes;
}
