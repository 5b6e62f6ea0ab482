import { createServer } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { getStartTimeout } from "../../../src/cli/servers/connect-servers.js";
import { FINDINGS } from "../../../src/cli/report/finding.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { createMcpTools } from "../../../src/index.js";
import { times } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { cli, createFakeTerminal, createProject, runOn } from "../../fixtures/fake-terminal.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { quickServer, scriptServer } from "../../fixtures/stdio-servers.js";
import { startTlsProxy } from "../../fixtures/tls-proxy.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";
import { Listener } from "../../fixtures/listener.js";

interface ReportedFinding {
  readonly code: string;
  readonly severity: string;
  readonly server?: string;
  readonly tool?: string;
  readonly location?: { readonly file: string; readonly line?: number; readonly column?: number };
  readonly text: string;
  readonly hint: string;
}

/** Runs doctor with `--json`. Every finding must have a text and a hint. */
async function runDoctor(folder: { readonly path: string } | undefined, ...args: string[]) {
  const { code, stdout, stderr } = await cli(folder, "doctor", "--json", ...args);
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly ReportedFinding[] };
  expect(stderr).toBe("");
  for (const { text, hint } of findings) expect([text !== "", hint !== ""]).toEqual([true, true]);
  return { code, findings, codes: findings.map((finding) => finding.code) };
}

/** Returns the error that doctor reports for the server at a URL. */
async function findErrorAt(url: string, ...args: string[]): Promise<ReportedFinding | undefined> {
  const { code, findings } = await runDoctor(undefined, "--url", url, ...args);
  expect(code).toBe(1);
  return findings.find(({ severity }) => severity === "error");
}

describe("doctor: invalid config files", () => {
  it("no config file is an error with a hint", async () => {
    using folder = new TemporaryFolder();
    const { code, findings } = await runDoctor(folder);
    expect([code, findings[0]?.code, findings[0]?.severity]).toEqual([2, "config-missing", "error"]);
    const { stdout } = await cli(folder, "doctor");
    expect(stdout).toMatch(/✗ No config file.*\.mcp\.json.* \[config-missing\]\n {2}→ Create a \.mcp\.json/);
  });

  it("syntax errors, invalid servers and unset variables are reported with their location", async () => {
    await using server = await startMcpTestServer();
    using folder = new TemporaryFolder({
      ".mcp.json": '{\n  "mcpServers": {\n    "a": { "url" "x" }\n  }\n}\n',
      "mcp.json": {
        mcpServers: { bad: { url: "ftp://x" }, unset: { url: "${NOT_SET_HERE}" }, good: { url: server.url } },
      },
    });
    const { code, findings } = await runDoctor(folder);
    const withCode = (wanted: string) => findings.find((finding) => finding.code === wanted);
    expect(code).toBe(1);
    expect(withCode("config-broken")?.location).toEqual({
      file: ".mcp.json",
      line: 3,
      column: expect.any(Number),
    });
    expect(withCode("config-invalid")).toMatchObject({
      server: "bad",
      location: { file: "mcp.json", line: 4 },
    });
    expect(withCode("variable-unset")).toMatchObject({
      server: "unset",
      text: expect.stringContaining("NOT_SET_HERE"),
    });
    const { stdout } = await cli(folder, "doctor");
    expect(stdout).toMatch(/✗ \.mcp\.json:3:\d+: /);
    expect(stdout).toContain("✓ good");
    expect(stdout).toContain("✗ mcp.json  3 servers (2 invalid)\n");
  });
});

describe("doctor: valid config files", () => {
  it("unused servers and ignored keys are notes, which list does not show", async () => {
    await using server = await startMcpTestServer({ tools: [] });
    using folder = new TemporaryFolder({
      ".mcp.json": { mcpServers: { a: { url: server.url, color: "red" } } },
      "mcp.json": { mcpServers: { a: { url: `${server.url}?second` } } },
    });
    const { code, findings } = await runDoctor(folder);
    const warnings = findings.filter((finding) => finding.code === "config-warning");
    expect([code, warnings.map(({ text, location }) => [location?.file, text])]).toEqual([
      0,
      [
        [".mcp.json", expect.stringContaining("color")],
        ["mcp.json", expect.stringMatching(/"a".*not used/)],
      ],
    ]);
    expect((await cli(folder, "list")).stdout).not.toContain("config-warning");
    expect((await cli(folder, "doctor")).stdout).toMatch(
      /^✓ \.mcp\.json {2}1 server\n✓ mcp\.json {3}1 server \(1 not used\)\n/,
    );
  });
});

