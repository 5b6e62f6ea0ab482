import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { withTables } from "./support/readme-tables.js";
import { typeErrorsOf } from "./support/type-check.js";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

describe("the README", () => {
  it("has the tables that the code prints (npm run readme)", () => {
    expect(withTables(readme)).toBe(readme);
  });

  it("shows TypeScript that compiles", async () => {
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
    expect(blocks.length).toBeGreaterThan(3);
    expect(await typeErrorsOf(blocks)).toBe("");
  });
});
