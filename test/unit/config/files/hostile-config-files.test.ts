import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, loadMcpServers } from "../../../../src/index.js";
import { resolveConfigOptions } from "../../../../src/config/files/config-options.js";
import { loadConfig } from "../../../../src/config/files/load-servers.js";
import { openOnDisk } from "../../../../src/config/files/read-config-file.js";
import { gate } from "../../../fixtures/clients.js";
import { ConfigFolders } from "../../../fixtures/config-folders.js";

const GOOD = { mcpServers: { good: { type: "http", url: "https://good.example" } } };
const MAKE_PIPE = "mkfifo";
const posix = process.platform !== "win32";

/** What is told when something else stands in the place of `.mcp.json`, next to a file that is fine. */
async function problemOf(make: (path: string, folders: ConfigFolders) => void) {
  using folders = new ConfigFolders();
  folders.write("project/mcp.json", GOOD);
  make(join(folders.project, ".mcp.json"), folders);
  const { servers, problems } = await loadMcpServers(folders.options());
  expect(Object.keys(servers)).toEqual(["good"]);
  expect(problems).toHaveLength(1);
  expect(problems[0]?.file).toBe(join(folders.project, ".mcp.json"));
  return problems[0];
}

describe("in the place of a file", () => {
  it("a folder", async () => {
    expect(await problemOf((path) => mkdirSync(path))).toMatchObject({
      kind: "unreadable",
      message: "The file is a folder.",
    });
  });

  it.runIf(posix)("a pipe that nobody writes to is not waited for", async () => {
    const problem = await problemOf((path) => void execFileSync(MAKE_PIPE, [path]));
    expect(problem?.message).toContain("is no file, but a pipe");
  });

  it.runIf(posix)("a link that leads back to itself", async () => {
    const problem = await problemOf((path) => symlinkSync(path, path));
    expect(problem?.message).toContain("leads back to itself");
  });

  it.runIf(posix)("a device without an end", async () => {
    const problem = await problemOf((path) => symlinkSync("/dev/zero", path));
    expect(problem?.message).toContain("device");
  });

  it("more than anybody writes", async () => {
    const problem = await problemOf((path) => writeFileSync(path, " ".repeat(1024 * 1024 + 1)));
    expect(problem).toMatchObject({
      kind: "unreadable",
      message: expect.stringContaining("larger than 1 MiB"),
    });
  });

  it("a file that may not be read", async () => {
    using folders = new ConfigFolders();
    const file = folders.write("project/.mcp.json", GOOD);
    const denied = Object.assign(new Error("denied"), { code: "EACCES" });
    const found = await loadConfig(resolveConfigOptions(folders.options(), process.platform), (path) =>
      path === file ? Promise.reject(denied) : openOnDisk(path),
    );
    expect(found.problems).toEqual([
      { kind: "unreadable", file, message: "The file may not be read: check its permissions." },
    ]);
  });

  it("a given file that is not there; one that was only looked for is nothing to speak of", async () => {
    using folders = new ConfigFolders();
    const { problems } = await loadMcpServers(folders.options({ files: ["nowhere.json"], user: true }));
    expect(problems).toEqual([
      {
        kind: "missing-file",
        file: join(folders.project, "nowhere.json"),
        message: "The file is not there. Is its path right?",
      },
    ]);
  });

  it.runIf(posix)("a link to a file elsewhere is followed", async () => {
    using folders = new ConfigFolders();
    const elsewhere = folders.write("dotfiles/servers.json", GOOD);
    symlinkSync(elsewhere, join(folders.project, ".mcp.json"));
    expect(Object.keys((await loadMcpServers(folders.options())).servers)).toEqual(["good"]);
  });
});

describe("text that is", () => {
  it.each([
    ["broken, with its place", '{\n  "mcpServers": {\n    "a": { "url" "x" }\n}', { line: 3, column: 18 }],
    ["empty", "", { line: 1, column: 1 }],
    ["binary", "\u0000\u0001\u0002", { line: 1, column: 1 }],
  ])("%s", async (_, text, place) => {
    const problem = await problemOf((path) => writeFileSync(path, text));
    expect(problem).toMatchObject({ kind: "broken-json", ...place });
  });

  it.each([
    ["deep", "[".repeat(200_000)],
    ["deep, with a comment", `// x\n${"[".repeat(200_000)}${"]".repeat(200_000)}`],
  ])("%s", async (_, text) => {
    expect((await problemOf((path) => writeFileSync(path, text)))?.kind).toBe("broken-json");
  });

  it("broken and large, in a file that was given", async () => {
    using folders = new ConfigFolders();
    const files = [folders.write("large.json", `[${",".repeat(2 * 1024 * 1024)}`)];
    const { problems } = await loadMcpServers(folders.options({ files }));
    expect(problems).toMatchObject([{ kind: "broken-json", file: files[0] }]);
  });

  it("JSON, and no list of servers", async () => {
    for (const text of ['"text"', "[1]", '{"a": 1}', '{"mcpServers": []}', '{"mcpServers": "x"}'])
      expect((await problemOf((path) => writeFileSync(path, text)))?.kind).toBe("unknown-format");
  });

  it("full of servers", async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`s${n}`, { command: "x" }]));
    const text = JSON.stringify({ mcpServers: many });
    expect((await problemOf((path) => writeFileSync(path, text)))?.message).toContain(
      "more than 1000 servers",
    );
  });

  it("JSON with comments, trailing commas and a byte order mark, in UTF-8 and in UTF-16", async () => {
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
  ])("%s with keys that would change prototypes changes none", async (_, comment) => {
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

describe("values that look like orders", () => {
  it.runIf(posix)("are never run", async () => {
    using folders = new ConfigFolders();
    const marker = join(folders.root, "ran");
    folders.write("project/.mcp.json", {
      mcpServers: {
        a: {
          command: "true",
          args: [`$(touch ${marker})`, `\`touch ${marker}\``, `; touch ${marker}`],
          env: { X: `$(touch ${marker})` },
          cwd: folders.root,
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

describe("a file that does not come", () => {
  it("is not waited for when the caller is gone", async () => {
    using folders = new ConfigFolders();
    const caller = new AbortController();
    const settings = resolveConfigOptions(folders.options({ signal: caller.signal }), process.platform);
    const { opened, open } = gate();
    const loading = loadConfig(settings, () => {
      open();
      return new Promise(() => undefined);
    });
    await opened;
    const reason = new Error("gone");
    caller.abort(reason);
    await expect(loading).rejects.toBe(reason);
  });
});
