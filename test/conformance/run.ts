// Runs the client scenarios of the official conformance suite, one after the other: some of them
// measure time. Usage: npm run conformance [-- <scenario>…]
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

interface Check {
  readonly name: string;
  readonly description: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  readonly errorMessage?: string;
}

interface Outcome {
  readonly isPassed: boolean;
  /** Passed and all that count. */
  readonly checks: string;
  /** Why it failed. */
  readonly reason: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const bin = fileURLToPath(new URL("node_modules/.bin", import.meta.url));
const SCENARIO_TIMEOUT_MS = 60_000;

/** Runs the suite on its own Node.js. */
function runSuite(...args: string[]): Promise<{ isSuccess: boolean; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, LANGCHAIN_MCP_LOG: "warn" };
    execFile(
      join(bin, "node"),
      [join(bin, "conformance"), ...args],
      { cwd: root, env },
      (error, stdout, stderr) => resolve({ isSuccess: error === null, stdout, stderr }),
    );
  });
}

async function listScenarios(): Promise<string[]> {
  const { stdout, stderr } = await runSuite("list", "--client");
  const names = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name ?? "");
  if (names.length === 0) throw new Error(`The suite lists no scenarios: ${stdout}${stderr}`);
  return names;
}

async function run(scenario: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  const command = `"${process.execPath}" --import tsx test/conformance/client.ts`;
  const timeout = String(SCENARIO_TIMEOUT_MS);
  try {
    const flags = ["--command", command, "--scenario", scenario, "--timeout", timeout, "-o", folder];
    const { isSuccess, stderr } = await runSuite("client", ...flags);
    const all = readChecks(folder);
    const counted = all.filter(({ status }) => status === "SUCCESS" || status === "FAILURE");
    const passed = counted.filter(({ status }) => status === "SUCCESS");
    return {
      isPassed: isSuccess,
      checks: `${passed.length}/${counted.length}`,
      reason: isSuccess ? "" : reasonOf(all, stderr),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readChecks(folder: string): Check[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const path = files.find((name) => name.endsWith("checks.json"));
  return path === undefined ? [] : (JSON.parse(readFileSync(join(folder, path), "utf8")) as Check[]);
}

function reasonOf(checks: readonly Check[], stderr: string): string {
  const bad = checks.find(({ status }) => status === "FAILURE" || status === "WARNING");
  if (bad !== undefined) return `${bad.name}: ${bad.errorMessage ?? bad.description}`;
  const said = stderr.split("\n").find((line) => /error|timed out/i.test(line));
  return said?.trim() ?? "The client ended with an error.";
}

const named = process.argv.slice(2);
const known = await listScenarios();
const unknown = named.filter((name) => !known.includes(name));
if (unknown.length > 0)
  throw new Error(`There is no scenario ${unknown.join(", ")}. There are: ${known.join(", ")}.`);
const scenarios = named.length > 0 ? named : known;
const width = Math.max(...scenarios.map(({ length }) => length));
let passed = 0;
for (const scenario of scenarios) {
  const { isPassed, checks, reason } = await run(scenario);
  if (isPassed) passed += 1;
  const line = `${isPassed ? "passed" : "FAILED"}  ${scenario.padEnd(width)}  ${checks.padStart(5)}  ${reason}`;
  console.log(line.trimEnd());
}
console.log(`\n${passed} of ${scenarios.length} scenarios passed.`);
process.exitCode = passed === scenarios.length ? 0 : 1;
