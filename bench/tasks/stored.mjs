import { openCatalogues } from "../measure/open-catalogues.mjs";
import { median } from "../measure/statistics.mjs";

const WAYS = ["listing", "memory", "file"];

/** The ways take turns, so that whatever else the machine does hits all alike. */
export async function run({ servers, toolCount, turns }) {
  const ways = await openCatalogues(Object.values(servers)[0]);
  const times = { listing: [], memory: [], file: [] };
  try {
    for (let n = 0; n < turns; n += 1) {
      for (const way of WAYS) {
        const start = performance.now();
        const tools = await ways[way]();
        times[way].push(performance.now() - start);
        if (tools.length !== toolCount) throw new Error(`${way} gave ${tools.length} of ${toolCount} tools`);
      }
    }
  } finally {
    await ways.close();
  }
  const listing = median(times.listing);
  return { memory: median(times.memory) / listing, file: median(times.file) / listing };
}
