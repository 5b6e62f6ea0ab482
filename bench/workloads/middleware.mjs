import { toLine } from "../measure/run-rounds.mjs";
import { RUNTIME } from "../peers/index.mjs";
import { ECHO_CALL } from "./echo-call.mjs";
import { SERVER_VARIANTS, toVariantTitle } from "./server-variants.mjs";

const OVERHEADS = [
  ["all", "middleware overhead"],
  ["telemetry", "telemetry overhead without listeners"],
  ["listeners", "overhead of request listeners"],
];

const METRICS = [
  ["p50", "p50"],
  ["cpu", "CPU"],
];

/** The overhead of the client middleware on a successful call, as a share of that call, within one process. */
export async function* middleware(bench) {
  const { warmUpCalls, ...size } = bench.size.middleware;
  for (const variant of SERVER_VARIANTS) {
    const servers = await bench.openServer(variant.kind, variant);
    const params = { servers, call: ECHO_CALL, ...size };
    // The bare-server variants run first and warm up the process for the SDK-server variants.
    const options =
      variant.kind === "bare" ? { warmUp: { calls: warmUpCalls } } : { rounds: bench.size.slowRounds };
    const result = await bench.runBlocks("middleware", params, { ...options, peers: [RUNTIME] });
    for (const [overhead, title] of OVERHEADS) {
      for (const [metric, label] of METRICS) {
        const about = {
          id: `middleware/${overhead}/${variant.kind}/${variant.responseType}/${metric}`,
          title: `${title} as a share of a call, ${toVariantTitle(variant)}: ${label}`,
          unit: "x",
        };
        yield { ...toLine(about, result, (shares) => shares[metric][overhead]), isRatio: true };
      }
    }
  }
}
