import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { packagesLoadedBy, readSource } from "../../fixtures/layers.js";

describe("the entry point langchain-mcp-runtime/manager", () => {
  it("does not load LangChain", () => {
    const files = readSource(fileURLToPath(new URL("../../../src", import.meta.url)));
    const packages = packagesLoadedBy("manager/index.ts", files);
    expect(packages.filter((name) => /langchain|langgraph/.test(name))).toEqual([]);
    expect(packagesLoadedBy("index.ts", files).some((name) => name.startsWith("@langchain/"))).toBe(true);
  });
});
