import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { TemporaryFolder } from "./fixtures/temporary-folder.js";

const run = promisify(execFile);
const bench = fileURLToPath(new URL("../bench/run.mjs", import.meta.url));

/** The workloads that use the most internals of the package. `node bench/run.mjs --quick` runs all workloads. */
const WORKLOADS = ["sequential", "recovery", "catalog-cache", "middleware"];

interface Line {
  readonly id: string;
  readonly medians: Readonly<Record<string, number>>;
}

it("the benchmark runs with the baseline peer and writes its results", { timeout: 60_000 }, async () => {
  using folder = new TemporaryFolder();
  const only = WORKLOADS.flatMap((name) => ["--only", name]);
  const args = [bench, "--quick", "--peers", "baseline", "--out", folder.path, ...only];
  const { stdout } = await run(process.execPath, args, { timeout: 55_000 });
  const { lines } = JSON.parse(readFileSync(join(folder.path, "latest.json"), "utf8")) as { lines: Line[] };
  expect(new Set(lines.map(({ id }) => id.split("/", 1)[0]))).toEqual(new Set(WORKLOADS));
  for (const { id, medians } of lines)
    expect([id, medians["langchain-mcp-runtime"]]).not.toContain(undefined);
  expect(stdout).toContain("one call, JSON, bare server");
  expect(readFileSync(join(folder.path, "chart.svg"), "utf8")).toMatch(/^<svg[\s\S]*<\/svg>\s*$/);
});
