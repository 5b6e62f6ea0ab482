import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.js";
import { textWidth } from "../../../src/cli/text-format.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, deferred } from "../../fixtures/clients.js";
import { cli, createFakeTerminal, createProject, runOn } from "../../fixtures/fake-terminal.js";
import { startSkillServer } from "../../fixtures/skill-server.js";
import { quickServer } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const FORECAST = {
  name: "forecast",
  description: "The weather of a city.\nIn detail.",
  inputSchema: {
    type: "object",
    properties: { days: { type: "integer" }, city: { type: "string" } },
    required: ["city"],
  },
  run: ({ city, days }: Record<string, unknown>) => `${String(city)}: rain for ${String(days)} days`,
};

describe("list", () => {
  it("prints each server with its tools below it", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, { name: "天気", run: () => "" }] });
    using folder = createProject({ weather: { url: server.url } });
    const { code, stdout, stderr } = await cli(folder, "list");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replace(/\d+ ms|\d\.\d s/, "0 ms").replace(server.url, "URL")).toBe(
      [
        "✓ weather  http  2 tools  ~80 tokens  0 ms  URL",
        "    forecast(city, days?)  ~49  The weather of a city.",
        "    天気()                 ~31",
        "The definitions of 2 tools take about 80 tokens of every request to a model.",
        "",
      ].join("\n"),
    );
    expect(server.openSessions).toEqual([]);
  });

  it("prints the skills of a server below its tools", async () => {
    await using server = await startSkillServer("SDK 2, 2026-07-28");
    using folder = createProject({ docs: { url: server.url } });
    const { code, stdout, stderr } = await cli(folder, "list");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("    skill refunds  Refund an order, step by step.\n");
    expect(stdout).toContain("    skill pdf-processing  Fill PDF forms.\n");
    const { stdout: json } = await cli(folder, "list", "--json");
    const { servers } = JSON.parse(json) as { servers: { skills: { uri: string; files: unknown[] }[] }[] };
    const skills = servers[0]?.skills.map(({ uri, files }) => [uri, files.length]);
    expect(skills).toEqual([
      ["skill://acme/refunds/SKILL.md", 1],
      ["skill://pdf-processing/SKILL.md", 3],
    ]);
    expect(server.reads).toEqual([]);
  });

  it("a failed server does not affect the others: its error and a hint are printed, exit code 1", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({
      stopped: { url: "http://127.0.0.1:1/mcp" },
      weather: { url: server.url },
    });
    const { code, stdout } = await cli(folder, "list");
    expect(code).toBe(1);
    expect(stdout).toContain("✗ stopped ");
    expect(stdout).toMatch(/http:\/\/127\.0\.0\.1:1\b.*\[connection-refused\]/);
    expect(stdout).toMatch(/→ Start the server.*\.mcp\.json/);
    expect(stdout).toContain("forecast(city, days?)");
  });

  it("--json has no secret, also where a server has put hidden characters into it", async () => {
    const description = "Key canary7f\u200b3a91se\u{e0041}cret, and canary7f3a91secret.";
    await using server = await startMcpTestServer({ tools: [{ ...FORECAST, description }] });
    using folder = createProject({
      weather: { url: server.url, headers: { "x-key": "${SHOP_TOKEN}" } },
    });
    const terminal = createFakeTerminal({ cwd: folder.path, env: { SHOP_TOKEN: "canary7f3a91secret" } });
    const { code, stdout } = await runOn(terminal, "list", "--json", "--yes");
    expect(code).toBe(0);
    const { servers } = JSON.parse(stdout) as { servers: { tools: { description: string }[] }[] };
    expect(servers[0]?.tools[0]?.description).toBe("Key [redacted], and [redacted].");
  });

  it("--json prints one document with a stable shape", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    const { code, stdout, stderr } = await cli(
      undefined,
      "list",
      "--json",
      "--url",
      server.url,
      "--name",
      "weather",
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toEqual({
      command: "list",
      ok: true,
      exitCode: 0,
      servers: [
        {
          name: "weather",
          kind: "http",
          address: server.url,
          scope: "command-line",
          state: "connected",
          latencyMs: expect.any(Number),
          serverInfo: { name: "mcp-test-server", version: "1.0.0" },
          protocolVersion: "2025-11-25",
          skills: [],
          tools: [{ name: "forecast", description: FORECAST.description, inputSchema: FORECAST.inputSchema }],
        },
      ],
      tokenCosts: {
        tokens: 49,
        servers: { weather: { tokens: 49, share: 1, tools: { weather__forecast: 49 } } },
      },
      findings: [],
    });
  });

  it("servers are selected by --url, by a command after --, by --config and by name", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = new TemporaryFolder({
      "some.json": { mcpServers: { a: { url: server.url }, b: quickServer() } },
    });
    const byUrl = await cli(folder, "list", "--url", server.url.replace("http://", ""));
    expect([byUrl.code, byUrl.stdout]).toEqual([0, expect.stringContaining("✓ server  http  1 tool ")]);
    const { command, args } = quickServer();
    const byCommand = await cli(folder, "list", "--", command, ...args);
    expect([byCommand.code, byCommand.stdout]).toEqual([
      0,
      expect.stringContaining("✓ quick-stdio-server  stdio  1 tool "),
    ]);
    const byName = await cli(folder, "list", "b", "--config", "some.json");
    expect([byName.code, byName.stdout.match(/^[✓✗].*$/gm)?.length]).toEqual([0, 1]);
    const mistyped = await cli(folder, "list", "bb", "--config", "some.json");
    expect([mistyped.code, mistyped.stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ .*"bb".*\n {2}→ Did you mean b\?\n$/),
    ]);
  });

  it.each(["::::", ""])("rejects --url %j", async (url) => {
    const { code, stderr } = await cli(undefined, "list", "--url", url);
    expect([code, stderr]).toEqual([2, expect.stringContaining("url: expected a URL")]);
  });

  it("without any server, the error names the config files and how to create one", async () => {
    using folder = new TemporaryFolder();
    const { code, stderr } = await cli(folder, "list");
    expect(code).toBe(2);
    expect(stderr).toMatch(/^✗ No config file.*\.mcp\.json/);
    expect(stderr).toContain("→ Create a .mcp.json");
  });

  it("a command without -- is reported with how to write it", async () => {
    using folder = new TemporaryFolder();
    const { code, stderr } = await cli(folder, "list", "npx", "weather-mcp");
    expect([code, stderr]).toEqual([2, '✗ Unknown server "npx".\n  → Write a command after --: -- npx ….\n']);
  });

  it("errors name the file and position, and the reason that a server in it is not used", async () => {
    const stopped = { url: "http://127.0.0.1:1/mcp" };
    using folder = createProject({ first: stopped, second: stopped, invalid: { color: "red" } });
    const missing = await cli(folder, "list", "--config", "missing.json");
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ missing\.json: .*not exist.*\n {2}→ .*--config.*\n$/),
    ]);
    const unused = await cli(folder, "list", "second");
    expect([unused.code, unused.stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ \.mcp\.json: "second".*not used.*first/),
    ]);
    expect((await cli(folder, "list")).stdout).toMatch(
      /\.mcp\.json:\d+:5: Cannot determine.*\[config-invalid\]/,
    );
    const json: unknown = JSON.parse((await cli(folder, "list", "third", "--json")).stdout);
    expect(json).toMatchObject({ command: "list", ok: false, exitCode: 2 });
  });

  it("naming a disabled server reports what disabled it", async () => {
    const first = { url: "http://127.0.0.1:1/mcp" };
    using folder = createProject({ first, second: { url: "http://127.0.0.1:2/mcp", disabled: true } });
    const { code, stderr } = await cli(folder, "list", "second");
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ "second".*\.mcp\.json.*disabled: true.*\n {2}→ Enable it.*\n$/),
    ]);
  });

  it("on a narrow terminal, the output fits, has colors, and the spinner is erased at the end", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    server.addFault({ type: "delay", ms: 300 }, { method: "initialize", times: 1 });
    using folder = createProject({ "天気-weather-with-a-long-name": { url: server.url } });
    const terminal = createFakeTerminal({ cwd: folder.path, columns: 40 });
    const { code, stdout } = await runOn(terminal, "list");
    expect(code).toBe(0);
    expect(stdout).toContain("\u001b[32m✓\u001b[39m");
    const lines = stripVTControlCharacters(stdout).split("\n");
    expect(lines.filter((line) => textWidth(line) > 40)).toEqual([]);
    const drawn = terminal.written.stderr.split("\r\u001b[2K");
    expect(drawn.length).toBeGreaterThan(2);
    expect(drawn[1]).toMatch(/^⠋ connecting 0\/1 {2}0\.\d s {2}天気/);
    expect(drawn.at(-1)).toBe("");
    expect(drawn.filter((frame) => textWidth(frame) > 39)).toEqual([]);
  });

  it("log lines of the library do not mix with the spinner", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST], malformedTools: [{ name: "odd" }] });
    server.addFault({ type: "delay", ms: 50 }, { method: "tools/list", times: 1 });
    const terminal = createFakeTerminal({ columns: 200 });
    await runOn(terminal, "list", "--url", server.url);
    const frames = terminal.written.stderr.split("\r\u001b[2K");
    expect(frames).toContainEqual(
      expect.stringMatching(/^\[langchain-mcp-runtime\] warn: .*tool "odd".*\n$/),
    );
  });

  it.each([
    [{ NO_COLOR: "1" }, 80, false],
    [{ NO_COLOR: "" }, 80, true],
    [{ FORCE_COLOR: "1" }, undefined, true],
    [{ FORCE_COLOR: "0" }, 80, false],
    [{ TERM: "dumb" }, 80, false],
    [{}, undefined, false],
  ])("with %j and %s columns, colors are used: %s", async (env, columns, isColored) => {
    const terminal = createFakeTerminal({
      env: env as Record<string, string>,
      ...(columns === undefined ? {} : { columns }),
    });
    const { stdout } = await runOn(terminal, "--help");
    expect(stdout.includes("\u001b[")).toBe(isColored);
  });
});

