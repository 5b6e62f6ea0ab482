import { toLine } from "../measure/run-rounds.mjs";
import { ECHO_CALL } from "./echo-call.mjs";
import { SERVER_VARIANTS, toVariantTitle } from "./server-variants.mjs";

/** Calls one after the other. */
export async function* sequential(bench) {
  for (const variant of SERVER_VARIANTS) {
    const servers = await bench.openServer(variant.kind, variant);
    const { blockMs, warmUpMs, callRounds: rounds } = bench.size;
    const result = await bench.runBlocks(
      "sequential",
      { servers, call: ECHO_CALL, blockMs },
      { rounds, warmUp: { blockMs: warmUpMs } },
    );
    const id = `sequential/${variant.kind}/${variant.responseType}`;
    const title = `one call, ${toVariantTitle(variant)}`;
    yield toLine({ id: `${id}/p50`, title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
    yield toLine({ id: `${id}/cpu`, title: `${title}: CPU`, unit: "µs" }, result, ({ cpuUs }) => cpuUs);
  }
}
