import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the packages that a compiler loads for these declaration files. */
function collectPackages(files: readonly string[]): Set<string> {
  const packages = new Set<string>();
  const seen = new Set<string>();
  for (const queue = [...files]; queue.length > 0;) {
    const file = queue.pop() ?? "";
    if (seen.has(file)) continue;
    seen.add(file);
    const text = readFileSync(file, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
    for (const [, specifier = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)) {
      if (specifier.startsWith(".")) queue.push(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
      else packages.add(specifier);
    }
  }
  return packages;
}

/** Needs `npm run build`: users compile against the published declarations. */
describe("the published types", () => {
  it.each(["typescript", "typescript-5.9"])(
    "satisfy test/types with %s",
    { timeout: 60_000 },
    async (compiler) => {
      const tsc = join(root, "node_modules", compiler, "bin/tsc");
      const output = await new Promise((resolve) => {
        execFile(process.execPath, [tsc, "-p", join(root, "test/types")], (_, stdout) => resolve(stdout));
      });
      expect(output).toBe("");
    },
  );

  it("compile without optional peer dependencies", () => {
    const { exports, peerDependenciesMeta } = JSON.parse(
      readFileSync(join(root, "package.json"), "utf8"),
    ) as {
      readonly exports: Readonly<Record<string, { readonly types?: string }>>;
      readonly peerDependenciesMeta: object;
    };
    const optional = Object.keys(peerDependenciesMeta);
    expect(optional).toContain("ioredis");
    const entries = Object.entries(exports).flatMap(([name, { types }]) =>
      types === undefined ? [] : { name, types },
    );
    expect(entries.length).toBeGreaterThan(2);
    const needed = entries.flatMap(({ name, types }) =>
      [...collectPackages([join(root, types)])]
        .filter((specifier) => optional.some((peer) => specifier.startsWith(peer)))
        .map((specifier) => `${name} needs ${specifier}`),
    );
    // These entry points are only for users of the respective package.
    expect(needed.toSorted()).toEqual([
      "./langchain needs langchain",
      "./langgraph needs @langchain/langgraph",
      "./langgraph needs @langchain/langgraph/prebuilt",
      "./opentelemetry needs @opentelemetry/api",
    ]);
  });

  it("contain no any and no types of the MCP SDK or undici", () => {
    const files = readdirSync(join(root, "dist"), { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".d.ts"),
    );
    expect(files.length).toBeGreaterThan(50);
    const isPublic = (name: string) => !/^(?:net|session|transports)\//.test(name);
    const offenders = files.filter(isPublic).filter((name) => {
      const text = readFileSync(join(root, "dist", name), "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
      return /:\s*any\b|<any>|\bany\[\]|@modelcontextprotocol|"undici"/.test(text);
    });
    expect(offenders.filter((name) => !name.startsWith("testing/"))).toEqual([]);
  });
});
