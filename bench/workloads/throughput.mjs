import { toLine } from "../measure/run-rounds.mjs";
import { ECHO_CALL } from "./echo-call.mjs";
import { SERVER_VARIANTS, toVariantTitle } from "./server-variants.mjs";

/** 64 calls in flight at all times. */
export async function* throughput(bench) {
  for (const variant of SERVER_VARIANTS) {
    const servers = await bench.openServer(variant.kind, variant);
    const { blockMs, warmUpMs, callRounds: rounds } = bench.size;
    const result = await bench.runBlocks(
      "concurrent",
      { servers, call: ECHO_CALL, concurrency: 64, blockMs },
      { rounds, warmUp: { blockMs: warmUpMs } },
    );
    const id = `throughput/${variant.kind}/${variant.responseType}`;
    const title = `64 concurrent calls, ${toVariantTitle(variant)}: calls per second`;
    yield toLine(
      { id, title, unit: "1/s", better: "higher" },
      result,
      ({ callsPerSecond }) => callsPerSecond,
    );
  }
}
