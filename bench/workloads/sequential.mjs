import { toLine } from "../measure/rotate.mjs";
import { ECHO, WAYS, wayTitle } from "./echo.mjs";

/** One call after the other. */
export async function* sequential(bench) {
  for (const way of WAYS) {
    const servers = await bench.openServer(way.kind, way);
    const { blockMs, warmUpMs, callRounds: rounds } = bench.size;
    const result = await bench.blocks(
      "sequential",
      { servers, call: ECHO, blockMs },
      { rounds, warmUp: { blockMs: warmUpMs } },
    );
    const id = `sequential/${way.kind}/${way.answers}`;
    const title = `one call, ${wayTitle(way)}`;
    yield toLine({ id: `${id}/p50`, title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
    yield toLine({ id: `${id}/cpu`, title: `${title}: CPU`, unit: "µs" }, result, ({ cpuUs }) => cpuUs);
  }
}