describe("doctor: options that project files may not set", () => {
  it("are warnings with their location, once each, also in list", async () => {
    await using server = await startMcpTestServer({ tools: [] });
    const tools = { "*": { requireApproval: false } };
    using folder = createProject({
      a: { url: server.url, tools, trustAnnotations: true, color: "red", heders: {} },
    });
    const { code, findings } = await runDoctor(folder);
    expect(code).toBe(0);
    const reported = findings.filter(({ code: found }) => found.startsWith("config-"));
    expect(reported).toMatchObject([
      {
        code: "config-restricted",
        severity: "warning",
        server: "a",
        location: { file: ".mcp.json", line: 7, column: 11 },
        text: expect.stringContaining('tools["*"].requireApproval: is ignored'),
      },
      {
        code: "config-restricted",
        location: { line: 10 },
        text: expect.stringContaining("trustAnnotations"),
      },
      { code: "config-warning", text: 'Ignored keys: color, heders (did you mean "headers"?).' },
    ]);
    expect((await cli(folder, "list")).stdout).toContain("[config-restricted]");
  });
});

describe("doctor: connections", () => {
  it("refused connections and unknown hosts", async () => {
    expect(await findErrorAt("http://127.0.0.1:1/mcp")).toMatchObject({ code: "connection-refused" });
    expect(await findErrorAt("http://no-such-host.invalid/mcp")).toMatchObject({ code: "unknown-host" });
  });

  it("certificates that are untrusted, expired or for another host, and a server without TLS", async () => {
    await using server = await startMcpTestServer();
    await using untrusted = await startTlsProxy(server.url);
    await using expired = await startTlsProxy(server.url, { cert: readPemFile("expired") });
    await using otherNames = await startTlsProxy(server.url, { cert: readPemFile("other-names") });
    const ca = readPemFile("authority");
    using folder = createProject({
      untrusted: { url: untrusted.url },
      expired: { url: expired.url, tls: { ca } },
      otherNames: { url: otherNames.url, tls: { ca } },
      plain: { url: server.url.replace("http:", "https:") },
    });
    const { findings } = await runDoctor(folder);
    const codes = Object.fromEntries(findings.map(({ server: name, code }) => [name, code]));
    expect(codes).toMatchObject({
      untrusted: "tls-untrusted",
      expired: "tls-expired",
      otherNames: "tls-wrong-host",
      plain: "tls-failed",
    });
  });

  it("401 reports how to log in, and 403 is forbidden", async () => {
    await using server = await startRawServer(({ request, response }) => {
      const { origin } = new URL(server.url);
      if (request.url === "/.well-known/oauth-protected-resource/mcp")
        return void response.end(
          JSON.stringify({
            authorization_servers: ["https://login.example.com"],
            scopes_supported: ["read"],
          }),
        );
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      const challenge = `Bearer error_description="No token", resource_metadata="${metadata}"`;
      response.writeHead(request.headers["authorization"] === undefined ? 401 : 403, {
        "www-authenticate": challenge,
      });
      response.end();
    });
    const login = await findErrorAt(server.url);
    expect(login).toMatchObject({ code: "login-needed", hint: expect.stringContaining("--header") });
    expect(login?.text).toMatch(/Bearer \("No token"\).*https:\/\/login\.example\.com.*read/);
    const forbidden = await findErrorAt(server.url, "--header", "authorization: Bearer canary7f3a91secret");
    expect(forbidden?.code).toBe("forbidden");
  });

  it("the login lookup uses the proxy and the certificate authority of the server", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(401, { "www-authenticate": 'Bearer error_description="No token"' }).end();
    });
    await using front = await startTlsProxy(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const url = "https://mcp.test/mcp";
    using folder = createProject({ inside: { url, tls: { ca: readPemFile("authority") } } });
    const { findings } = await runDoctor(folder);
    expect(findings[0]).toMatchObject({
      code: "login-needed",
      text: expect.stringContaining('Bearer ("No token")'),
    });
  });

  it("a wrong path is reported with the correct URL, found without sending credentials", async () => {
    await using server = await startMcpTestServer();
    await using front = await startRawServer(({ request, response, body }) => {
      if (request.url !== "/mcp") return void response.writeHead(404).end();
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const id = request.headers["mcp-session-id"];
      void fetch(server.url, {
        method: request.method ?? "POST",
        headers: id === undefined ? headers : { ...headers, "mcp-session-id": String(id) },
        ...(request.method === "POST" ? { body: JSON.stringify(body) } : {}),
      }).then(async (upstream) => {
        response.writeHead(upstream.status, Object.fromEntries(upstream.headers)).end(await upstream.text());
      });
    });
    const { origin } = new URL(front.url);
    const finding = await findErrorAt(
      `${origin}/api?key=canary7f3a91secret`,
      "-H",
      "x-key: canary7f3a91secret",
    );
    expect(finding).toMatchObject({
      code: "wrong-path",
      hint: expect.stringContaining(`${origin}/mcp:`),
    });
    const probes = front.requests.filter(({ request }) => request.url?.startsWith("/api") === false);
    expect(probes.length).toBeGreaterThan(3);
    expect(
      probes.some(({ request }) => JSON.stringify([request.url, request.headers]).includes("canary")),
    ).toBe(false);
  });

  it("a wrong path is reported with the paths that were tried if none is an MCP server", async () => {
    await using server = await startRawServer(({ response }) => void response.writeHead(404).end());
    expect((await findErrorAt(server.url))?.hint).toBe(
      "Correct the path of the URL. None of the common paths is an MCP server: /mcp, /sse, /mcp/, /, /api/mcp, /v1/mcp.",
    );
    const { stdout } = await cli(undefined, "list", "--url", server.url);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain("The doctor command searches common paths.");
  });

  it.each([
    ["without a content-type", 200, "<p>Hello</p>"],
    ["without content", 200, ""],
    ["without content", 204, ""],
  ])("a response %s (%i) is described as such", async (text, status, body) => {
    await using server = await startRawServer(({ response }) => {
      response.statusCode = status;
      response.end(body);
    });
    const expected = `sent an invalid response: HTTP ${status} ${text}.`;
    expect((await findErrorAt(server.url))?.text).toContain(expected);
    using folder = createProject({ old: { type: "sse", url: server.url } });
    const { findings } = await runDoctor(folder);
    expect(findings[0]?.text).toContain(`HTTP ${status} ${text} where an event stream was expected`);
  });

  it("a redirect to another origin is reported and not followed", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(307, { location: "https://elsewhere.example.com/mcp?key=canary7f3a91secret" }).end();
    });
    const finding = await findErrorAt(server.url);
    expect(finding?.code).toBe("redirected");
    expect(finding?.text).toContain("https://elsewhere.example.com");
    expect(finding?.text).not.toContain("canary");
  });

  it("a server that uses HTTP+SSE is a note, also if its type is sse", async () => {
    await using server = await SseServer.start();
    const { code, codes } = await runDoctor(undefined, "--url", server.url);
    expect([code, codes]).toEqual([0, ["legacy-sse", "no-description"]]);
    using folder = createProject({ old: { type: "sse", url: server.url } });
    expect((await runDoctor(folder)).codes).toContain("legacy-sse");
  });

  it("a server with a configured session does not prevent the report about others", async () => {
    await using server = await startMcpTestServer({ sessionMode: "stateless" });
    await using old = await SseServer.start();
    using folder = createProject({
      pinned: { url: server.url, session: { id: "s-1" } },
      old: { url: old.url },
    });
    const { findings } = await runDoctor(folder);
    expect(findings).toContainEqual(expect.objectContaining({ code: "legacy-sse", server: "old" }));
  });

  it("endpoints that are not MCP servers, fail, or do not respond", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "html" }, { method: "initialize", times: 1 });
    expect((await findErrorAt(server.url))?.code).toBe("not-mcp");
    server.addFault({ type: "status", status: 500 }, { method: "initialize", times: 1 });
    expect((await findErrorAt(server.url))?.code).toBe("server-failing");
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    expect((await findErrorAt(server.url, "--timeout", "0.3"))?.code).toBe("handshake-timeout");
    server.addFault({ type: "hang" }, { method: "tools/list", times: 1 });
    using folder = createProject({ slow: { url: server.url, timeouts: { requestMs: 300 } } });
    expect((await runDoctor(folder)).codes).toEqual(["too-slow"]);
  });

  it("a port that accepts connections and never responds", async () => {
    await using silent = await Listener.start(createServer());
    const finding = await findErrorAt(`http://127.0.0.1:${silent.port}/mcp`, "--timeout", "0.3");
    expect(finding?.code).toBe("handshake-timeout");
  });
});

