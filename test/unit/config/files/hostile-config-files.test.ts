import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, loadMcpServers } from "../../../../src/index.js";
import { resolveConfigOptions } from "../../../../src/config/files/config-options.js";
import { mergeConfigFiles } from "../../../../src/config/files/merge-config-files.js";
import { openForReading } from "../../../../src/config/files/config-reader.js";
import { deferred } from "../../../fixtures/clients.js";
import { ConfigFolders } from "../../../fixtures/config-folders.js";

const GOOD = { mcpServers: { good: { type: "http", url: "https://good.example" } } };
const MAKE_PIPE = "mkfifo";
const posix = process.platform !== "win32";

/** The problem of a hostile `.mcp.json` next to a valid file. */
async function findProblem(make: (path: string, folders: ConfigFolders) => void) {
  using folders = new ConfigFolders();
  folders.write("project/mcp.json", GOOD);
  make(join(folders.project, ".mcp.json"), folders);
  const { servers, problems } = await loadMcpServers(folders.options());
  expect(Object.keys(servers)).toEqual(["good"]);
  expect(problems).toHaveLength(1);
  expect(problems[0]?.file).toBe(join(folders.project, ".mcp.json"));
  return problems[0];
}

describe("a config file that is", () => {
  it("a folder is reported", async () => {
    expect(await findProblem((path) => mkdirSync(path))).toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining("is a folder"),
    });
  });

  it.runIf(posix)("a pipe without a writer does not block", async () => {
    const problem = await findProblem((path) => void execFileSync(MAKE_PIPE, [path]));
    expect(problem).toMatchObject({ kind: "unreadable", message: expect.stringContaining("pipe") });
  });

  it.runIf(posix)("a symbolic link loop is reported", async () => {
    const problem = await findProblem((path) => symlinkSync(path, path));
    expect(problem).toMatchObject({ kind: "unreadable", message: expect.stringContaining("loop") });
  });

  it.runIf(posix)("an endless device is reported", async () => {
    const problem = await findProblem((path) => symlinkSync("/dev/zero", path));
    expect(problem).toMatchObject({ kind: "unreadable", message: expect.stringContaining("device") });
  });

  it("too large is reported", async () => {
    const problem = await findProblem((path) => writeFileSync(path, " ".repeat(1024 * 1024 + 1)));
    expect(problem).toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining("1 MiB"),
    });
  });

  it("not readable is reported", async () => {
    using folders = new ConfigFolders();
    const file = folders.write("project/.mcp.json", GOOD);
    const denied = Object.assign(new Error("denied"), { code: "EACCES" });
    const loaded = await mergeConfigFiles(resolveConfigOptions(folders.options(), process.platform), (path) =>
      path === file ? Promise.reject(denied) : openForReading(path),
    );
    expect(loaded.problems).toEqual([
      { kind: "unreadable", file, message: expect.stringContaining("permissions") },
    ]);
  });

  it("missing is reported only if it was passed explicitly", async () => {
    using folders = new ConfigFolders();
    const { problems } = await loadMcpServers(folders.options({ files: ["nowhere.json"], user: true }));
    expect(problems).toEqual([
      {
        kind: "missing-file",
        file: join(folders.project, "nowhere.json"),
        message: expect.any(String),
      },
    ]);
  });

  it.runIf(posix)("a link to another file is followed", async () => {
    using folders = new ConfigFolders();
    const elsewhere = folders.write("dotfiles/servers.json", GOOD);
    symlinkSync(elsewhere, join(folders.project, ".mcp.json"));
    expect(Object.keys((await loadMcpServers(folders.options())).servers)).toEqual(["good"]);
  });
});

