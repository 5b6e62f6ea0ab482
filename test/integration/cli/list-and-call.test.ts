import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { runCli } from "../../../src/cli/run-cli.js";
import { widthOf } from "../../../src/cli/terminal/text-width.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { eventually, gate } from "../../fixtures/clients.js";
import { cli, fakeTerminal, projectWith, runOn, temporaryFolder } from "../../fixtures/fake-terminal.js";
import { quickServer } from "../../fixtures/stdio-servers.js";

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
  it("shows every server with its tools below it", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, { name: "天気", run: () => "" }] });
    using folder = projectWith({ weather: { url: server.url } });
    const { code, stdout, stderr } = await cli(folder, "list");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.replace(/\d+ ms|\d\.\d s/, "0 ms").replace(server.url, "URL")).toBe(
      [
        "✓ weather  http  2 tools  0 ms  URL",
        "    forecast(city, days?)  The weather of a city.",
        "    天気()",
        "",
      ].join("\n"),
    );
    expect(server.openSessions).toEqual([]);
  });

  it("goes on when one server fails, says why and what to do, and ends with exit code 1", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = projectWith({ gone: { url: "http://127.0.0.1:1/mcp" }, weather: { url: server.url } });
    const { code, stdout } = await cli(folder, "list");
    expect(code).toBe(1);
    expect(stdout).toContain("✗ gone ");
    expect(stdout).toContain(
      "Refused the connection at http://127.0.0.1:1. Is it running? [connection-refused]",
    );
    expect(stdout).toContain("→ Start the server, or correct its address in .mcp.json.");
    expect(stdout).toContain("forecast(city, days?)");
  });

  it("has one JSON document for programs, of a shape that stays", async () => {
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
          tools: [{ name: "forecast", description: FORECAST.description, inputSchema: FORECAST.inputSchema }],
        },
      ],
      findings: [],
    });
  });

  it("takes a server from --url, from behind --, from --config and by its name", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = temporaryFolder({
      "some.json": { mcpServers: { a: { url: server.url }, b: quickServer() } },
    });
    const bare = await cli(folder, "list", "--url", server.url.replace("http://", ""));
    expect([bare.code, bare.stdout]).toEqual([0, expect.stringContaining("✓ server  http  1 tool ")]);
    const { command, args } = quickServer();
    const program = await cli(folder, "list", "--", command, ...args);
    expect([program.code, program.stdout]).toEqual([
      0,
      expect.stringContaining("✓ quick-stdio-server  stdio  1 tool "),
    ]);
    const named = await cli(folder, "list", "b", "--config", "some.json");
    expect([named.code, named.stdout.match(/^[✓✗].*$/gm)?.length]).toEqual([0, 1]);
    const wrong = await cli(folder, "list", "bb", "--config", "some.json");
    expect([wrong.code, wrong.stderr]).toEqual([2, '✗ There is no server "bb".\n  → Did you mean b?\n']);
  });

  it.each(["::::", ""])("says of %j that it is no address", async (url) => {
    const { code, stderr } = await cli(undefined, "list", "--url", url);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ The server cannot be used: url: expected an address that starts with http:/),
    ]);
  });

  it("says what is missing where there is no server", async () => {
    using folder = temporaryFolder();
    const { code, stderr } = await cli(folder, "list");
    expect(code).toBe(2);
    expect(stderr).toContain("There is no config file here: no .mcp.json");
    expect(stderr).toContain("→ Write a .mcp.json here");
  });

  it("names the file that is wrong, why a server in it is not used, and every file that is looked for", async () => {
    const gone = { url: "http://127.0.0.1:1/mcp" };
    using folder = projectWith({ first: gone, second: gone, wrong: { colour: "red" } });
    const missing = await cli(folder, "list", "--config", "gone.json");
    expect([missing.code, missing.stderr]).toEqual([
      2,
      "✗ gone.json: The file is not there. Is its path right?\n  → Correct the path behind --config.\n",
    ]);
    const unused = await cli(folder, "list", "second");
    expect([unused.code, unused.stderr]).toEqual([
      2,
      expect.stringMatching(/^✗ \.mcp\.json: "second" of this file is not used: .*first/),
    ]);
    expect((await cli(folder, "list")).stdout).toMatch(/\.mcp\.json:\d+:5: Tells no kind of server/);
    expect((await cli(folder, "--help")).stdout).toContain(".gemini/settings.json");
    const document: unknown = JSON.parse((await cli(folder, "list", "third", "--json")).stdout);
    expect(document).toMatchObject({ command: "list", ok: false, exitCode: 2 });
  });

  it("says of a server that is switched off who says so", async () => {
    const gone = { url: "http://127.0.0.1:1/mcp" };
    using folder = projectWith({ first: gone, second: { url: "http://127.0.0.1:2/mcp", disabled: true } });
    const told = await cli(folder, "list", "second");
    expect([told.code, told.stderr]).toEqual([
      2,
      '✗ "second" of .mcp.json is switched off: its file says disabled: true.\n  → Switch it on there.\n',
    ]);
  });

  it("fits a narrow terminal, in colours, with a live line that is gone at the end", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    server.addFault({ type: "delay", ms: 300 }, { method: "initialize", times: 1 });
    using folder = projectWith({ "天気-weather-with-a-long-name": { url: server.url } });
    const terminal = fakeTerminal({ cwd: folder.path, columns: 40 });
    const { code, stdout } = await runOn(terminal, "list");
    expect(code).toBe(0);
    expect(stdout).toContain("\u001b[32m✓\u001b[39m");
    const lines = stripVTControlCharacters(stdout).split("\n");
    expect(lines.filter((line) => widthOf(line) > 40)).toEqual([]);
    const drawn = terminal.written.stderr.split("\r\u001b[2K");
    expect(drawn.length).toBeGreaterThan(2);
    expect(drawn[1]).toMatch(/^⠋ connecting 0\/1 {2}0\.\d s {2}天気/);
    expect(drawn.at(-1)).toBe("");
    expect(drawn.filter((frame) => widthOf(frame) > 39)).toEqual([]);
  });

  it("keeps the log of the library apart from the live line", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST], malformedTools: [{ name: "odd" }] });
    server.addFault({ type: "delay", ms: 50 }, { method: "tools/list", times: 1 });
    const terminal = fakeTerminal({ columns: 200 });
    await runOn(terminal, "list", "--url", server.url);
    const frames = terminal.written.stderr.split("\r\u001b[2K");
    expect(frames).toContainEqual(
      expect.stringMatching(/^\[langchain-mcp-runtime\] warn: Server "server": tool "odd" .*\n$/),
    );
  });

  it.each([
    [{ NO_COLOR: "1" }, 80, false],
    [{ NO_COLOR: "" }, 80, true],
    [{ FORCE_COLOR: "1" }, undefined, true],
    [{ FORCE_COLOR: "0" }, 80, false],
    [{ TERM: "dumb" }, 80, false],
    [{}, undefined, false],
  ])("has colours as %j and %s columns say", async (env, columns, isColoured) => {
    const terminal = fakeTerminal({
      env: env as Record<string, string>,
      ...(columns === undefined ? {} : { columns }),
    });
    const { stdout } = await runOn(terminal, "--help");
    expect(stdout.includes("\u001b[")).toBe(isColoured);
  });
});

