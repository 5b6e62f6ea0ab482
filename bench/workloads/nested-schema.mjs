import { toLine } from "../measure/rotate.mjs";
import { NESTED_ARGS } from "../servers/bench-tools.mjs";

/** A tool whose schema has 40 properties in three levels, all of them given. */
export async function* nestedSchema(bench) {
  const servers = await bench.openServer("bare", { answers: "json" });
  const call = { server: "s0", tool: "nested", args: NESTED_ARGS };
  const { blockMs, warmUpMs } = bench.size;
  const result = await bench.blocks(
    "sequential",
    { servers, call, blockMs },
    { warmUp: { blockMs: warmUpMs } },
  );
  const title = "a nested schema of 40 properties";
  yield toLine({ id: "nested-schema/p50", title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
  yield toLine({ id: "nested-schema/cpu", title: `${title}: CPU`, unit: "µs" }, result, ({ cpuUs }) => cpuUs);
}
