// Runs the client scenarios of two releases of the official conformance suite, one after the other:
// some of them measure time. Usage: npm run conformance [-- <scenario>…]
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
  /** Zero: all were skipped, and it proves nothing. */
  readonly allChecks: number;
  /** Why it failed, or why nothing was checked. */
  readonly reason: string;
}

/** The folder of a release, and how many of its scenarios have to pass, by at least one check each. */
interface Suite {
  readonly folder: string;
  readonly enough: number;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const SCENARIO_TIMEOUT_MS = 60_000;

const SUITES: readonly Suite[] = [
  { folder: "@modelcontextprotocol/conformance", enough: 26 },
  { folder: "conformance-next", enough: 44 },
];

/** Runs the suite on its own Node.js. */
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
    const skipped = counted.length === 0 ? reasonsOf(all, "SKIPPED") : "";
    return {
      isPassed: isSuccess,
      passedChecks: passed.length,
      allChecks: counted.length,
      reason: isSuccess ? skipped : failureOf(all, stderr),
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

function failureOf(checks: readonly Check[], stderr: string): string {
  const reasons = reasonsOf(checks, "FAILURE", "WARNING");
  if (reasons !== "") return reasons;
  const said = stderr.split("\n").find((line) => /error|timed out/i.test(line));
  return said?.trim() ?? "The client ended with an error.";
}

/** What the checks that ended so say, each thing once. */
function reasonsOf(checks: readonly Check[], ...statuses: Check["status"][]): string {
  const meant = checks.filter(({ status }) => statuses.includes(status));
  const reasons = meant.map(
    ({ name, errorMessage, description }) => `${name}: ${errorMessage ?? description}`,
  );
  return [...new Set(reasons)].join("; ");
}

function versionOf({ folder }: Suite): string {
  const text = readFileSync(join(modules, folder, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Whether enough of them pass. */
async function runAll(suite: Suite, scenarios: readonly string[], enough: number): Promise<boolean> {
  console.log(`\nConformance suite ${versionOf(suite)}\n`);
  const width = Math.max(...scenarios.map(({ length }) => length));
  const outcomes = new Map<string, Outcome>();
  for (const scenario of scenarios) {
    const outcome = await run(suite, scenario);
    outcomes.set(scenario, outcome);
    console.log(lineOf(scenario.padEnd(width), outcome));
  }
  const namesOf = (isMeant: (outcome: Outcome) => boolean) =>
    scenarios.filter((name) => isMeant(outcomes.get(name) as Outcome));
  const passed = namesOf(({ isPassed }) => isPassed);
  const unchecked = namesOf(({ allChecks }) => allChecks === 0);
  const proven = passed.filter((name) => !unchecked.includes(name));
  console.log(
    `\n${passed.length} of ${scenarios.length} scenarios passed, ${proven.length} of them by checks.`,
  );
  if (unchecked.length > 0) console.log(`No check ran in ${unchecked.join(", ")}.`);
  return proven.length >= enough;
}

function lineOf(scenario: string, { isPassed, passedChecks, allChecks, reason }: Outcome): string {
  const checks = allChecks === 0 ? "no check" : `${passedChecks}/${allChecks}`;
  return `${isPassed ? "passed" : "FAILED"}  ${scenario}  ${checks.padStart(8)}  ${reason}`.trimEnd();
}

const named = process.argv.slice(2);
const known = new Map(
  await Promise.all(SUITES.map(async (suite) => [suite, await listScenarios(suite)] as const)),
);
const names = new Set([...known.values()].flat());
const unknown = named.filter((name) => !names.has(name));
if (unknown.length > 0)
  throw new Error(`There is no scenario ${unknown.join(", ")}. There are: ${[...names].join(", ")}.`);
let isEnough = true;
for (const [suite, scenarios] of known) {
  const chosen = named.length === 0 ? scenarios : scenarios.filter((name) => named.includes(name));
  const enough = named.length === 0 ? suite.enough : chosen.length;
  if (chosen.length > 0) isEnough = (await runAll(suite, chosen, enough)) && isEnough;
}
process.exitCode = isEnough ? 0 : 1;