describe("commands of a project's files", () => {
  const project = () => projectWith({ child: quickServer() });

  it("are not started where nobody can say yes: exit code 4, and what to do", async () => {
    using folder = project();
    const { code, stdout } = await cli(folder, "list");
    expect(code).toBe(4);
    expect(stdout).toContain("✗ child  stdio");
    expect(stdout).toContain(".mcp.json would start a command:");
    expect(stdout).toContain("→ If you trust .mcp.json: --yes, or name it yourself with --config .mcp.json.");
  });

  it("are started with --yes, and when the file was named", async () => {
    using folder = project();
    expect((await cli(folder, "list", "--yes")).code).toBe(0);
    expect((await cli(folder, "list", "--config", ".mcp.json")).code).toBe(0);
  });

  it.each([
    ["y\n", 0],
    ["Yes\n", 0],
    ["n\n", 4],
    ["\n", 4],
    [undefined, 4],
  ])("are asked about on a terminal: %j ends with %i", async (answer, expected) => {
    using folder = project();
    const terminal = fakeTerminal({ cwd: folder.path, columns: 100 });
    const running = runOn(terminal, "list");
    await eventually(() => terminal.written.stderr.includes("[y/N] "));
    terminal.stdin.end(answer ?? "");
    expect((await running).code).toBe(expected);
    expect(terminal.written.stderr).toMatch(
      /^Files of this folder want to:\n {2}child {2}start .*\nDo you trust them\? \[y\/N\] /,
    );
  });

  it("are not those of the user, who wrote them", async () => {
    using home = temporaryFolder({ ".claude.json": { mcpServers: { mine: quickServer() } } });
    using folder = temporaryFolder();
    const terminal = fakeTerminal({ cwd: folder.path, env: { HOME: home.path } });
    const { code, stdout } = await runOn(terminal, "list", "--user");
    expect([code, stdout]).toEqual([0, expect.stringContaining("✓ mine")]);
  });

  it("and servers that would be sent variables need a yes, others do not", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = projectWith({
      sent: { url: server.url, headers: { authorization: "Bearer ${SHOP_TOKEN}" } },
      plain: { url: `${server.url}?` },
    });
    const terminal = fakeTerminal({ cwd: folder.path, env: { SHOP_TOKEN: "canary7f3a91secret" } });
    const { code, stdout } = await runOn(terminal, "list");
    expect(code).toBe(4);
    expect(stdout).toContain(`.mcp.json would send $SHOP_TOKEN to ${server.url}. Nobody said yes.`);
    expect(stdout).toContain("✓ plain");
    expect(server.requests.every(({ headers }) => headers["authorization"] === undefined)).toBe(true);
  });

  it("and whoever gives tokens for a server is named with it, since they are sent variables, too", async () => {
    const identityProvider = { tokenEndpoint: "https://idp.evil.example/token?a=b", clientId: "a" };
    const secret = { issuer: "https://evil.example", clientId: "a", clientSecret: "${SHOP_TOKEN}" };
    using folder = projectWith({
      job: { url: "https://good.example", auth: { grant: "jwt-bearer", ...secret, assertion: "aa.bb.cc" } },
      user: {
        url: "https://good.example/mcp",
        auth: { grant: "enterprise-managed", ...secret, idToken: "aa.bb.cc", identityProvider },
      },
    });
    const env = { SHOP_TOKEN: "canary7f3a91secret" };
    const { stdout } = await runOn(fakeTerminal({ cwd: folder.path, env }), "list");
    expect(stdout).toContain(
      "would send $SHOP_TOKEN to https://good.example/, https://evil.example/. Nobody",
    );
    const terminal = fakeTerminal({ cwd: folder.path, columns: 200, env });
    const running = runOn(terminal, "list");
    await eventually(() => terminal.written.stderr.includes("[y/N] "));
    terminal.stdin.end("n\n");
    await running;
    expect(terminal.written.stderr).toContain(
      "connect to https://good.example/mcp, https://evil.example/, https://idp.evil.example/token and give them $SHOP_TOKEN",
    );
  });

  it("and inputs of VS Code are given by --input, and need the same yes", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    const servers = { weather: { url: server.url, headers: { "x-key": "${input:key}" } } };
    using folder = temporaryFolder({
      ".vscode/mcp.json": { servers, inputs: [{ id: "key", type: "promptString" }] },
    });
    const missing = await cli(folder, "list");
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("--input id=value")]);
    const refused = await cli(folder, "list", "--input", "key=canary7f3a91secret");
    expect([refused.code, refused.stdout]).toEqual([4, expect.stringContaining("would send input:key to")]);
    const { code } = await cli(folder, "list", "--input", "key=canary7f3a91secret", "--yes");
    expect([code, server.requests.at(0)?.headers["x-key"]]).toEqual([0, "canary7f3a91secret"]);
  });
});

