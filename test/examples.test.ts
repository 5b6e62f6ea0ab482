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
const observability = readFileSync(join(root, "docs/observability.md"), "utf8");
const examples = files.filter((name) => /\.(?:ts|mjs)$/.test(name));

/** Run from source, like `npm run demo`. */
const DEMO = "restart-in-the-middle.ts";

/** The last line that each example prints: it shows that the example ran to its end with the expected result. */
const LAST_LINES: Record<string, string> = {
  "agent-definition.ts": "the server received: Oslo, 3 days, key k-123",
  "approval.ts": "I paid Ann. The payment to Bob was rejected.",
  "chain.ts": "Translated: «good morning»",
  "create-agent.ts": "ai: I printed ten of the twelve pages.",
  "lambda.ts": "4. cancelled: no longer needed. The function was invoked 3 times for 3 tool calls.",
  "hot-reload.ts": "ai: There are three umbrellas in Oslo.",
  "drift-report.ts": "while the server is down: unreachable",
  "manager-in-a-graph.ts": "   news: disconnected",
  "many-servers.ts": '5. Server "library" is disconnected. Connect it again before using it.',
  "opentelemetry.ts": "  tools/call book  attempts: 1",
  "plain-javascript.mjs": "hello",
  "quick-start.ts": "ai: Take an umbrella.",
  "resources-and-prompts.ts": "3. menu:today was updated: soup, fish, cake",
  "restart-in-the-middle.ts": "the tool was executed 2 times for 2 calls",
  "rules-and-injected-arguments.ts": 'The call to tool "delete_order" was denied: it was not approved.',
  "server-restart.ts": "   the tool was executed 2 times for 2 calls",
  "shared-cache.ts": '"forecast" is on server "weather", version 1.0.0, health: ok',
  "stdio.ts": "Echo: Hello from another process.",
};

let compiled: string;

/** Compile to a folder inside this package, so that the examples import the built package by its name. */
beforeAll(() => {
  compiled = mkdtempSync(join(root, "test/.examples-"));
  for (const name of files) {
    if (name.endsWith(".ts")) writeFileSync(toScriptPath(name), transpile(join(folder, name)));
    else copyFileSync(join(folder, name), join(compiled, name));
  }
});

afterAll(() => rmSync(compiled, { recursive: true, force: true }));

function toScriptPath(name: string): string {
  return join(compiled, name.replace(/\.ts$/, ".mjs"));
}

function transpile(file: string): string {
  const compilerOptions = { target: ScriptTarget.ES2022, module: ModuleKind.ESNext };
  return transpileModule(readFileSync(file, "utf8"), { compilerOptions }).outputText;
}

describe("the examples", () => {
  it("are all covered by this test", () => {
    expect(examples.toSorted()).toEqual(Object.keys(LAST_LINES).toSorted());
  });

  it.each(examples)("%s runs without API key or network, and exits", { timeout: 30_000 }, async (name) => {
    const script = name === DEMO ? ["--import", "tsx", `examples/${name}`] : [toScriptPath(name)];
    const { stdout, stderr } = await run(process.execPath, script, { cwd: root, timeout: 25_000 });
    expect(stderr).toBe("");
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(LAST_LINES[name]);
    if (name !== "create-agent.ts") expect(stdout).not.toContain("failed:");
    if (name === "opentelemetry.ts") expect(observability).toContain(stdout);
  });
});
