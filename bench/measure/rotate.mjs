/**
 * Rounds of one block for each peer. Every round begins with another peer, so that whatever else the
 * machine does hits all alike, and ratios are taken within a round. A peer that fails is not asked again.
 *
 * @returns {Promise<{ blocks: Record<string, object[]>, failures: Record<string, string> }>}
 */
export async function rotate(peers, rounds, block) {
  const blocks = Object.fromEntries(peers.map((peer) => [peer, []]));
  const failures = {};
  for (let round = 0; round < rounds; round += 1) {
    for (let turn = 0; turn < peers.length; turn += 1) {
      const peer = peers[(round + turn) % peers.length];
      if (failures[peer] !== undefined) continue;
      try {
        blocks[peer].push(await block(peer));
      } catch (error) {
        failures[peer] = error.message;
        delete blocks[peer];
      }
    }
  }
  return { blocks, failures };
}

/** One number of each block, as a line of the report. */
export function toLine({ id, title, unit, better = "lower" }, { blocks, failures }, pick) {
  const samples = Object.fromEntries(
    Object.entries(blocks).map(([peer, results]) => [peer, results.map(pick)]),
  );
  return { id, title, unit, better, samples, failures };
}
