import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMMAND_NAMES } from "../../../src/cli/command-line.js";
import { EXIT_CODES, type ExitReason } from "../../../src/cli/exit-codes.js";
import { runCli } from "../../../src/cli/run-cli.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { cli, createFakeTerminal } from "../../fixtures/fake-terminal.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const inputSchema = { type: "object" } as const;
const toAgent = (tool: string) => ({
  resources: [{ $resourceType: "mcp", name: "up", availableTools: [{ name: tool, inputSchema }] }],
});

describe("exit codes", () => {
  let server: McpTestServer;
  let folder: TemporaryFolder;
  const empty = new TemporaryFolder();

  beforeAll(async () => {
    const fail = () => ({ isError: true, content: [{ type: "text", text: "no" }] });
    server = await startMcpTestServer({
      tools: [
        { name: "fine", description: "Works.", inputSchema, run: () => "" },
        { name: "fails", description: "Fails.", inputSchema, run: fail },
      ],
    });
    const up = { url: server.url };
    folder = new TemporaryFolder({
      "up.json": { mcpServers: { up } },
      "down.json": { mcpServers: { up: { url: "http://127.0.0.1:1/mcp" } } },
      "broken.json": "{",
      ".mcp.json": { mcpServers: { program: { command: "node" } } },
      "old.json": toAgent("removed"),
      "same.json": {
        resources: [
          {
            ...toAgent("fine").resources[0],
            availableTools: server.tools.map(({ name, description }) => ({ name, description, inputSchema })),
          },
        ],
      },
      "program.json": {
        resources: [{ $resourceType: "mcp", name: "program", availableTools: [{ name: "a", inputSchema }] }],
      },
      "a-file": "",
    });
  });

  afterAll(async () => {
    await server.close();
    folder[Symbol.dispose]();
    empty[Symbol.dispose]();
  });

  const UP = ["--config", "up.json"];
  const DOWN = ["--config", "down.json"];
  const CASES: readonly (readonly [reason: ExitReason, args: readonly string[]])[] = [
    ["ok", ["list", ...UP]],
    ["failed", ["list", ...DOWN]],
    ["usage", ["list", "--config", "missing.json"]],
    ["usage", ["list", "--config", "broken.json"]],
    ["usage", ["list", "--nonsense"]],
    ["declined", ["list"]],
    ["ok", ["describe", "up", "fine", ...UP]],
    ["failed", ["describe", "up", "fine", ...DOWN]],
    ["usage", ["describe", "up", "unknown", ...UP]],
    ["declined", ["describe", "program", "fine"]],
    ["ok", ["call", "up", "fine", ...UP]],
    ["failed", ["call", "up", "fine", ...DOWN]],
    ["failed", ["call", "up", "fine", "--output", "a-file/below", ...UP]],
    ["usage", ["call", "up", "unknown", ...UP]],
    ["usage", ["call", "up", "fine", "--args", "{", ...UP]],
    ["toolError", ["call", "up", "fails", ...UP]],
    ["declined", ["call", "program", "fine"]],
    ["ok", ["doctor", ...UP]],
    ["failed", ["doctor", ...DOWN]],
    ["failed", ["doctor", "--config", "broken.json"]],
    ["usage", ["doctor", "--config", "missing.json"]],
    ["usage", ["doctor", "unknown", ...UP]],
    ["declined", ["doctor"]],
    ["ok", ["drift", "same.json", ...UP]],
    ["failed", ["drift", "same.json", ...DOWN]],
    ["failed", ["drift", "program.json", ...UP]],
    ["usage", ["drift", ...UP]],
    ["usage", ["drift", "missing.json", ...UP]],
    ["drifted", ["drift", "old.json", ...UP]],
    ["declined", ["drift", "program.json"]],
    ["ok", ["snapshot", ...UP]],
    ["failed", ["snapshot", ...DOWN]],
    ["failed", ["snapshot", "--output", "a-file/below", ...UP]],
    ["usage", ["snapshot", "--output", "a-file", ...UP]],
    ["declined", ["snapshot"]],
    ["ok", ["publish", "up", "https://tools.example.com/mcp", "--store", "registry"]],
    ["failed", ["publish", "up", "https://tools.example.com/mcp", "--store", "redis://127.0.0.1:1"]],
    ["failed", ["publish", "up", "https://tools.example.com/mcp", "--store", "a-file"]],
    ["usage", ["publish", "up", "--store", "registry"]],
    ["ok", ["withdraw", "up", "--store", "registry"]],
    ["failed", ["withdraw", "up", "--store", "redis://127.0.0.1:1"]],
    ["usage", ["withdraw", "--store", "registry"]],
  ];

  it.each(CASES)("%s: %j", async (reason, args) => {
    const { code, stdout, stderr } = await cli(folder, ...args);
    expect([code, `${stdout}${stderr}`]).toEqual([EXIT_CODES[reason][0], expect.any(String)]);
    const json = await cli(folder, ...args, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: reason === "ok", exitCode: code });
  });

  it.each(["list", "doctor", "snapshot", "call up fine", "describe up fine", "drift old.json"])(
    "2 in a folder without servers: %s",
    async (line) => {
      expect((await cli(empty, ...line.split(" "))).code).toBe(2);
    },
  );

  it.each(["list", "doctor", "snapshot", "call up fine", "describe up fine", "drift old.json"])(
    "130 when interrupted: %s",
    async (line) => {
      const terminal = createFakeTerminal({ cwd: folder.path });
      expect(await runCli([...line.split(" "), ...UP], terminal, AbortSignal.abort())).toBe(130);
    },
  );

  it("are all tested, for every command, and listed by help", async () => {
    const tested = new Set<ExitReason>([...CASES.map(([reason]) => reason), "interrupted"]);
    expect(Object.keys(EXIT_CODES).filter((reason) => !tested.has(reason as ExitReason))).toEqual([]);
    for (const name of COMMAND_NAMES)
      for (const reason of ["ok", "failed", "usage"])
        expect(CASES.some(([expected, [command]]) => expected === reason && command === name)).toBe(true);
    const { stdout } = await cli(empty, "--help");
    const codes = [...(stdout.split("Exit codes\n")[1] ?? "").matchAll(/^ {2}(\d+) {2}/gm)];
    expect(codes.map(([, code]) => Number(code))).toEqual(Object.values(EXIT_CODES).map(([code]) => code));
  });
});