describe("doctor: commands", () => {
  it("each failure of a command has its own code", async () => {
    using folder = new TemporaryFolder({
      "some.json": {
        mcpServers: {
          missing: { command: "no-such-command-here" },
          elsewhere: { ...quickServer(), cwd: "/no/such/folder" },
          unexecutable: { command: import.meta.filename },
          dying: quickServer("dying"),
          silent: { ...quickServer("silent"), timeouts: { connectMs: 700 } },
          ancient: quickServer("ancient"),
          noisy: quickServer("noisy"),
        },
      },
    });
    const { code, findings } = await runDoctor(folder, "--config", "some.json");
    const codes = Object.fromEntries(findings.map((finding) => [finding.server, finding.code]));
    expect([code, codes]).toEqual([
      1,
      {
        missing: "command-not-found",
        elsewhere: "command-not-found",
        unexecutable: "command-not-executable",
        dying: "command-exited",
        silent: "handshake-timeout",
        ancient: "protocol-mismatch",
        noisy: "stdout-noise",
      },
    ]);
    const textOf = (name: string) => findings.find(({ server }) => server === name)?.text;
    const { hint } = findings.find(({ server }) => server === "elsewhere") ?? {};
    expect(hint).toBe("Install it, or correct its command or cwd in some.json.");
    expect(textOf("dying")).toContain("code 3");
    expect(textOf("dying")).toContain("Error: no database");
    expect(textOf("noisy")).toContain("Listening on stdio …");
  });

  it("a program that is not an MCP server is reported with what it wrote", async () => {
    const keepRunning = 'process.stdin.on("end", () => process.exit()).resume()';
    using folder = new TemporaryFolder({
      "some.json": {
        mcpServers: {
          quiet: scriptServer(keepRunning),
          web: scriptServer(`console.log("Listening on port 3000"); ${keepRunning}`),
          echo: scriptServer("process.stdin.pipe(process.stdout)"),
        },
      },
    });
    const { findings } = await runDoctor(folder, "--config", "some.json", "--timeout", "2");
    const errors = findings.filter(({ severity }) => severity === "error");
    const withOutput = (output: string) =>
      `did not finish the handshake within 2000 ms (timeouts.connectMs). Its process is still running. Is it an MCP server? Check command and args. ${output}`;
    expect(errors.map(({ server, text, hint }) => [server, text, hint])).toEqual(
      [
        ["quiet", withOutput("It wrote nothing to stdout.")],
        ["web", withOutput("It wrote to stdout: Listening on port 3000")],
        ["echo", withOutput("It sent only other messages.")],
      ].map(([name, text]) => [
        name,
        `Server "${name}" ${text}`,
        "Correct the command in some.json, or allow more time to start with --timeout 120.",
      ]),
    );
  });

  it("a program that ends before the handshake is reported once, with what it wrote", async () => {
    using folder = new TemporaryFolder({
      "some.json": {
        mcpServers: {
          lists: { command: "echo", args: ["total 4"] },
          fails: scriptServer('console.log("Usage: server"); process.exitCode = 1'),
          gone: { command: process.execPath, args: ["/no/such/server.js"] },
        },
      },
    });
    const { findings } = await runDoctor(folder, "--config", "some.json");
    const environment =
      "Check that its command works in a terminal. It gets a minimal environment; set the variables that it needs in env.";
    expect(findings.map(({ code, text }) => [code, text])).toEqual([
      [
        "command-exited",
        'Server "lists" exited with code 0 before it completed the handshake. Is it an MCP server? Check command and args. It wrote to stdout: total 4',
      ],
      [
        "command-exited",
        `Server "fails" exited with code 1 before it completed the handshake. ${environment} It wrote to stdout: Usage: server`,
      ],
      [
        "command-exited",
        `Server "gone" exited with code 1 before it completed the handshake. ${environment}\nOn stderr:\n  Error: Cannot find module '/no/such/server.js'`,
      ],
    ]);
    expect(findings[0]?.hint).toBe("Run it manually: echo 'total 4'.");
  });

  it("a program gets 20 s to start, and one that may be installed first the default", () => {
    const timeoutOf = (address: string) => getStartTimeout({ kind: "stdio", address }).connectMs;
    expect(["node server.js", "./server", "sleep 100"].map(timeoutOf)).toEqual([20_000, 20_000, 20_000]);
    const installers = ["npx -y files", "sh -c 'uvx files'", "/usr/bin/docker run files", "npx.cmd files"];
    expect(installers.map(timeoutOf)).toEqual(times(installers.length, () => undefined));
    expect(getStartTimeout({ kind: "http", address: "http://localhost:3000/mcp" })).toEqual({});
  });
});