describe("the content of a config file that is", () => {
  it.each([
    [
      "invalid JSON is reported with its location",
      '{\n  "mcpServers": {\n    "a": { "url" "x" }\n}',
      { line: 3, column: 18 },
    ],
    ["empty is reported", "", { line: 1, column: 1 }],
    ["binary is reported", "\u0000\u0001\u0002", { line: 1, column: 1 }],
  ])("%s", async (_, text, location) => {
    const problem = await findProblem((path) => writeFileSync(path, text));
    expect(problem).toMatchObject({ kind: "broken-json", ...location });
  });

  it.each([
    ["nested too deeply is reported", "[".repeat(200_000)],
    ["nested too deeply, with a comment, is reported", `// x\n${"[".repeat(200_000)}${"]".repeat(200_000)}`],
  ])("%s", async (_, text) => {
    expect((await findProblem((path) => writeFileSync(path, text)))?.kind).toBe("broken-json");
  });

  it("invalid and large, in an explicitly passed file, is reported", async () => {
    using folders = new ConfigFolders();
    const files = [folders.write("large.json", `[${",".repeat(2 * 1024 * 1024)}`)];
    const { problems } = await loadMcpServers(folders.options({ files }));
    expect(problems).toMatchObject([{ kind: "broken-json", file: files[0] }]);
  });

  it("JSON without servers is reported", async () => {
    for (const text of ['"text"', "[1]", '{"a": 1}', '{"mcpServers": []}', '{"mcpServers": "x"}'])
      expect((await findProblem((path) => writeFileSync(path, text)))?.kind).toBe("unknown-format");
  });

  it("a list of too many servers is reported", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`s${n}`, { command: "x" }]));
    const text = JSON.stringify({ mcpServers: many });
    expect((await findProblem((path) => writeFileSync(path, text)))?.message).toContain("1000 servers");
  });

  it.each(["${LONG}", "$LONG ", "${NOT_SET}", "${NOT_SET:-${LONG}}"])(
    "a server that refers to %s any number of times is reported, and the others are loaded",
    async (reference) => {
      using folders = new ConfigFolders();
      const headers = { "x-long": reference.repeat(40_000) };
      const evil = { type: "http", url: "https://evil.example", headers };
      folders.write("project/.gemini/settings.json", { mcpServers: { evil } });
      folders.write("project/.mcp.json", GOOD);
      const options = folders.options({ env: { LONG: "v".repeat(10_000) } });
      const { servers, problems } = await loadMcpServers(options);
      expect(Object.keys(servers)).toEqual(["good"]);
      const texts = problems.map(({ message }) => message).join();
      expect(texts).toMatch(/expand to more than 1000000 characters|NOT_SET/);
      expect(texts.length).toBeLessThan(100_000);
    },
  );

  it("JSON with comments, trailing commas and a byte order mark, in UTF-8 or UTF-16, is parsed", async () => {
    const text = '\ufeff{ /* servers */ "mcpServers": { "a": { "command": "a", }, }, } // end';
    for (const encoding of ["utf8", "utf16le"] as const) {
      using folders = new ConfigFolders();
      writeFileSync(join(folders.project, ".mcp.json"), Buffer.from(text, encoding));
      const { servers, problems } = await loadMcpServers(folders.options());
      expect(problems).toEqual([]);
      expect(Object.keys(servers)).toEqual(["a"]);
    }
  });

  it.each([
    ["JSON", ""],
    ["JSON with comments", "// x\n"],
  ])("%s with __proto__ keys does not change prototypes", async (_, comment) => {
    using folders = new ConfigFolders();
    const evil = '{ "command": "evil", "disabled": false }';
    const text = `{ "__proto__": { "mcpServers": { "x": ${evil} } },
      "mcpServers": { "__proto__": ${evil}, "constructor": ${evil},
        "a": { "__proto__": ${evil}, "env": { "__proto__": "x" } } } }`;
    folders.write("project/.mcp.json", comment + text);
    const { servers, problems } = await loadMcpServers(folders.options());
    expect(Object.getPrototypeOf(servers)).toBe(Object.prototype);
    expect(Object.keys(servers)).toEqual(["constructor"]);
    expect(problems.map(({ server }) => server)).toEqual(["__proto__", "a"]);
    expect(Object.hasOwn(Object.prototype, "command")).toBe(false);
  });
});

describe("shell commands in values", () => {
  it.runIf(posix)("are never run", async () => {
    using folders = new ConfigFolders();
    const marker = join(folders.path, "ran");
    folders.write("project/.mcp.json", {
      mcpServers: {
        a: {
          command: "true",
          args: [`$(touch ${marker})`, `\`touch ${marker}\``, `; touch ${marker}`],
          env: { X: `$(touch ${marker})` },
          cwd: folders.path,
          timeouts: { connectMs: 5_000 },
          optional: true,
          retry: false,
        },
      },
    });
    const { servers } = await loadMcpServers(folders.options());
    expect(servers["a"]).toMatchObject({
      args: [`$(touch ${marker})`, `\`touch ${marker}\``, `; touch ${marker}`],
    });
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    await using mcp = await createMcpTools(servers, { logger });
    expect(mcp.tools).toEqual([]);
    expect(existsSync(marker)).toBe(false);
  });
});

describe("a file that never opens", () => {
  it("is not awaited after the signal is aborted", async () => {
    using folders = new ConfigFolders();
    const caller = new AbortController();
    const settings = resolveConfigOptions(folders.options({ signal: caller.signal }), process.platform);
    const { promise, resolve } = deferred();
    const loading = mergeConfigFiles(settings, () => {
      resolve();
      return new Promise(() => undefined);
    });
    await promise;
    const reason = new Error("aborted");
    caller.abort(reason);
    await expect(loading).rejects.toBe(reason);
  });
});
