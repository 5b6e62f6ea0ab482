import { toLine } from "../measure/rotate.mjs";
import { OURS } from "../peers/index.mjs";

const SERVERS = [
  ["registered", "the SDK's server"],
  ["bare", "a bare server"],
];

/** A list of tools from memory and from a file, by the time in which a server on the loopback lists it. */
export async function* stored(bench) {
  const toolCount = bench.size.toolCounts.at(-1);
  const rounds = bench.size.slowRounds;
  for (const [kind, name] of SERVERS) {
    const servers = await bench.openServer(kind, { toolCount });
    const params = { servers, toolCount, turns: bench.size.storedTurns };
    const result = await bench.blocks("stored", params, { rounds, peers: [OURS] });
    for (const way of ["memory", "file"]) {
      const title = `${toolCount} tools from ${way}, by listing them from ${name}`;
      const about = { id: `stored/${kind}/${way}`, title, unit: "x" };
      yield { ...toLine(about, result, (found) => found[way]), shows: "own" };
    }
  }
}