describe("doctor: tools", () => {
  const run = () => "";
  const TOOLS = [
    { name: "bad name", description: "Fine.", run },
    { name: "bad_name", description: "Fine.", run },
    { name: "hidden", description: "Fine.\u202e\u{e0041}", run },
    { name: "quiet", run },
    { name: "endless", description: "Fine. ".repeat(200), run },
    {
      name: "union",
      description: "Fine.",
      inputSchema: { type: "object", anyOf: [{ required: ["a"] }] },
      run,
    },
    {
      name: "pattern",
      description: "Fine.",
      inputSchema: { type: "object", properties: { a: { type: "string", pattern: "(?i)x" } } },
      run,
    },
  ];

  it("names, schemas, hidden characters, missing descriptions and skipped tools are reported", async () => {
    await using server = await startMcpTestServer({ tools: TOOLS, malformedTools: [{ name: "odd" }] });
    await using other = await startMcpTestServer({ tools: [{ name: "quiet", description: "Fine.", run }] });
    using folder = createProject({ one: { url: server.url }, two: { url: other.url } });
    const { code, findings } = await runDoctor(folder);
    expect([code, findings.filter(({ severity }) => severity === "error")]).toEqual([0, []]);
    expect(findings.map((finding) => [finding.code, finding.tool])).toEqual([
      ["server-warned", undefined],
      ["description-truncated", "endless"],
      ["hidden-characters", "hidden"],
      ["schema-loosened", "pattern"],
      ["no-description", "quiet"],
      ["schema-changed", "union"],
      ["name-changed", "bad name"],
      ["name-collision", undefined],
      ["name-shared", "quiet"],
    ]);
    const textOf = (wanted: string) => findings.find((finding) => finding.code === wanted)?.text;
    expect(textOf("hidden-characters")).toContain("tag characters, text direction overrides");
    expect(textOf("name-changed")).toContain("one__bad_name");
    expect(textOf("name-collision")).toMatch(/"bad name" of "one".*"bad_name" of "one".*one__bad_name/);
  });

  it("no findings exit with 0; similar findings are grouped", async () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ name: `tool_${index}`, run }));
    await using server = await startMcpTestServer({ tools: [{ name: "fine", description: "Fine.", run }] });
    const { code, stdout } = await cli(undefined, "doctor", "--url", server.url);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ server .*\n\n0 errors, 0 warnings, 0 notes\.\n/),
    ]);
    server.tools = [];
    expect((await runDoctor(undefined, "--url", server.url)).codes).toEqual(["no-tools"]);
    server.tools = many;
    const long = await cli(undefined, "doctor", "--url", server.url);
    expect(long.stdout).toContain("… and 6 more like this (--json shows all)");
    expect(long.stdout.match(/→/g)?.length).toBe(1);
  });
});

