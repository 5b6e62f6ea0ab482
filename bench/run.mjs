// Ours beside its peers. Usage: node bench/run.mjs [--quick] [--only <workload>]… [--peers <name>]… [--out <folder>]
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Bench } from "./measure/bench.mjs";
import { FULL, QUICK } from "./measure/size.mjs";
import { FLOOR, OURS, PEER_FILES } from "./peers/index.mjs";
import { checkBars } from "./report/bars.mjs";
import { compare } from "./report/compare.mjs";
import { describeMachine, loadNow } from "./report/machine.mjs";
import { toChart } from "./report/to-chart.mjs";
import { toMarkdown } from "./report/to-markdown.mjs";
import { WORKLOADS } from "./workloads/index.mjs";

/** A quick run takes these: what they need comes with the package itself. */
const INSTALLED_ANYWAY = ["SDK Client", FLOOR];

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    peers: { type: "string", multiple: true, default: [] },
    out: { type: "string" },
  },
});
const workloads = chosen("--only", Object.keys(WORKLOADS), flags.only);
const named = flags.quick && flags.peers.length === 0 ? INSTALLED_ANYWAY : flags.peers;
const peers = chosen("--peers", Object.keys(PEER_FILES), named.length === 0 ? [] : [OURS, ...named]);
const isWhole = !flags.quick && flags.only.length === 0 && flags.peers.length === 0;
// Only a whole run replaces the published figures.
const out = flags.out ?? (isWhole ? fileURLToPath(new URL("results", import.meta.url)) : undefined);

const startedAt = Date.now();
const loadBefore = loadNow();
const lines = await measure();
const machine = describeMachine({ loadBefore, startedAt });
const results = { isQuick: flags.quick, machine, bars: checkBars(lines), lines };
const markdown = toMarkdown(results);
if (out !== undefined) write(out);
process.stdout.write(`${markdown}\n`);

async function measure() {
  const bench = new Bench({ peers, size: flags.quick ? QUICK : FULL });
  const measured = [];
  try {
    for (const name of workloads) {
      process.stderr.write(`${name}\n`);
      for await (const line of WORKLOADS[name](bench)) measured.push(compare(line));
      await bench.endWorkload();
    }
  } finally {
    await bench.close();
  }
  return measured;
}

function write(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "latest.json"), `${JSON.stringify(results, undefined, 2)}\n`);
  writeFileSync(join(folder, "latest.md"), `${markdown}\n`);
  writeFileSync(join(folder, "chart.svg"), toChart(results));
}

function chosen(flag, all, names) {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) throw new Error(`${flag} ${unknown}: there are ${all.join(", ")}.`);
  return names.length === 0 ? all : all.filter((name) => names.includes(name));
}
