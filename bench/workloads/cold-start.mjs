import { toLine } from "../measure/run-rounds.mjs";

/** Time from server URLs to tools in a warm process, for several server counts and latencies. */
export async function* coldStart(bench) {
  for (const count of bench.size.serverCounts) {
    for (const latencyMs of bench.size.latenciesMs) {
      const servers = await bench.openServer("bare", { latencyMs, servers: count });
      const rounds = bench.size.slowRounds;
      const result = await bench.runBlocks("open-tools", { servers, toolCount: 3 * count }, { rounds });
      const id = `cold-start/${count}/${latencyMs}`;
      const title = `${count} ${count === 1 ? "server" : "servers"} with ${latencyMs} ms latency: time to tools`;
      yield toLine({ id, title, unit: "ms" }, result, ({ ms }) => ms);
    }
  }
}
