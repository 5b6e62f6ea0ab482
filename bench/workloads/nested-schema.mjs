import { toLine } from "../measure/run-rounds.mjs";
import { NESTED_ARGS } from "../servers/bench-tools.mjs";

/** A tool whose schema has 40 properties on three levels; the call sets all of them. */
export async function* nestedSchema(bench) {
  const servers = await bench.openServer("bare", { responseType: "json" });
  const call = { server: "s0", tool: "nested", args: NESTED_ARGS };
  const { blockMs, warmUpMs } = bench.size;
  const result = await bench.runBlocks(
    "sequential",
    { servers, call, blockMs },
    { warmUp: { blockMs: warmUpMs } },
  );
  const title = "nested schema with 40 properties";
  yield toLine({ id: "nested-schema/p50", title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
  yield toLine({ id: "nested-schema/cpu", title: `${title}: CPU`, unit: "µs" }, result, ({ cpuUs }) => cpuUs);
}
