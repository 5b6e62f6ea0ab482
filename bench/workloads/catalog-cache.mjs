import { toLine } from "../measure/run-rounds.mjs";
import { RUNTIME } from "../peers/index.mjs";

const SERVERS = [
  ["registered", "the SDK server"],
  ["bare", "a bare server"],
];

/** Reading a tool list from memory and from a file, relative to listing it from a server on loopback. */
export async function* catalogCache(bench) {
  const toolCount = bench.size.toolCounts.at(-1);
  const rounds = bench.size.slowRounds;
  for (const [kind, label] of SERVERS) {
    const servers = await bench.openServer(kind, { toolCount });
    const params = { servers, toolCount, iterations: bench.size.cacheIterations };
    const result = await bench.runBlocks("catalog-cache", params, { rounds, peers: [RUNTIME] });
    for (const source of ["memory", "file"]) {
      const title = `${toolCount} tools from ${source}, relative to listing them from ${label}`;
      const about = { id: `catalog-cache/${kind}/${source}`, title, unit: "x" };
      yield { ...toLine(about, result, (ratios) => ratios[source]), isRatio: true };
    }
  }
}
