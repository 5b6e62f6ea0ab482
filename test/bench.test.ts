import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { TemporaryFolder } from "./fixtures/temporary-folder.js";

const run = promisify(execFile);
const bench = fileURLToPath(new URL("../bench/run.mjs", import.meta.url));

const schemas = fileURLToPath(new URL("../bench/schemas.mjs", import.meta.url));

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

it("the measure of portable schemas is skipped without data, with the reason", async () => {
  using folder = new TemporaryFolder();
  expect((await run(process.execPath, [schemas])).stdout).toMatch(/^Skipped: --data <folder> is missing/);
  const { stdout } = await run(process.execPath, [schemas, "--data", folder.path]);
  expect(stdout).toMatch(/^Skipped: .*servers\.json does not exist/);
});

it("the measure of portable schemas reports what is lost, and fails for it", async () => {
  using folder = new TemporaryFolder();
  const measure = (tool: object) => {
    writeFileSync(join(folder.path, "servers.json"), JSON.stringify([{ server: "s", tools: [tool] }]));
    return run(process.execPath, [schemas, "--data", folder.path, "--worst", "1"]);
  };
  const properties = { a: { type: "string", enum: ["x", "y"], description: "Which one." } };
  const inputSchema = { type: "object", properties, required: ["a"] };
  const { stdout } = await measure({ name: "t", description: "Does it.", inputSchema });
  expect(stdout).toContain("| words of descriptions kept | 1.0000 | ≥ 0.99 | met |");
  expect(stdout).toContain("| size, maximum | 1.0000 | ≤ 1.5 | met |");
  // Without a parameter, the end of a long description cannot be shown.
  const long = { name: "t", description: "Too long. ".repeat(500), inputSchema: { type: "object" } };
  await expect(measure(long)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/words of descriptions kept .* missed[\s\S]*words lost: s t: Too long/),
  });
});