describe("consent for project files", () => {
  const createStdioProject = () => createProject({ child: quickServer() });

  it("without a terminal, commands are not started: exit code 4 and a hint", async () => {
    using folder = createStdioProject();
    const { code, stdout } = await cli(folder, "list");
    expect(code).toBe(4);
    expect(stdout).toContain("✗ child  stdio");
    expect(stdout).toMatch(/\.mcp\.json would start .*\[consent-required\]/);
    expect(stdout).toMatch(/→ .*--yes or --config \.mcp\.json/);
  });

  it("--yes and --config allow commands", async () => {
    using folder = createStdioProject();
    expect((await cli(folder, "list", "--yes")).code).toBe(0);
    expect((await cli(folder, "list", "--config", ".mcp.json")).code).toBe(0);
  });

  it.each([
    ["y\n", 0],
    ["Yes\n", 0],
    ["n\n", 4],
    ["\n", 4],
    [undefined, 4],
  ])("on a terminal, the user is asked: the answer %j ends with exit code %i", async (answer, expected) => {
    using folder = createStdioProject();
    const terminal = createFakeTerminal({ cwd: folder.path, columns: 100 });
    const running = runOn(terminal, "list");
    await eventually(() => terminal.written.stderr.includes("[y/N] "));
    terminal.stdin.end(answer ?? "");
    expect((await running).code).toBe(expected);
    expect(terminal.written.stderr).toMatch(
      /^Config files in this folder would:\n {2}child {2}start [^]*\nContinue\? \[y\/N\] /,
    );
  });

  it("files of the user need no consent", async () => {
    using home = new TemporaryFolder({ ".claude.json": { mcpServers: { mine: quickServer() } } });
    using folder = new TemporaryFolder();
    const terminal = createFakeTerminal({ cwd: folder.path, env: { HOME: home.path } });
    const { code, stdout } = await runOn(terminal, "list", "--user");
    expect([code, stdout]).toEqual([0, expect.stringContaining("✓ mine")]);
  });

  it("a remote server needs consent only if it would receive variables", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({
      sent: { url: server.url, headers: { authorization: "Bearer ${SHOP_TOKEN}" } },
      plain: { url: `${server.url}?` },
    });
    const terminal = createFakeTerminal({ cwd: folder.path, env: { SHOP_TOKEN: "canary7f3a91secret" } });
    const { code, stdout } = await runOn(terminal, "list");
    expect(code).toBe(4);
    expect(stdout).toContain(`would connect to ${server.url} and give it $SHOP_TOKEN. Not approved.`);
    expect(stdout).toContain("✓ plain");
    expect(server.requests.every(({ headers }) => headers["authorization"] === undefined)).toBe(true);
  });

  it("authorization servers are named too, since they receive variables", async () => {
    const identityProvider = { tokenEndpoint: "https://idp.evil.example/token?a=b", clientId: "a" };
    const secret = { issuer: "https://evil.example", clientId: "a", clientSecret: "${SHOP_TOKEN}" };
    using folder = createProject({
      job: { url: "https://good.example", auth: { grant: "jwt-bearer", ...secret, assertion: "aa.bb.cc" } },
      user: {
        url: "https://good.example/mcp",
        auth: { grant: "enterprise-managed", ...secret, idToken: "aa.bb.cc", identityProvider },
      },
    });
    const env = { SHOP_TOKEN: "canary7f3a91secret" };
    const { stdout } = await runOn(createFakeTerminal({ cwd: folder.path, env }), "list");
    expect(stdout).toContain(
      "would connect to https://good.example/, https://evil.example/ and give them $SHOP_TOKEN. Not approved.",
    );
    const terminal = createFakeTerminal({ cwd: folder.path, columns: 200, env });
    const running = runOn(terminal, "list");
    await eventually(() => terminal.written.stderr.includes("[y/N] "));
    terminal.stdin.end("n\n");
    await running;
    expect(terminal.written.stderr).toContain(
      "https://good.example/mcp, https://evil.example/, https://idp.evil.example/token and give them $SHOP_TOKEN",
    );
  });

  it("--input sets inputs of VS Code files, which need consent like variables", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    const servers = { weather: { url: server.url, headers: { "x-key": "${input:key}" } } };
    using folder = new TemporaryFolder({
      ".vscode/mcp.json": { servers, inputs: [{ id: "key", type: "promptString" }] },
    });
    const missing = await cli(folder, "list");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("--input id=value")]);
    const declined = await cli(folder, "list", "--input", "key=canary7f3a91secret");
    expect([declined.code, declined.stdout]).toEqual([4, expect.stringContaining("and give it input:key.")]);
    const { code } = await cli(folder, "list", "--input", "key=canary7f3a91secret", "--yes");
    expect([code, server.requests.at(0)?.headers["x-key"]]).toEqual([0, "canary7f3a91secret"]);
  });
});

