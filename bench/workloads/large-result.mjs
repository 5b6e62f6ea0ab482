import { toLine } from "../measure/run-rounds.mjs";

/** A call whose result is one megabyte of text. */
export async function* largeResult(bench) {
  for (const responseType of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { responseType });
    const call = { server: "s0", tool: "large", args: {} };
    const result = await bench.runBlocks("sequential", { servers, call, blockMs: bench.size.blockMs });
    const id = `large-result/${responseType}`;
    const title = `1 MB result, ${responseType.toUpperCase()}`;
    yield toLine({ id: `${id}/p50`, title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
  }
}
