import { toLine } from "../measure/rotate.mjs";

/** A result of one megabyte of text. */
export async function* largeResult(bench) {
  for (const answers of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { answers });
    const call = { server: "s0", tool: "large", args: {} };
    const result = await bench.blocks("sequential", { servers, call, blockMs: bench.size.blockMs });
    const id = `large-result/${answers}`;
    const title = `a result of 1 MB, ${answers.toUpperCase()}`;
    yield toLine({ id: `${id}/p50`, title: `${title}: p50`, unit: "µs" }, result, ({ p50Us }) => p50Us);
  }
}
