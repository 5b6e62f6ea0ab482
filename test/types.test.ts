import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Needs `npm run build`: users compile against what is published. */
describe("the published types", () => {
  it.each(["typescript", "typescript-5.9"])(
    "hold what test/types claims, in %s",
    { timeout: 60_000 },
    async (compiler) => {
      const tsc = join(root, "node_modules", compiler, "bin/tsc");
      const said = await new Promise((resolve) => {
        execFile(process.execPath, [tsc, "-p", join(root, "test/types")], (_, stdout) => resolve(stdout));
      });
      expect(said).toBe("");
    },
  );

  it("have no any, and no type of the MCP SDK", () => {
    const files = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".d.ts"),
    );
    expect(files.length).toBeGreaterThan(50);
    const isPublic = (name: string) => !/^(?:session|transports)\//.test(name);
    const offenders = files.filter(isPublic).filter((name) => {
      const text = readFileSync(join(root, "dist", name), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
      return /:\s*any\b|<any>|\bany\[\]|@modelcontextprotocol/.test(text);
    });
    expect(offenders.filter((name) => !name.startsWith("testing/"))).toEqual([]);
  });
});
