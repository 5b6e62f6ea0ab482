import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { SlowestFirstSequencer } from "./fixtures/slowest-first-sequencer.js";

/** The matrix runs tests with another version of ioredis. */
const ioredis = process.env["IOREDIS_FILE"];

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  // Node 20 does not support `await using`.
  oxc: { target: "es2022" },
  resolve: { alias: ioredis === undefined ? {} : { ioredis } },
  test: {
    include: ["test/**/*.test.ts"],
    // By default one core stays idle, which is half of a small machine; and tests wait for other processes.
    maxWorkers: Math.ceil(availableParallelism() * 2),
    // The modules of this package are stateless, so test files share them and each worker loads them once.
    // `restore-process.ts` keeps the process itself free of traces of a test.
    isolate: false,
    sequence: { sequencer: SlowestFirstSequencer },
    globalSetup: ["test/fixtures/provide-redis.ts", "test/fixtures/compile-child-scripts.ts"],
    setupFiles: ["test/fixtures/restore-process.ts"],
    // Generous, because tests run compilers, package managers and other processes on a shared machine.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    env: { LANGCHAIN_MCP_LOG: "silent" },
  },
});
