// tsx test/soak/chaos.ts [minutes]: 32 callers on a failing network, for each response format and transport.
// Prints a report; fails on any violation. CHAOS_MINUTES and CHAOS_SEED set the defaults.
import { getChaosSeed, describeViolations, runChaos } from "../fixtures/chaos.js";

const minutes = Number(process.argv[2] ?? process.env["CHAOS_MINUTES"] ?? 3);
if (!(minutes > 0))
  throw new Error("Usage: tsx test/soak/chaos.ts [minutes]; minutes must be a positive number.");

const seed = getChaosSeed();
const scenarios = [
  { name: "json", responseFormat: "json", resumable: false },
  { name: "sse", responseFormat: "sse", resumable: false },
  { name: "resumable sse", responseFormat: "sse", resumable: true },
  { name: "fresh session json", responseFormat: "json", resumable: false, freshSession: true },
  { name: "sse transport", responseFormat: "sse transport", resumable: false },
] as const;

for (const { name, ...scenario } of scenarios) {
  console.log(`${name}  CHAOS_SEED=${seed}`);
  const forMs = (minutes * 60_000) / scenarios.length;
  const { calls, outcomes, executions, faults, disturbances, recoveredAfterMs, violations } = await runChaos({
    ...scenario,
    seed,
    forMs,
    callers: 32,
  });
  console.log(`${name}  ${calls} calls  ${toText(outcomes)}`);
  const repeated = [...executions.values()].filter((count) => count > 1).length;
  console.log(`${name}  ${executions.size} executed, ${repeated} of them more than once`);
  console.log(`${name}  faults  ${toText(faults)}`);
  console.log(`${name}  disturbances  ${toText(disturbances)}`);
  console.log(`${name}  recovered after ${recoveredAfterMs.toFixed(0)} ms`);
  const problems = describeViolations(violations);
  if (problems.length > 0)
    throw new Error(`${name}, seed ${seed}: ${problems.length} violations\n${problems.join("\n")}`);
}

function toText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, left], [, right]) => right - left)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
