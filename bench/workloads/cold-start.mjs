import { toLine } from "../measure/rotate.mjs";

/** From addresses to tools, in a process that is warm: servers of every number and latency. */
export async function* coldStart(bench) {
  for (const count of bench.size.servers) {
    for (const latencyMs of bench.size.latenciesMs) {
      const servers = await bench.openServer("bare", { latencyMs, servers: count });
      const rounds = bench.size.slowRounds;
      const result = await bench.blocks("open", { servers, toolCount: 3 * count }, { rounds });
      const id = `cold-start/${count}/${latencyMs}`;
      const title = `${count} ${count === 1 ? "server" : "servers"} of ${latencyMs} ms: time to tools`;
      yield toLine({ id, title, unit: "ms" }, result, ({ ms }) => ms);
    }
  }
}
