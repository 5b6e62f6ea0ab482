import { toLine } from "../measure/rotate.mjs";
import { ECHO, WAYS, wayTitle } from "./echo.mjs";

/** 64 calls in flight, all the time. */
export async function* throughput(bench) {
  for (const way of WAYS) {
    const servers = await bench.openServer(way.kind, way);
    const { blockMs, warmUpMs, callRounds: rounds } = bench.size;
    const result = await bench.blocks(
      "concurrent",
      { servers, call: ECHO, concurrency: 64, blockMs },
      { rounds, warmUp: { blockMs: warmUpMs } },
    );
    const id = `throughput/${way.kind}/${way.answers}`;
    const title = `64 at once, ${wayTitle(way)}: calls a second`;
    yield toLine(
      { id, title, unit: "1/s", better: "higher" },
      result,
      ({ callsPerSecond }) => callsPerSecond,
    );
  }
}
