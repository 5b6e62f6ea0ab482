// tsx test/soak/chaos.ts [minutes]: 32 callers on a failing network, for each way a server answers.
// Prints what happened; fails on what must not. CHAOS_MINUTES and CHAOS_SEED set the rest.
import { chaosSeed, describeViolations, runChaos } from "../fixtures/chaos.js";

const minutes = Number(process.argv[2] ?? process.env["CHAOS_MINUTES"] ?? 3);
if (!(minutes > 0)) throw new Error("How many minutes? tsx test/soak/chaos.ts 3");

const seed = chaosSeed();
const ways = [
  { name: "json", answers: "json", resumable: false },
  { name: "sse", answers: "sse", resumable: false },
  { name: "resumable sse", answers: "sse", resumable: true },
  { name: "fresh session json", answers: "json", resumable: false, freshSession: true },
  { name: "legacy sse", answers: "legacy sse", resumable: false },
] as const;

for (const { name, ...way } of ways) {
  console.log(`${name}  CHAOS_SEED=${seed}`);
  const forMs = (minutes * 60_000) / ways.length;
  const { calls, outcomes, executions, faults, disturbances, healedAfterMs, violations } = await runChaos({
    ...way,
    seed,
    forMs,
    callers: 32,
  });
  console.log(`${name}  ${calls} calls  ${toText(outcomes)}`);
  const repeated = [...executions.values()].filter((count) => count > 1).length;
  console.log(`${name}  ${executions.size} executed, ${repeated} of them more than once`);
  console.log(`${name}  faults  ${toText(faults)}`);
  console.log(`${name}  disturbances  ${toText(disturbances)}`);
  console.log(`${name}  healed after ${healedAfterMs.toFixed(0)} ms`);
  const found = describeViolations(violations);
  if (found.length > 0)
    throw new Error(`${name}, seed ${seed}: ${found.length} violations\n${found.join("\n")}`);
}

function toText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}
