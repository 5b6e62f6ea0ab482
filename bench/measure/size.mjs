/** How much is done. Many short blocks: a disturbance spoils a block, not the run. */
export const FULL = {
  rounds: 11,
  callRounds: 25,
  blockMs: 200,
  warmUpMs: 5_000,
  slowRounds: 5,
  freshRounds: 5,
  servers: [1, 10, 50],
  latenciesMs: [0, 20, 50],
  toolCounts: [10, 100, 1_000],
  storedTurns: 15,
  batches: [1, 16, 64, 256],
  batchTimes: 4,
  heap: { from: 10_000, to: 100_000, every: 5_000 },
  links: { calls: 1_500, cpuBlocks: 10, cpuBlockMs: 40, warmUpCalls: 25_000 },
};

/** Whether everything runs: its figures say nothing. */
export const QUICK = {
  rounds: 1,
  callRounds: 1,
  blockMs: 15,
  warmUpMs: 15,
  slowRounds: 1,
  freshRounds: 1,
  servers: [1, 3],
  latenciesMs: [0],
  toolCounts: [10, 50],
  storedTurns: 2,
  batches: [1, 8],
  batchTimes: 1,
  heap: { from: 40, to: 120, every: 40 },
  links: { calls: 20, cpuBlocks: 1, cpuBlockMs: 5, warmUpCalls: 20 },
};

/** For so long a block runs before it counts: while others had their turns, its process was asleep. */
export function wakeMs(blockMs) {
  return Math.min(blockMs / 2, 100);
}
