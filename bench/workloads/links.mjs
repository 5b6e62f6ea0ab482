import { toLine } from "../measure/rotate.mjs";
import { OURS } from "../peers/index.mjs";
import { ECHO } from "./echo.mjs";

const PARTS = [
  ["all", "what all links add to a call"],
  ["telling", "what counting and telling of it add to a call, when nobody listens"],
  ["listening", "what a listener to its start and its end adds"],
];

const MEASURES = [
  ["p50", "p50"],
  ["cpu", "CPU"],
];

/** What all links of a client add to a healthy call, as a share of it, measured inside one process. */
export async function* links(bench) {
  const { warmUpCalls, ...size } = bench.size.links;
  for (const answers of ["json", "sse"]) {
    const servers = await bench.openServer("bare", { answers });
    const params = { servers, call: ECHO, ...size };
    const warmUp = { calls: warmUpCalls };
    const result = await bench.blocks("links", params, { warmUp, peers: [OURS] });
    for (const [part, title] of PARTS) {
      for (const [measure, name] of MEASURES) {
        const about = {
          id: `links/${part}/${answers}/${measure}`,
          title: `${title}, by the call, ${answers.toUpperCase()}: ${name}`,
          unit: "x",
        };
        yield { ...toLine(about, result, (found) => found[measure][part]), shows: "own" };
      }
    }
  }
}