describe("call", () => {
  it("prints the text of the result as it is", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = projectWith({ weather: { url: server.url } });
    const run = await cli(folder, "call", "weather", "forecast", "--args", '{"city":"Oslo","days":3}');
    expect(run).toEqual({ code: 0, stdout: "Oslo: rain for 3 days\n", stderr: "" });
  });

  it("takes name=value, @file, stdin, the model's name of a tool, and no server where there is one", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = temporaryFolder({
      ".mcp.json": { servers: { weather: { url: server.url } } },
      "a.json": '{"city":"7"}',
    });
    const said = async (...args: string[]) => (await cli(folder, "call", ...args)).stdout;
    expect(await said("weather", "forecast", "city=7", "days=3")).toBe("7: rain for 3 days\n");
    expect(await said("forecast", "--args", "@a.json", "days=2")).toBe("7: rain for 2 days\n");
    expect(await said("weather", "weather__forecast", "city=a=b")).toBe("a=b: rain for undefined days\n");
    const terminal = fakeTerminal({ cwd: folder.path });
    terminal.stdin.end('{"city":"Oslo"}');
    expect((await runOn(terminal, "call", "forecast", "--args", "-")).stdout).toBe(
      "Oslo: rain for undefined days\n",
    );
  });

  it.each([
    [["weather", "forcast"], 'Server "weather" has no tool "forcast".', "Did you mean forecast?"],
    [["weather", "nothing"], 'Server "weather" has no tool "nothing".', "Its tools are forecast."],
    [
      ["weather", "forecast"],
      "The arguments do not fit: city: is missing.",
      "It is called as forecast(city, days?).",
    ],
    [["weather", "forecast", "city=Oslo", "days=many"], "days: expected a whole number", "It is called as"],
    [["weather", "forecast", "--args", "{city}"], "--args is no JSON:", "Quote it for the shell"],
    [["weather", "forecast", "--args", "[]"], "--args is no JSON object.", "Write --args"],
    [
      ["weather", "forecast", "--args", "@none.json"],
      "The file of --args cannot be read:",
      "Correct the path",
    ],
    [["weather", "forecast", "Oslo"], '"Oslo" is one word too many.', "Write arguments as name=value"],
    [[], "Nothing says what to call.", "Write call <server> <tool>"],
  ])("that cannot be made is told, and nothing is called: %j", async (words, text, next) => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = projectWith({ weather: { url: server.url } });
    const { code, stderr, stdout } = await cli(folder, "call", ...words);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
    expect(stderr).toContain(`→ ${next}`);
    expect(server.executions).toEqual([]);
  });

  it("ends with exit code 5 when the tool reports an error, with 1 when the server fails", async () => {
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

  it("saves nothing of a tool that reports an error, and says so", async () => {
    const broken = { name: "broken", run: () => Promise.reject(new Error("no rain today")) };
    await using server = await startMcpTestServer({ tools: [broken] });
    using folder = projectWith({ weather: { url: server.url } });
    const run = await cli(folder, "call", "weather", "broken", "-o", "map.png");
    expect(run).toEqual({
      code: 5,
      stdout: "",
      stderr: "✗ The tool reported an error, and map.png was not written:\nno rain today\n",
    });
    expect(existsSync(join(folder.path, "map.png"))).toBe(false);
    const { stdout } = await cli(folder, "call", "weather", "broken", "-o", "map.png", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, exitCode: 5, isError: true, saved: [] });
  });

  it("describes what is no text, and saves it with --output", async () => {
    const data = Buffer.from("pixels");
    const image = { type: "image", data: data.toString("base64"), mimeType: "image/png" };
    const map = { name: "map", run: () => ({ content: [{ type: "text", text: "Here:" }, image] }) };
    const maps = { name: "maps", run: () => ({ content: [image, image] }) };
    await using server = await startMcpTestServer({ tools: [map, maps, FORECAST] });
    using folder = projectWith({ weather: { url: server.url } });
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

  it("gives programs the whole result", async () => {
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

  it("is cancelled at the server when it is interrupted, and what was open is closed: 130", async () => {
    const called = gate();
    const slow = { name: "slow", run: () => (called.open(), new Promise(() => undefined)) };
    await using server = await startMcpTestServer({ tools: [slow] });
    const terminal = fakeTerminal({ columns: 80 });
    const interrupt = new AbortController();
    const running = runCli(["call", "--url", server.url, "slow"], terminal, interrupt.signal);
    await called.opened;
    interrupt.abort(new Error("Ctrl-C"));
    expect(await running).toBe(130);
    expect(server.received("notifications/cancelled").length).toBe(1);
    expect([server.openSessions, terminal.written.stdout]).toEqual([[], ""]);
    expect(terminal.written.stderr.endsWith("\r\u001b[2K")).toBe(true);
  });

  it("lets no result command the terminal; a pipe gets it as it is", async () => {
    const evil = { name: "evil", run: () => "\u001b]0;owned\u0007\u001b[2Jtext" };
    await using server = await startMcpTestServer({ tools: [evil] });
    expect((await cli(undefined, "call", "--url", server.url, "evil")).stdout).toContain("\u001b[2J");
    const onTerminal = await runOn(fakeTerminal({ columns: 80 }), "call", "--url", server.url, "evil");
    expect(onTerminal.stdout).toBe("text\n");
  });
});