describe("doctor --recovery", () => {
  const checkRecovery = async (server: McpTestServer) => {
    const { codes } = await runDoctor(undefined, "--url", server.url, "--recovery");
    return codes.filter((code) => code.startsWith("session-"));
  };
  const tools = [{ name: "fine", description: "Fine.", run: () => "" }];

  it("checks a lost session without calling a tool and without leaving a session", async () => {
    await using server = await startMcpTestServer({ tools });
    expect(await checkRecovery(server)).toEqual(["session-recovered"]);
    expect(server.received("tools/call")).toEqual([]);
    expect(server.openSessions).toEqual([]);
  });

  it("servers without sessions, and a server that does not recover", async () => {
    await using stateless = await startMcpTestServer({ tools, sessionMode: "stateless" });
    expect(await checkRecovery(stateless)).toEqual(["session-none"]);
    await using modern = await startEraServer("modern", { tools });
    expect(await checkRecovery(modern)).toEqual(["session-none"]);
    await using nonStandard = await startMcpTestServer({ tools });
    nonStandard.unknownSessionResponse = "400 no valid id";
    expect(await checkRecovery(nonStandard)).toEqual(["session-recovered"]);
    await using single = await startMcpTestServer({ tools, sessionMode: "single" });
    expect(await checkRecovery(single)).toEqual(["session-not-recovered"]);
  });

  it("is not checked without --recovery", async () => {
    await using server = await startMcpTestServer({ tools });
    expect((await runDoctor(undefined, "--url", server.url)).codes).toEqual([]);
    expect(server.received("initialize").length).toBe(1);
  });
});

