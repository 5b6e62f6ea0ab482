import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript-5.9";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "examples");
const files = readdirSync(folder);
const readme = readFileSync(join(root, "README.md"), "utf8");
const examples = files.filter((name) => /\.(?:ts|mjs)$/.test(name));

/** What `npm run demo` runs: from the source, as it stands there. */
const DEMO = "restart-in-the-middle.ts";

/** The last line that an example prints: it came to its end, and this is how the story ends. */
const LAST_LINES: Record<string, string> = {
  "agent-definition.ts": "the server got: Oslo, 3 days, key k-123",
  "approval.ts": "Ann has her money; Bob has to wait.",
  "chain.ts": "Translated: «good morning»",
  "create-agent.ts": "ai: Ten of twelve pages are printed.",
  "lambda.ts": "4. cancelled: enough. The function was started 3 times, for 3 calls.",
  "hot-reload.ts": "ai: There are three umbrellas in Oslo.",
  "drift-report.ts": "the server is down: unreachable",
  "manager-in-a-graph.ts": "   news: disconnected",
  "many-servers.ts":
    '5. Server "library" is disconnected: nothing is sent to it before it is connected again.',
  "opentelemetry.ts": "  tools/call book  attempts: 1",
  "plain-javascript.mjs": "hello",
  "quick-start.ts": "ai: Take an umbrella.",
  "resources-and-prompts.ts": "3. menu:today is another one now: soup, fish, cake",
  "restart-in-the-middle.ts": "the tool ran 2 times, for 2 calls",
  "rules-and-hidden-arguments.ts": 'The call of tool "delete_order" was refused: it was not approved.',
  "server-restart.ts": "   the tool ran 2 times, for 2 calls",
  "shared-cache.ts": '"forecast" is on server "weather", version 1.0.0, which is ok',
  "stdio.ts": "Echo: I am a process of my own.",
};

let compiled: string;

/** As JavaScript inside of this package, so that they import it by its name, as it was built. */
beforeAll(() => {
  compiled = mkdtempSync(join(root, "test/.examples-"));
  for (const name of files) {
    if (name.endsWith(".ts")) writeFileSync(scriptOf(name), toJavaScript(join(folder, name)));
    else copyFileSync(join(folder, name), join(compiled, name));
  }
});

afterAll(() => rmSync(compiled, { recursive: true, force: true }));

function scriptOf(name: string): string {
  return join(compiled, name.replace(/\.ts$/, ".mjs"));
}

function toJavaScript(file: string): string {
  const compilerOptions = { target: ScriptTarget.ES2022, module: ModuleKind.ESNext };
  return transpileModule(readFileSync(file, "utf8"), { compilerOptions }).outputText;
}

describe("the examples", () => {
  it("are all told here", () => {
    expect(examples.toSorted()).toEqual(Object.keys(LAST_LINES).toSorted());
  });

  it.each(examples)(
    "%s runs, without key or network, and ends by itself",
    { timeout: 30_000 },
    async (name) => {
      const script = name === DEMO ? ["--import", "tsx", `examples/${name}`] : [scriptOf(name)];
      const { stdout, stderr } = await run(process.execPath, script, { cwd: root, timeout: 25_000 });
      expect(stderr).toBe("");
      expect(stdout.trimEnd().split("\n").at(-1)).toBe(LAST_LINES[name]);
      if (name !== "create-agent.ts") expect(stdout).not.toContain("failed:");
      if (name === "opentelemetry.ts") expect(readme).toContain(stdout);
    },
  );
});
