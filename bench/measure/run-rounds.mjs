/**
 * Runs rounds of one block per peer. Each round begins with another peer, so that other load on the
 * machine affects all peers equally. Ratios are taken within a round. A peer that fails is skipped
 * from then on.
 *
 * @returns {Promise<{ blocks: Record<string, object[]>, failures: Record<string, string> }>}
 */
export async function runRounds(peers, rounds, runBlock) {
  const blocks = Object.fromEntries(peers.map((peer) => [peer, []]));
  const failures = {};
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < peers.length; turn += 1) {
      const peer = peers[(round + turn) % peers.length];
      if (failures[peer] !== undefined) continue;
      try {
        blocks[peer].push(await runBlock(peer));
      } catch (error) {
        failures[peer] = error.message;
        delete blocks[peer];
      }
    }
  }
  return { blocks, failures };
}

/** Creates a line of the report from one value of each block. */
export function toLine({ id, title, unit, better = "lower" }, { blocks, failures }, getValue) {
  const samples = Object.fromEntries(
    Object.entries(blocks).map(([peer, results]) => [peer, results.map(getValue)]),
  );
  return { id, title, unit, better, samples, failures };
}
