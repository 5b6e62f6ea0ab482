import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  // Node 20 does not know `await using`.
  oxc: { target: "es2022" },
  test: {
    include: ["test/**/*.test.ts"],
    env: { LANGCHAIN_MCP_LOG: "silent" },
  },
});
