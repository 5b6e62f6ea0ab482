/** The published run. Many short blocks: a disturbance affects a block, not the run. */
export const FULL_SIZE = {
  rounds: 11,
  callRounds: 25,
  blockMs: 200,
  warmUpMs: 5_000,
  slowRounds: 5,
  freshProcessRounds: 11,
  serverCounts: [1, 10, 50],
  manyServerCounts: [50, 200, 500, 1_000],
  latenciesMs: [0, 20, 50],
  toolCounts: [10, 100, 1_000],
  cacheIterations: 15,
  batchSizes: [1, 16, 64, 256],
  batchRepeats: 4,
  heap: { from: 10_000, to: 100_000, every: 5_000 },
  hostile: { bytes: 1_000_000, iterations: 3 },
  middleware: { calls: 1_500, cpuBlocks: 10, cpuBlockMs: 40, warmUpCalls: 25_000 },
};

/** A smoke test: checks that everything runs; its figures are not meaningful. */
export const QUICK_SIZE = {
  rounds: 1,
  callRounds: 1,
  blockMs: 15,
  warmUpMs: 15,
  slowRounds: 1,
  freshProcessRounds: 1,
  serverCounts: [1, 3],
  manyServerCounts: [3, 5, 10, 20],
  latenciesMs: [0],
  toolCounts: [10, 50],
  cacheIterations: 2,
  batchSizes: [1, 8],
  batchRepeats: 1,
  heap: { from: 40, to: 120, every: 40 },
  hostile: { bytes: 20_000, iterations: 1 },
  middleware: { calls: 20, cpuBlocks: 1, cpuBlockMs: 5, warmUpCalls: 20 },
};

/** How long a block runs before it is measured: its process was idle while other peers had their turn. */
export function toBlockWarmUpMs(blockMs) {
  return Math.min(blockMs / 2, 100);
}
