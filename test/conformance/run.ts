// Runs the client scenarios of two releases of the official conformance suite, sequentially because some
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
  readonly passedChecks: number;
  /** Zero if all checks were skipped. */
  readonly allChecks: number;
  /** Why it failed, or why nothing was checked. */
  readonly reason: string;
}

/** The folder of a release, and how many of its scenarios must pass with at least one check each. */
interface Suite {
  readonly folder: string;
  readonly minPassed: number;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const SCENARIO_TIMEOUT_MS = 60_000;

const SUITES: readonly Suite[] = [
  { folder: "@modelcontextprotocol/conformance", minPassed: 26 },
  { folder: "conformance-next", minPassed: 48 },
];

/** Runs the suite with the Node.js version that it requires. */
function runSuite(
  { folder }: Suite,
  ...args: string[]
): Promise<{ isSuccess: boolean; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, LANGCHAIN_MCP_LOG: "warn" };
    execFile(
      join(modules, ".bin/node"),
      [join(modules, folder, "dist/index.js"), ...args],
      { cwd: root, env },
      (error, stdout, stderr) => resolve({ isSuccess: error === null, stdout, stderr }),
    );
  });
}

async function listScenarios(suite: Suite): Promise<string[]> {
  const { stdout, stderr } = await runSuite(suite, "list", "--client");
  const names = [...stdout.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name ?? "");
  if (names.length === 0) throw new Error(`The suite lists no scenarios: ${stdout}${stderr}`);
  return names;
}

async function run(suite: Suite, scenario: string): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), "conformance-"));
  const command = `"${process.execPath}" --import tsx test/conformance/client.ts`;
  const timeout = String(SCENARIO_TIMEOUT_MS);
  try {
    const flags = ["--command", command, "--scenario", scenario, "--timeout", timeout, "-o", folder];
    const { isSuccess, stderr } = await runSuite(suite, "client", ...flags);
    const all = readChecks(folder);
    const counted = all.filter(({ status }) => status === "SUCCESS" || status === "FAILURE");
    const passed = counted.filter(({ status }) => status === "SUCCESS");
    const skipped = counted.length === 0 ? describeChecks(all, "SKIPPED") : "";
    return {
      isPassed: isSuccess,
      passedChecks: passed.length,
      allChecks: counted.length,
      reason: isSuccess ? skipped : describeFailure(all, stderr),
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

function describeFailure(checks: readonly Check[], stderr: string): string {
  const reasons = describeChecks(checks, "FAILURE", "WARNING");
  if (reasons !== "") return reasons;
  const errorLine = stderr.split("\n").find((line) => /error|timed out/i.test(line));
  return errorLine?.trim() ?? "The client failed.";
}

/** Describes the checks with these statuses, without duplicates. */
function describeChecks(checks: readonly Check[], ...statuses: Check["status"][]): string {
  const matching = checks.filter(({ status }) => statuses.includes(status));
  const reasons = matching.map(
    ({ name, errorMessage, description }) => `${name}: ${errorMessage ?? description}`,
  );
  return [...new Set(reasons)].join("; ");
}

function readVersion({ folder }: Suite): string {
  const text = readFileSync(join(modules, folder, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs the scenarios and returns whether enough of them pass. */
async function runAll(suite: Suite, scenarios: readonly string[], minPassed: number): Promise<boolean> {
  console.log(`\nConformance suite ${readVersion(suite)}\n`);
  const width = Math.max(...scenarios.map(({ length }) => length));
  const outcomes = new Map<string, Outcome>();
  for (const scenario of scenarios) {
    const outcome = await run(suite, scenario);
    outcomes.set(scenario, outcome);
    console.log(formatOutcome(scenario.padEnd(width), outcome));
  }
  const filterNames = (isMatch: (outcome: Outcome) => boolean) =>
    scenarios.filter((name) => isMatch(outcomes.get(name) as Outcome));
  const passed = filterNames(({ isPassed }) => isPassed);
  const unchecked = filterNames(({ allChecks }) => allChecks === 0);
  const checked = passed.filter((name) => !unchecked.includes(name));
  console.log(
    `\n${passed.length} of ${scenarios.length} scenarios passed, ${checked.length} of them with checks.`,
  );
  if (unchecked.length > 0) console.log(`No check ran in ${unchecked.join(", ")}.`);
  return checked.length >= minPassed;
}

function formatOutcome(scenario: string, { isPassed, passedChecks, allChecks, reason }: Outcome): string {
  const checks = allChecks === 0 ? "no check" : `${passedChecks}/${allChecks}`;
  return `${isPassed ? "passed" : "FAILED"}  ${scenario}  ${checks.padStart(8)}  ${reason}`.trimEnd();
}

const requested = process.argv.slice(2);
const scenariosBySuite = new Map(
  await Promise.all(SUITES.map(async (suite) => [suite, await listScenarios(suite)] as const)),
);
const names = new Set([...scenariosBySuite.values()].flat());
const unknown = requested.filter((name) => !names.has(name));
if (unknown.length > 0)
  throw new Error(`Unknown scenario: ${unknown.join(", ")}. Valid scenarios: ${[...names].join(", ")}.`);
let hasPassed = true;
for (const [suite, scenarios] of scenariosBySuite) {
  const chosen = requested.length === 0 ? scenarios : scenarios.filter((name) => requested.includes(name));
  const minPassed = requested.length === 0 ? suite.minPassed : chosen.length;
  if (chosen.length > 0) hasPassed = (await runAll(suite, chosen, minPassed)) && hasPassed;
}
process.exitCode = hasPassed ? 0 : 1;
