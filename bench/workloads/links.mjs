import { toLine } from "../measure/rotate.mjs";
import { OURS } from "../peers/index.mjs";
import { ECHO, WAYS, wayTitle } from "./echo.mjs";

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
  for (const way of WAYS) {
    const servers = await bench.openServer(way.kind, way);
    const params = { servers, call: ECHO, ...size };
    // The first ways have warmed the process for the others.
    const more = way.kind === "bare" ? { warmUp: { calls: warmUpCalls } } : { rounds: bench.size.slowRounds };
    const result = await bench.blocks("links", params, { ...more, peers: [OURS] });
    for (const [part, title] of PARTS) {
      for (const [measure, name] of MEASURES) {
        const about = {
          id: `links/${part}/${way.kind}/${way.answers}/${measure}`,
          title: `${title}, by the call, ${wayTitle(way)}: ${name}`,
          unit: "x",
        };
        yield { ...toLine(about, result, (found) => found[measure][part]), shows: "own" };
      }
    }
  }
}
