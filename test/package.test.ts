import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startMcpTestServer } from "../src/testing/index.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const packageJson = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  dependencies: Record<string, string>;
};

const restartScript = `
  const server = await startMcpTestServer();
  const client = new McpClient({ name: "packed", url: server.url });
  try {
    await client.callTool({ name: "echo", args: { text: "before" } });
    await server.restart();
    console.log((await client.callTool({ name: "echo", args: { text: "after" } })).text());
  } finally {
    await client.close();
    await server.close();
  }
`;

/** Needs `npm run build`: tests the package as it would be published. */
describe("the package, installed in an empty folder", () => {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "packed-"));
    const { stdout } = await run(
      "npm",
      ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder],
      { cwd: root },
    );
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "empty", private: true }));
    const quiet = ["--no-audit", "--no-fund", "--prefer-offline", "--silent"];
    await run("npm", ["install", ...quiet, join(folder, stdout.trim())], { cwd: folder });
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("works with import, and the process exits", async () => {
    const script = `import { McpClient } from "langchain-mcp-runtime";
      import { startMcpTestServer } from "langchain-mcp-runtime/testing";
      ${restartScript}`;
    writeFileSync(join(folder, "script.mjs"), script);
    const { stdout, stderr } = await run(process.execPath, ["script.mjs"], { cwd: folder, timeout: 20_000 });
    expect({ stdout, stderr }).toEqual({ stdout: "after\n", stderr: "" });
  });

  it("works with require", async () => {
    const script = `const { McpClient } = require("langchain-mcp-runtime");
      const { startMcpTestServer } = require("langchain-mcp-runtime/testing");
      (async () => { ${restartScript} })();`;
    writeFileSync(join(folder, "script.cjs"), script);
    const { stdout } = await run(process.execPath, ["script.cjs"], { cwd: folder, timeout: 20_000 });
    expect(stdout).toBe("after\n");
  });

  it("has a command-line interface", async () => {
    const command = join(folder, "node_modules/.bin/langchain-mcp-runtime");
    const { stdout } = await run(command, ["--version"], { cwd: folder });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const empty = await run(command, ["list", "--json"], { cwd: folder }).catch((error: unknown) => error);
    expect(empty).toMatchObject({ code: 2, stdout: expect.stringContaining('"exitCode": 2') });
  });

  it("names the package to install for a store", async () => {
    const script = `import { dynamoStore, fileStore, memoryStore, redisStore } from "langchain-mcp-runtime/stores";
      const files = fileStore("cache");
      await files.set("k", { a: 1 });
      console.log(JSON.stringify(await files.get("k")), await memoryStore().get("k"));
      const missing = [redisStore("redis://localhost:1").get("k"), dynamoStore("t").get("k"), redisStore("redis://localhost:1").watch(() => {})];
      for (const { reason } of await Promise.allSettled(missing)) console.log(reason.kind, reason.message);`;
    writeFileSync(join(folder, "stores.mjs"), script);
    const { stdout, stderr } = await run(process.execPath, ["stores.mjs"], { cwd: folder, timeout: 20_000 });
    const redis =
      'invalid-config A Redis store needs the package "ioredis", which is not installed. Add it to your project: npm install ioredis';
    const dynamo =
      'invalid-config A DynamoDB store needs the package "@aws-sdk/client-dynamodb", which is not installed. Add it to your project: npm install @aws-sdk/client-dynamodb';
    expect({ lines: stdout.trim().split("\n"), stderr }).toEqual({
      lines: ['{"a":1} undefined', redis, dynamo, redis],
      stderr: "",
    });
  });

  it.each([
    ["ws", `{ url: "ws://127.0.0.1:1/" }`],
    ["@aws-sdk/client-lambda", `{ functionName: "tools", region: "eu-north-1" }`],
  ])("names the package %s when it is needed but not installed", async (name, definition) => {
    const script = `import { McpClient } from "langchain-mcp-runtime";
      const client = new McpClient({ name: "remote", ...${definition} });
      const { error } = await client.tryCallTool({ name: "echo" });
      console.log(JSON.stringify([error.kind, error.server, error.attempts, error.message]));
      await client.close();`;
    writeFileSync(join(folder, "missing.mjs"), script);
    const { stdout } = await run(process.execPath, ["missing.mjs"], { cwd: folder, timeout: 20_000 });
    expect(JSON.parse(stdout)).toEqual([
      "invalid-config",
      "remote",
      0,
      `Server "remote" needs the package "${name}", which is not installed. Add it to your project: npm install ${name}`,
    ]);
  });

  it("names the package @opentelemetry/api when it is needed but not installed", async () => {
    const script = `import { instrumentMcp } from "langchain-mcp-runtime/opentelemetry";
      await instrumentMcp().catch(({ kind, message }) => console.log(JSON.stringify([kind, message])));`;
    writeFileSync(join(folder, "tracing.mjs"), script);
    const { stdout } = await run(process.execPath, ["tracing.mjs"], { cwd: folder, timeout: 20_000 });
    expect(JSON.parse(stdout)).toEqual([
      "invalid-config",
      'instrumentMcp() needs the package "@opentelemetry/api", which is not installed. Add it to your project: npm install @opentelemetry/api',
    ]);
  });

  it("has types that compile without the optional peer dependencies", { timeout: 60_000 }, async () => {
    const code = `import { McpClient, createMcpTools } from "langchain-mcp-runtime";
      export const client = new McpClient({ name: "remote", url: "wss://remote.test/" });
      export const tools = createMcpTools({ sums: { functionName: "sums", endpoint: "http://localhost" } });`;
    writeFileSync(join(folder, "user.mts"), code);
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const typeRoots = join(root, "node_modules/@types");
    const options = `--noEmit --strict --module nodenext --target es2022 --lib es2023,esnext.disposable --skipLibCheck false --types node --typeRoots ${typeRoots}`;
    const output = await new Promise<string>((resolve) => {
      const args = [tsc, ...options.split(" "), "user.mts"];
      execFile(process.execPath, args, { cwd: folder }, (_, stdout) => resolve(stdout));
    });
    // Ignore errors in the types of other packages.
    expect(
      output.split("\n").filter((line) => /^(?:user|node_modules\/langchain-mcp-runtime)/.test(line)),
    ).toEqual([]);
  });

  it("opens no socket and sets no timer before the first request", async () => {
    const script = `import { McpClient } from "langchain-mcp-runtime";
      new McpClient({ name: "idle", url: "http://localhost:1/mcp" });
      console.log(process.getActiveResourcesInfo().filter((name) => /Socket|Timeout/.test(name)).length);`;
    writeFileSync(join(folder, "idle.mjs"), script);
    const { stdout } = await run(process.execPath, ["idle.mjs"], { cwd: folder, timeout: 20_000 });
    expect(stdout).toBe("0\n");
  });

  const imported = ["chunks/core.js", "chunks/runtime.js", "chunks/tools.js", "index.js"];

  it("loads four files and, apart from LangChain, only zod with an import", async () => {
    const loaded = await listLoadedFiles(`import "langchain-mcp-runtime";`);
    expect(loaded.own).toEqual(imported);
    expect(loaded.dependencies).toEqual(["zod"]);
  });

  it("loads no part of the SDK and a fourth of undici with the first call over HTTP", async () => {
    await using server = await startMcpTestServer();
    const loaded = await listLoadedFiles(`import { createMcpTools } from "langchain-mcp-runtime";
      const { tools, close } = await createMcpTools({ s: { url: ${JSON.stringify(server.url)} } });
      await tools.find(({ name }) => name === "s__echo").invoke({ text: "a" });
      await close();`);
    const connection = ["connection.js", "connection2.js", "http.js", "http-transport-factory.js"];
    const files = [...connection, "undici-dispatchers.cjs"].map((file) => `chunks/${file}`);
    expect(loaded.own).toEqual([...imported, ...files].toSorted());
    expect(loaded.dependencies).toEqual(["eventsource-parser", "undici", "zod"]);
    const undici = loaded.files.filter((file) => file.startsWith("undici/"));
    expect(undici).toContain("undici/lib/dispatcher/client.js");
    expect(undici.filter((file) => /index|web|mock|cache|interceptor/.test(file))).toEqual([]);
    expect(undici.length).toBeLessThan(30);
  });

  /** Runs a script and returns what it has loaded: all files, those of this package, and which of its dependencies. */
  async function listLoadedFiles(script: string) {
    const coverage = mkdtempSync(join(folder, "coverage-"));
    writeFileSync(join(folder, "loads.mjs"), script);
    const env = { ...process.env, NODE_V8_COVERAGE: coverage };
    await run(process.execPath, ["loads.mjs"], { cwd: folder, env, timeout: 20_000 });
    const [report = ""] = readdirSync(coverage);
    const { result } = JSON.parse(readFileSync(join(coverage, report), "utf8")) as {
      result: { url: string }[];
    };
    const files = result.flatMap(({ url }) => url.split("/node_modules/").at(-1) ?? []);
    const prefix = "langchain-mcp-runtime/dist/";
    const own = files.filter((file) => file.startsWith(prefix)).map((file) => file.slice(prefix.length));
    const { dependencies } = packageJson;
    const loaded = Object.keys(dependencies).filter((name) =>
      files.some((file) => file.startsWith(`${name}/`)),
    );
    return { files, own: own.toSorted(), dependencies: loaded.toSorted() };
  }
});
