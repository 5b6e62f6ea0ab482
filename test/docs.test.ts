import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { COMMAND_NAMES, OPTIONS } from "../src/cli/command-line.js";
import { MINIMUM_VERSIONS } from "../src/errors/load-optional-dependency.js";
import { findMissingTables, findOutdatedDocs, readDocPages } from "./fixtures/doc-pages.js";
import { getTypeErrors } from "./fixtures/get-type-errors.js";
import { runPrograms } from "./fixtures/program-runner.js";
import { transpile } from "./fixtures/transpile.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = readDocPages();
const readme = pages.get("README.md") ?? "";

const MAX_README_LINES = 250;
const MAX_PAGE_LINES = 300;

/** A program of a page that is directly followed by its output. */
interface RunnableExample {
  readonly path: string;
  readonly language: string;
  readonly code: string;
  readonly output: string;
}

function findRunnableExamples(): RunnableExample[] {
  return [...pages].flatMap(([path, text]) =>
    [...text.matchAll(/```(ts|js)\n([^`]*(?:`(?!``)[^`]*)*?)```\n\n```text\n([\s\S]*?)```/g)].map(
      ([, language = "", code = "", output = ""]) => ({ path, language, code, output }),
    ),
  );
}

const examples = findRunnableExamples();

/**
 * Runs all examples from files in this package, so that they can import it by its name. Returns what each prints; one that
 * does not end by itself prints the reason. Those that end their process have one of their own.
 */
async function runExamples(): Promise<readonly string[]> {
  const folder = mkdtempSync(join(root, "test/.examples-"));
  const files = examples.map(({ language, code }, index) => {
    const file = join(folder, `${index}.mjs`);
    writeFileSync(file, language === "js" ? code : transpile(code));
    return file;
  });
  const endsProcess = examples.map(({ code }) => /process\.(kill|exit|once)/.test(code));
  try {
    const shared = await runPrograms(files.filter((_, index) => endsProcess[index] === false));
    const remaining = [...shared.stdout];
    const outputs = files.map(async (file, index) => {
      const output = endsProcess[index] === true ? (await runPrograms([file])).stdout[0] : remaining.shift();
      return output ?? "not run: an example before it does not end";
    });
    return await Promise.all(outputs);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The anchor that GitHub gives a heading. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

function withoutCode(page: string): string {
  return page.replace(/```[\s\S]*?```/g, "").replace(/`[^`\n]*`/g, "");
}

function findAnchors(page: string): Set<string> {
  const headings = page.replace(/```[\s\S]*?```/g, "").matchAll(/^#+ (.*)$/gm);
  return new Set([...headings].map(([, heading = ""]) => toAnchor(heading)));
}

function findBrokenLinks(path: string, page: string): string[] {
  const links = [...withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return links.filter((target) => {
    if (/^(https?|mailto):/.test(target)) return false;
    const [file = "", anchor] = target.split("#");
    const linked = file === "" ? path : join(dirname(path), file);
    if (!existsSync(join(root, linked))) return true;
    return anchor !== undefined && !findAnchors(readFileSync(join(root, linked), "utf8")).has(anchor);
  });
}

/** The options and methods in the types of @langchain/mcp-adapters 1.1.4. */
const ADAPTER_NAMES = (
  "mcpServers throwOnLoadError prefixToolNameWithServerName additionalToolNamePrefix useStandardContentBlocks " +
  "onConnectionError outputHandling defaultToolTimeout beforeToolCall afterToolCall onMessage onProgress onCancelled " +
  "onInitialized onPromptsListChanged onResourcesListChanged onResourcesUpdated onRootsListChanged onToolsListChanged " +
  "transport type command args env encoding stderr cwd restart url headers authProvider reconnect automaticSSEFallback " +
  "enabled maxAttempts delayMs config initializeConnections getTools setLoggingLevel getClient listResources " +
  "listResourceTemplates readResource close loadMcpTools"
).split(" ");

describe("the documentation", () => {
  it("has a README and pages of limited length", () => {
    const tooLong = [...pages].filter(
      ([path, text]) =>
        text.split("\n").length - 1 > (path === "README.md" ? MAX_README_LINES : MAX_PAGE_LINES),
    );
    expect(tooLong.map(([path]) => path)).toEqual([]);
  });

  it("has a quick start of at most 20 lines", () => {
    const [, code = ""] = /<!-- quickstart -->\s*```js\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(code).toContain("createAgent");
    expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(20);
  });

  describe("has examples that print their output and end:", () => {
    let outputs: readonly string[];
    beforeAll(async () => {
      outputs = await runExamples();
    }, 120_000);

    it.each(
      examples.map((example, index) => [`${example.path} (${index + 1})`, index, example.output] as const),
    )("%s", (_, index, output) => {
      expect(outputs[index]).toBe(output);
    });
  });

  it("names every peer dependency with its minimum version", () => {
    const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      readonly peerDependencies: Readonly<Record<string, string>>;
    };
    const [, packages = ""] = /## Install\n([\s\S]*?)\n## /.exec(readme) ?? [];
    const missing = Object.entries(manifest.peerDependencies).filter(([name, range]) => {
      const [, minimum = ""] = /(\d+\.\d+)/.exec(MINIMUM_VERSIONS[name] ?? range) ?? [];
      return !packages.split("\n").some((row) => row.includes(`\`${name}\``) && row.includes(minimum));
    });
    expect(missing).toEqual([]);
  });

  it(
    "has current tables, command output and pictures (npm run docs:update)",
    { timeout: 60_000 },
    async () => {
      expect(findMissingTables()).toEqual([]);
      expect([...(await findOutdatedDocs()).keys()]).toEqual([]);
    },
  );

  it("has TypeScript blocks that compile", { timeout: 120_000 }, async () => {
    const blocks = [...pages.values()].flatMap((page) =>
      [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? ""),
    );
    expect(blocks.length).toBeGreaterThan(30);
    expect(await getTypeErrors(blocks)).toBe("");
  });

  it("says what each option and method of @langchain/mcp-adapters 1.1.4 is here", () => {
    const page = readFileSync(`${root}/docs/migrating-from-mcp-adapters.md`, "utf8");
    const rows = page.split("\n").flatMap((line) => /^\| (.*?) \| /.exec(line)?.[1] ?? []);
    const named = new Set(rows.flatMap((cell) => [...cell.matchAll(/\w+/g)].map(([name]) => name)));
    expect(ADAPTER_NAMES.filter((name) => !named.has(name))).toEqual([]);
  });

  it("describes every command and option of the command line", () => {
    const page = pages.get("docs/cli.md") ?? "";
    const isMissing = (text: string) => (name: string) => !new RegExp(`\`${name}\\b`).test(text);
    expect(COMMAND_NAMES.filter(isMissing(page))).toEqual([]);
    expect(COMMAND_NAMES.filter((name) => name !== "doctor").filter(isMissing(readme))).toEqual([]);
    expect(Object.keys(OPTIONS).filter((name) => !new RegExp(`--${name}\\b`).test(page))).toEqual([]);
  });

  it("has no broken links", () => {
    const broken = [...pages].flatMap(([path, page]) =>
      findBrokenLinks(path, page).map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });
});
