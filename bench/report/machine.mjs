import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";

export function loadNow() {
  return Number(loadavg()[0].toFixed(2));
}

/** Where and when the run was, and what was compared. */
export function describeMachine({ loadBefore, startedAt }) {
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    node: process.versions.node,
    load: { before: loadBefore, after: loadNow() },
    at: new Date(startedAt).toISOString().slice(0, 10),
    seconds: Math.round((Date.now() - startedAt) / 1000),
    versions: readVersions(),
  };
}

/** As bench/package.json pins them. */
function readVersions() {
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const own = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return { [own.name]: own.version, ...dependencies };
}
