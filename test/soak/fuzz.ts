// tsx test/soak/fuzz.ts [rounds]: the fuzz test of the transports, with more rounds and a new seed.
import { spawnSync } from "node:child_process";

const rounds = process.argv[2] ?? process.env["FUZZ_ROUNDS"] ?? "5000";
const seed = process.env["FUZZ_SEED"] ?? String(Date.now() % 1_000_000);
console.log(`FUZZ_ROUNDS=${rounds} FUZZ_SEED=${seed}`);
const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
const { status } = spawnSync(
  process.execPath,
  [...vitest, "test/integration/hostile/fuzz-transports.test.ts"],
  { stdio: "inherit", env: { ...process.env, FUZZ_ROUNDS: rounds, FUZZ_SEED: seed } },
);
process.exitCode = status ?? 1;
