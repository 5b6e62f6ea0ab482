import { createMcpTools } from "../../dist/index.js";
import { median } from "../measure/statistics.mjs";

const noop = () => undefined;
const SILENT = { debug: noop, info: noop, warn: noop, error: noop };

/**
 * Lists a tool and calls it once, in a new toolset each time, because the first call compiles its schema. The plain
 * tool and the other one alternate, so that other load on the machine affects both equally.
 */
export async function run({ plain, hostile, iterations }) {
  const times = { plain: { listing: [], call: [] }, hostile: { listing: [], call: [] } };
  for (let n = 0; n < iterations; n += 1) {
    for (const [name, tool] of Object.entries({ plain, hostile })) {
      const { listingMs, callMs } = await measure(tool);
      times[name].listing.push(listingMs);
      times[name].call.push(callMs);
    }
  }
  return { listing: compare(times, "listing"), call: compare(times, "call") };
}

/** In CPU time, in which the whole process is blocked, and which other load on the machine does not increase. */
async function measure({ url, args }) {
  const start = getCpuMs();
  const { tools, close } = await createMcpTools({ s0: { url } }, { logger: SILENT });
  const [tool] = tools;
  if (tool.schema === undefined) throw new Error("The tool has no schema.");
  const listed = getCpuMs();
  // Arguments that are refused and results that are not validated are what is measured, too.
  await tool.invoke(args).catch(noop);
  const called = getCpuMs();
  await close();
  return { listingMs: listed - start, callMs: called - listed };
}

function getCpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** How many times as long as the plain tool, and how many milliseconds longer. */
function compare({ plain, hostile }, step) {
  const [plainMs, hostileMs] = [median(plain[step]), median(hostile[step])];
  return { ratio: hostileMs / plainMs, extraMs: hostileMs - plainMs };
}
