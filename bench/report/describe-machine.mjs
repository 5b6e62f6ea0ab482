import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

/** The load average of the last minute. */
export function getLoad() {
  return Number(loadavg()[0].toFixed(2));
}

/** The machine, date and duration of the run, and the versions that were compared. */
export function describeMachine({ loadBefore, startedAt }) {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    node: process.versions.node,
    load: { before: loadBefore, after: getLoad() },
    at: new Date(startedAt).toISOString().slice(0, 10),
    seconds: Math.round((Date.now() - startedAt) / 1000),
    versions: readVersions(),
  };
}

/** The versions pinned in bench/package.json. */
function readVersions() {
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const runtime = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return { [runtime.name]: runtime.version, ...dependencies };
}
