import { toLine } from "../measure/rotate.mjs";
import { OURS } from "../peers/index.mjs";
import { ECHO } from "./echo.mjs";

/** What all links of a client add to a healthy call, as a share of it, measured inside one process. */
export async function* links(bench) {
  const { warmUpCalls, ...size } = bench.size.links;
  for (const answers of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { answers });
    const params = { servers, call: ECHO, ...size };
    const warmUp = { calls: warmUpCalls };
    const result = await bench.blocks("links", params, { warmUp, peers: [OURS] });
    const title = `what all links add to a call, by the call, ${answers.toUpperCase()}`;
    const own = (id, name, pick) => ({
      ...toLine({ id: `links/${answers}/${id}`, title: `${title}: ${name}`, unit: "x" }, result, pick),
      shows: "own",
    });
    yield own("p50", "p50", ({ p50 }) => p50);
    yield own("cpu", "CPU", ({ cpu }) => cpu);
  }
}
