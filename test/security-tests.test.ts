import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { hasTest } from "./fixtures/test-titles.js";

const root = fileURLToPath(new URL("..", import.meta.url));

it("docs/security-tests.md names tests that exist", () => {
  const page = readFileSync(`${root}docs/security-tests.md`, "utf8");
  const rows = [...page.matchAll(/^\|.*\| `(test\/.*?)`\s*\| (.*?)\s*\|$/gm)];
  expect(rows.length).toBeGreaterThan(30);
  const missing = rows.filter(([, file = "", test = ""]) =>
    test === "" ? !existsSync(root + file) : !hasTest({ file, test }),
  );
  expect(missing.map(([row]) => row)).toEqual([]);
});