describe("call", () => {
  it("prints the text of the result unchanged", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({ weather: { url: server.url } });
    const run = await cli(folder, "call", "weather", "forecast", "--args", '{"city":"Oslo","days":3}');
    expect(run).toEqual({ code: 0, stdout: "Oslo: rain for 3 days\n", stderr: "" });
  });

  it("accepts name=value, @file and stdin, the model's tool name, and no name for a single server", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = new TemporaryFolder({
      ".mcp.json": { servers: { weather: { url: server.url } } },
      "a.json": '{"city":"7"}',
    });
    const callOutput = async (...args: string[]) => (await cli(folder, "call", ...args)).stdout;
    expect(await callOutput("weather", "forecast", "city=7", "days=3")).toBe("7: rain for 3 days\n");
    expect(await callOutput("forecast", "--args", "@a.json", "days=2")).toBe("7: rain for 2 days\n");
    expect(await callOutput("weather", "weather__forecast", "city=a=b")).toBe(
      "a=b: rain for undefined days\n",
    );
    const terminal = createFakeTerminal({ cwd: folder.path });
    terminal.stdin.end('{"city":"Oslo"}');
    expect((await runOn(terminal, "call", "forecast", "--args", "-")).stdout).toBe(
      "Oslo: rain for undefined days\n",
    );
  });

  it.each([
    [["weather", "forcast"], 'no tool "forcast"', "Did you mean forecast?"],
    [["weather", "nothing"], 'no tool "nothing"', "Tools: forecast."],
    [["weather", "forecast"], "city: is missing", "Usage: forecast(city, days?)."],
    [
      ["weather", "forecast", "city=Oslo", "days=many"],
      "days: expected a whole number",
      "Usage: forecast(city, days?).",
    ],
    [["weather", "forecast", "--args", "{city}"], "--args is not valid JSON", "Quote it for the shell"],
    [["weather", "forecast", "--args", "[]"], "--args is not a JSON object", "Use --args"],
    [["weather", "forecast", "--args", "@none.json"], "cannot be read", "Correct the path"],
    [["forecast", '{"city":"Oslo"}'], 'Unexpected argument "{', "Pass arguments as name=value"],
    [["weather", "forecast", "Oslo"], 'argument "Oslo"', "Pass arguments as name=value"],
    [[], "Missing <server> and <tool>", "Usage: call <server> <tool>"],
  ])("rejects %j with a hint, and calls nothing", async (args, message, hint) => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({ weather: { url: server.url } });
    const { code, stderr, stdout } = await cli(folder, "call", ...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toContain(`→ ${hint}`);
    expect(server.executions).toEqual([]);
  });

  it("exits with 5 if the tool reports an error, and with 1 if the server fails", async () => {
    const broken = { name: "broken", run: () => Promise.reject(new Error("no rain today")) };
    await using server = await startMcpTestServer({ tools: [broken] });
    const run = await cli(undefined, "call", "--url", server.url, "broken");
    expect(run).toEqual({ code: 5, stdout: "no rain today\n", stderr: "" });
    server.addFault({ type: "status", status: 500 }, { method: "tools/call" });
    const failed = await cli(undefined, "call", "--url", server.url, "broken");
    expect([failed.code, failed.stdout, failed.stderr]).toEqual([
      1,
      "",
      expect.stringContaining("[server-failing]"),
    ]);
  });

  it("a tool error is not written to the output file", async () => {
    const broken = { name: "broken", run: () => Promise.reject(new Error("no rain today")) };
    await using server = await startMcpTestServer({ tools: [broken] });
    using folder = createProject({ weather: { url: server.url } });
    const run = await cli(folder, "call", "weather", "broken", "-o", "map.png");
    expect(run).toEqual({
      code: 5,
      stdout: "",
      stderr: expect.stringMatching(/^✗ .*map\.png was not written:\nno rain today\n$/),
    });
    expect(existsSync(join(folder.path, "map.png"))).toBe(false);
    const { stdout } = await cli(folder, "call", "weather", "broken", "-o", "map.png", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, exitCode: 5, isError: true, saved: [] });
  });

  it("binary content is described, or saved with --output", async () => {
    const data = Buffer.from("pixels");
    const image = { type: "image", data: data.toString("base64"), mimeType: "image/png" };
    const map = { name: "map", run: () => ({ content: [{ type: "text", text: "Here:" }, image] }) };
    const maps = { name: "maps", run: () => ({ content: [image, image] }) };
    await using server = await startMcpTestServer({ tools: [map, maps, FORECAST] });
    using folder = createProject({ weather: { url: server.url } });
    const described = await cli(folder, "call", "weather", "map");
    expect(described.stdout).toBe("Here:\n[image: image/png, 6 bytes; save it with --output]\n");
    expect((await cli(folder, "call", "weather", "map", "-o", "map.png")).stdout).toBe("Here:\n✓ map.png\n");
    expect(readFileSync(join(folder.path, "map.png"))).toEqual(data);
    expect((await cli(folder, "call", "weather", "maps", "-o", "map.png")).stdout).toBe(
      "✓ map-1.png\n✓ map-2.png\n",
    );
    await cli(folder, "call", "weather", "forecast", "city=Oslo", "-o", "oslo.txt");
    expect(readFileSync(join(folder.path, "oslo.txt"), "utf8")).toBe("Oslo: rain for undefined days");
  });

  it("--json prints the complete result", async () => {
    const structured = { name: "facts", run: () => ({ content: [], structuredContent: { rain: true } }) };
    await using server = await startMcpTestServer({ tools: [structured] });
    const { stdout } = await cli(undefined, "call", "--url", server.url, "facts", "--json", "--name", "w");
    expect(JSON.parse(stdout)).toEqual({
      command: "call",
      ok: true,
      exitCode: 0,
      server: "w",
      tool: "facts",
      latencyMs: expect.any(Number),
      isError: false,
      content: [],
      structuredContent: { rain: true },
      saved: [],
    });
    expect((await cli(undefined, "call", "--url", server.url, "facts")).stdout).toBe(
      '{\n  "rain": true\n}\n',
    );
  });

  it("Ctrl-C cancels the call on the server and closes the session: exit code 130", async () => {
    const called = deferred();
    const slow = { name: "slow", run: () => (called.resolve(), new Promise(() => undefined)) };
    await using server = await startMcpTestServer({ tools: [slow] });
    const terminal = createFakeTerminal({ columns: 80 });
    const interrupt = new AbortController();
    const running = runCli(["call", "--url", server.url, "slow"], terminal, interrupt.signal);
    await called.promise;
    interrupt.abort(new Error("Ctrl-C"));
    expect(await running).toBe(130);
    expect(server.received("notifications/cancelled").length).toBe(1);
    expect([server.openSessions, terminal.written.stdout]).toEqual([[], ""]);
    expect(terminal.written.stderr.endsWith("\r\u001b[2K")).toBe(true);
  });

  it("a result is escaped line by line for a terminal and unchanged for a pipe", async () => {
    const text = "\u001b]0;owned\u0007\u001b[2Jtext\r\n\tindented \u202e";
    const evil = { name: "evil", run: () => text };
    await using server = await startMcpTestServer({ tools: [evil] });
    expect((await cli(undefined, "call", "--url", server.url, "evil")).stdout).toBe(`${text}\n`);
    const onTerminal = await runOn(createFakeTerminal({ columns: 80 }), "call", "--url", server.url, "evil");
    expect(onTerminal.stdout).toBe(
      `${String.raw`\u001b]0;owned\u0007\u001b[2Jtext`}\n    indented ${String.raw`\u202e`}\n`,
    );
  });
});
