import { openCatalogs } from "../measure/open-catalogs.mjs";
import { median } from "../measure/statistics.mjs";

const SOURCES = ["server", "memory", "file"];

/** Sources alternate, so that other load on the machine affects all of them equally. */
export async function run({ servers, toolCount, iterations }) {
  const catalogs = await openCatalogs(Object.values(servers)[0]);
  const times = { server: [], memory: [], file: [] };
  try {
    for (let n = 0; n < iterations; n += 1) {
      for (const source of SOURCES) {
        const start = performance.now();
        const tools = await catalogs[source]();
        times[source].push(performance.now() - start);
        if (tools.length !== toolCount)
          throw new Error(`${source} returned ${tools.length} of ${toolCount} tools`);
      }
    }
  } finally {
    await catalogs.close();
  }
  const listingMs = median(times.server);
  return { memory: median(times.memory) / listingMs, file: median(times.file) / listingMs };
}
