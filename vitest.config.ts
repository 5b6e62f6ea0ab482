import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { target: "es2022" },
  test: {
    include: ["test/**/*.test.ts"],
    env: { LANGCHAIN_MCP_LOG: "silent" },
  },
});
