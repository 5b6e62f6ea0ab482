// Compares langchain-mcp-runtime with other MCP clients ("peers").
// Usage: node bench/run.mjs [--quick] [--only <workload>]… [--peers <name>]… [--out <folder>]
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Bench } from "./measure/bench.mjs";
import { FULL_SIZE, QUICK_SIZE } from "./measure/size.mjs";
import { BASELINE, PEER_FILES, RUNTIME } from "./peers/index.mjs";
import { describeMachine, getLoad } from "./report/describe-machine.mjs";
import { compareWithThresholds } from "./report/thresholds.mjs";
import { toChart } from "./report/to-chart.mjs";
import { toMarkdown } from "./report/to-markdown.mjs";
import { toRatios } from "./report/to-ratios.mjs";
import { WORKLOADS } from "./workloads/index.mjs";

/** The peers of a quick run: they need only the dependencies of the package itself. */
const PREINSTALLED_PEERS = ["SDK Client", BASELINE];

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    peers: { type: "string", multiple: true, default: [] },
    out: { type: "string" },
  },
});
const workloads = selectNames("--only", Object.keys(WORKLOADS), flags.only);
const peerNames = flags.quick && flags.peers.length === 0 ? PREINSTALLED_PEERS : flags.peers;
const peers = selectNames(
  "--peers",
  Object.keys(PEER_FILES),
  peerNames.length === 0 ? [] : [RUNTIME, ...peerNames],
);
const isFullRun = !flags.quick && flags.only.length === 0 && flags.peers.length === 0;
// Only a full run replaces the published results.
const out = flags.out ?? (isFullRun ? fileURLToPath(new URL("results", import.meta.url)) : undefined);

const startedAt = Date.now();
const loadBefore = getLoad();
const lines = await measure();
const machine = describeMachine({ loadBefore, startedAt });
const results = { isQuick: flags.quick, machine, thresholds: compareWithThresholds(lines), lines };
const markdown = toMarkdown(results);
if (out !== undefined) writeResults(out);
process.stdout.write(`${markdown}\n`);

async function measure() {
  const bench = new Bench({ peers, size: flags.quick ? QUICK_SIZE : FULL_SIZE });
  const measured = [];
  try {
    for (const name of workloads) {
      process.stderr.write(`${name}\n`);
      for await (const line of WORKLOADS[name](bench)) measured.push(toRatios(line));
      await bench.endWorkload();
    }
  } finally {
    await bench.close();
  }
  return measured;
}

function writeResults(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "latest.json"), `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(join(folder, "latest.md"), `${markdown}\n`);
  writeFileSync(join(folder, "chart.svg"), toChart(results));
}

/** Keeps the requested names in the order of `all`; without a request, returns all. */
function selectNames(flag, all, requested) {
  const unknown = requested.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new Error(`Unknown value for ${flag}: "${unknown}". Valid values: ${all.join(", ")}.`);
  return requested.length === 0 ? all : all.filter((name) => requested.includes(name));
}