describe("secrets", () => {
  const CANARY = "canary7f3a91secret";

  it("are never printed, even if a server echoes them", async () => {
    await using server = await startMcpTestServer({
      tools: [{ name: "leak", description: `Your token is ${CANARY}.`, run: () => "" }],
      malformedTools: [{ name: CANARY }],
    });
    const servers = {
      echoing: { url: `${server.url}?key=${CANARY}`, headers: { "x-api-key": CANARY } },
      refused: { url: `http://user:${CANARY}@127.0.0.1:1/mcp?key=${CANARY}` },
      command: { ...quickServer("dying", `--token=${CANARY}`), env: { API_KEY: CANARY } },
      sent: { url: server.url, headers: { authorization: `Bearer \${TOKEN}` } },
    };
    const saved = { name: "removed", inputSchema: { type: "object" } };
    const resource = { $resourceType: "mcp", name: "echoing", availableTools: [saved] };
    using folder = new TemporaryFolder({
      ".mcp.json": { mcpServers: servers },
      "agent.json": { resources: [resource] },
    });
    const env = { TOKEN: CANARY, LANGCHAIN_MCP_LOG: "debug" };
    for (const args of [
      ["list"],
      ["list", "--yes"],
      ["doctor", "--yes", "--recovery"],
      ["snapshot", "echoing"],
    ]) {
      for (const format of [[], ["--json"]]) {
        const terminal = createFakeTerminal({ cwd: folder.path, env });
        const { stdout, stderr } = await runOn(terminal, ...args, ...format);
        expect(`${stdout}${stderr}`).not.toContain(CANARY);
        expect(stdout.length).toBeGreaterThan(100);
      }
    }
    const drift = await runOn(createFakeTerminal({ cwd: folder.path, env }), "drift", "agent.json", "--json");
    expect(drift.stdout).toContain('"removed"');
    expect(`${drift.stdout}${drift.stderr}`).not.toContain(CANARY);
    const call = await runOn(createFakeTerminal({ cwd: folder.path, env }), "call", "refused", "leak");
    expect(call.stderr).toContain("connection-refused");
    expect(`${call.stdout}${call.stderr}`).not.toContain(CANARY);
    const withHeader = await cli(
      undefined,
      "list",
      "--url",
      "http://127.0.0.1:1/",
      "-H",
      `authorization: Bearer ${CANARY}`,
    );
    const withInvalidHeader = await cli(undefined, "list", "--url", "http://127.0.0.1:1/", "-H", CANARY);
    expect(JSON.stringify([withHeader, withInvalidHeader])).not.toContain(CANARY);
  });
});

