import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { withRuns } from "./fixtures/readme-runs.js";
import { withTables } from "./fixtures/readme-tables.js";
import { getTypeErrors } from "./fixtures/get-type-errors.js";

const run = promisify(execFile);
const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

/** Runs code from a file in this package, so that it can import the package by its name. */
async function runCode(code: string): Promise<string> {
  const file = fileURLToPath(new URL(`./quick-start-${process.pid}.ts`, import.meta.url));
  writeFileSync(file, code);
  try {
    const { stdout } = await run(process.execPath, ["--import", "tsx", file], {
      cwd: dirname(dirname(file)),
      timeout: 25_000,
    });
    return stdout;
  } finally {
    rmSync(file);
  }
}

describe("the README", () => {
  it("has a quick start of at most 15 lines with the shown output", { timeout: 30_000 }, async () => {
    const [, code = "", output = ""] = /```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(15);
    expect(await runCode(code)).toBe(output);
  });

  it("lists every peer dependency", () => {
    const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      readonly peerDependencies: Readonly<Record<string, string>>;
    };
    const [, packages = ""] = /### Packages\n([\s\S]*?)\n#/.exec(readme) ?? [];
    const named = [...packages.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell = ""]) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    );
    expect(new Set(named)).toEqual(new Set(Object.keys(manifest.peerDependencies)));
  });

  it("has up-to-date tables (npm run readme)", () => {
    expect(withTables(readme)).toBe(readme);
  });

  it("has up-to-date command-line output (npm run readme)", async () => {
    expect(await withRuns(readme)).toBe(readme);
  });

  it("has TypeScript blocks that compile", { timeout: 60_000 }, async () => {
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? "");
    expect(blocks.length).toBeGreaterThan(3);
    expect(await getTypeErrors(blocks)).toBe("");
  });
});
