import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./fixtures/slowest-first-sequencer.js";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  // Node 20 does not know `await using`.
  oxc: { target: "es2022" },
  test: {
    include: ["test/**/*.test.ts"],
    // By default one core stays idle, which is half of a small machine.
    maxWorkers: "100%",
    // Modules of this package have no state: files share them, and each worker loads them once.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/fixtures/provide-redis.ts"],
    // Compilers, package managers and other processes at work on a machine that is shared. A wait that
    // never ends still fails, and no test waits this long for luck.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    env: { LANGCHAIN_MCP_LOG: "silent" },
  },
});