describe("doctor --json", () => {
  it("prints one document with a stable shape", async () => {
    await using server = await startMcpTestServer({ tools: [{ name: "quiet", run: () => "" }] });
    using folder = createProject({ one: { url: server.url } });
    const { stdout } = await cli(folder, "doctor", "--json");
    expect(JSON.parse(stdout)).toEqual({
      command: "doctor",
      ok: true,
      exitCode: 0,
      files: [{ file: ".mcp.json", servers: 1, states: { loaded: 1 } }],
      servers: [
        {
          name: "one",
          kind: "http",
          address: server.url,
          scope: "project",
          file: ".mcp.json",
          state: "connected",
          latencyMs: expect.any(Number),
          serverInfo: { name: "mcp-test-server", version: "1.0.0" },
          protocolVersion: "2025-11-25",
          tools: 1,
        },
      ],
      findings: [
        {
          code: "no-description",
          severity: "note",
          server: "one",
          tool: "quiet",
          text: expect.stringContaining('"quiet"'),
          hint: expect.any(String),
        },
      ],
      tokenCosts: {
        tokens: expect.any(Number),
        servers: { one: { tokens: expect.any(Number), share: 1, tools: { one__quiet: expect.any(Number) } } },
      },
      counts: { errors: 0, warnings: 0, notes: 1 },
    });
  });
});

describe("doctor: tokens of definitions", () => {
  const createTools = (count: number, chars: number) =>
    times(count, (index) => ({
      name: `tool_${index}`,
      description: "word ".repeat(chars / 5),
      run: () => "",
    }));

  it("warns beyond 25,000 tokens, names the largest, and says what to do", async () => {
    await using large = await startMcpTestServer({ tools: createTools(100, 1_000) });
    await using small = await startMcpTestServer({ tools: createTools(10, 100) });
    using folder = createProject({ large: { url: large.url }, small: { url: small.url } });
    const { code, findings } = await runDoctor(folder);
    const finding = findings.find(({ code: found }) => found === "too-many-tokens");
    expect([code, finding?.severity]).toEqual([0, "warning"]);
    expect(finding?.text).toMatch(/about 2\d{4} tokens .*large \(\d+, 9\d%\).*large__tool_\d+/);
    expect(finding?.hint).toContain('disclosure: "auto"');
    expect(finding?.hint).toContain('"*": false');
    const { stdout } = await cli(folder, "doctor");
    expect(stdout).toMatch(/large .*100 tools {2}~\d+ tokens \(9\d%\)/);
    expect(stdout).toMatch(/The definitions of 110 tools take about \d+ tokens/);
  });

  it("does not warn below, and counts as tokenCosts of a toolset", async () => {
    const inputSchema = { type: "object", properties: { id: { type: "string" } } };
    const long = { name: "long", description: "word ".repeat(600), inputSchema, run: () => "" };
    await using server = await startMcpTestServer({ tools: [...createTools(20, 500), long] });
    using folder = createProject({ small: { url: server.url } });
    const { stdout } = await cli(folder, "doctor", "--json");
    const { findings, tokenCosts } = JSON.parse(stdout) as {
      readonly findings: readonly ReportedFinding[];
      readonly tokenCosts: unknown;
    };
    expect(findings.map(({ code }) => code)).not.toContain("too-many-tokens");
    await using mcp = await createMcpTools({ small: { url: server.url } });
    expect(tokenCosts).toEqual(mcp.tokenCosts());
    // Models read all 3,000 characters: the description of the tool has 1,024, its first parameter the others.
    expect(mcp.tokenCosts().servers.small?.tools["small__long"]).toBeGreaterThan(3_000 / 4);
  });
});

describe("finding codes", () => {
  it("are a stable list", () => {
    expect(Object.keys(FINDINGS)).toMatchInlineSnapshot(`
      [
        "config-missing",
        "config-broken",
        "config-invalid",
        "config-warning",
        "config-restricted",
        "variable-unset",
        "consent-required",
        "connection-refused",
        "unknown-host",
        "unreachable",
        "tls-untrusted",
        "tls-expired",
        "tls-wrong-host",
        "tls-failed",
        "login-needed",
        "forbidden",
        "wrong-path",
        "redirected",
        "legacy-sse",
        "protocol-mismatch",
        "not-mcp",
        "handshake-timeout",
        "too-slow",
        "server-failing",
        "command-not-found",
        "command-not-executable",
        "command-exited",
        "stdout-noise",
        "server-warned",
        "no-tools",
        "name-changed",
        "name-collision",
        "name-shared",
        "schema-changed",
        "schema-loosened",
        "hidden-characters",
        "no-description",
        "description-truncated",
        "too-many-tokens",
        "session-recovered",
        "session-none",
        "session-not-recovered",
        "nothing-saved",
        "failed",
      ]
    `);
  });
});
