import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startEraServer } from "../../fixtures/era-server.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const script = fileURLToPath(new URL("../../fixtures/call-once.mjs", import.meta.url));

/** The files that a process loads to make one call with the built package. */
async function listLoadedFiles(url: string, protocol: string): Promise<string[]> {
  using folder = new TemporaryFolder();
  const env = { ...process.env, NODE_V8_COVERAGE: folder.path };
  const args = [script, url, protocol];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect(stdout.trim()).toBe("hi");
  const files = await readdir(folder.path);
  const reports = await Promise.all(files.map((name) => readFile(join(folder.path, name), "utf8")));
  return reports.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url: file }) => file),
  );
}

const has = (files: readonly string[], path: string) => files.some((file) => file.includes(path));

describe("a process that makes one call", () => {
  it("loads neither the SDK nor the modern protocol for a legacy server", { timeout: 60_000 }, async () => {
    await using server = await startEraServer("legacy");
    const files = await listLoadedFiles(server.url, "auto");
    expect(has(files, "/dist/chunks/runtime.js")).toBe(true);
    expect(has(files, "/dist/chunks/modern-session.js")).toBe(false);
    expect(has(files, "@modelcontextprotocol/")).toBe(false);
  });

  it("loads the modern protocol and not the SDK for a modern server", { timeout: 60_000 }, async () => {
    await using server = await startEraServer("modern");
    const files = await listLoadedFiles(server.url, "2026-07-28");
    expect(has(files, "/dist/chunks/modern-session.js")).toBe(true);
    expect(has(files, "@modelcontextprotocol/")).toBe(false);
  });
});
