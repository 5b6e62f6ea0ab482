import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FINDINGS } from "../../../src/cli/findings/finding.js";
import { type McpTestServer, startMcpTestServer } from "../../../src/testing/index.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { startEraServer } from "../../fixtures/era-server.js";
import { cli, fakeTerminal, projectWith, runOn, temporaryFolder } from "../../fixtures/fake-terminal.js";
import { LegacySseServer } from "../../fixtures/sse-server.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { quickServer } from "../../fixtures/stdio-servers.js";
import { startTlsFront } from "../../fixtures/tls-proxy.js";

interface Found {
  readonly code: string;
  readonly severity: string;
  readonly server?: string;
  readonly tool?: string;
  readonly place?: { readonly file: string; readonly line?: number; readonly column?: number };
  readonly text: string;
  readonly next: string;
}

/** What doctor finds, for programs. */
async function examine(folder: { readonly path: string } | undefined, ...args: string[]) {
  const { code, stdout, stderr } = await cli(folder, "doctor", "--json", ...args);
  const { findings } = JSON.parse(stdout) as { readonly findings: readonly Found[] };
  expect(stderr).toBe("");
  for (const { text, next } of findings) expect([text !== "", next !== ""]).toEqual([true, true]);
  return { code, findings, codes: findings.map((finding) => finding.code) };
}

/** What is wrong with one server at an address. */
async function problemAt(url: string, ...args: string[]): Promise<Found | undefined> {
  const { code, findings } = await examine(undefined, "--url", url, ...args);
  expect(code).toBe(1);
  return findings.find(({ severity }) => severity === "error");
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("doctor finds in config files", () => {
  it("that there are none", async () => {
    using folder = temporaryFolder();
    const { code, findings } = await examine(folder);
    expect([code, findings[0]?.code, findings[0]?.severity]).toEqual([1, "config-missing", "error"]);
    const { stdout } = await cli(folder, "doctor");
    expect(stdout).toMatch(
      /✗ There is no config file here: .* \[config-missing\]\n {2}→ Write a \.mcp\.json here/,
    );
  });

  it("where one is broken, a server that is wrong, and a variable that is not set", async () => {
    await using server = await startMcpTestServer();
    using folder = temporaryFolder({
      ".mcp.json": '{\n  "mcpServers": {\n    "a": { "url" "x" }\n  }\n}\n',
      "mcp.json": {
        mcpServers: { bad: { url: "ftp://x" }, unset: { url: "${NOT_SET_HERE}" }, good: { url: server.url } },
      },
    });
    const { code, findings } = await examine(folder);
    const of = (wanted: string) => findings.find((finding) => finding.code === wanted);
    expect(code).toBe(1);
    expect(of("config-broken")?.place).toEqual({ file: ".mcp.json", line: 3, column: expect.any(Number) });
    expect(of("config-invalid")).toMatchObject({ server: "bad", place: { file: "mcp.json", line: 4 } });
    expect(of("variable-unset")).toMatchObject({
      server: "unset",
      text: expect.stringContaining("NOT_SET_HERE"),
    });
    const { stdout } = await cli(folder, "doctor");
    expect(stdout).toMatch(/✗ \.mcp\.json:3:\d+: /);
    expect(stdout).toContain("✓ good");
  });
});

describe("doctor finds, in config files that work,", () => {
  it("servers that are not used, and keys without effect; list does not mention them", async () => {
    await using server = await startMcpTestServer({ tools: [] });
    using folder = temporaryFolder({
      ".mcp.json": { mcpServers: { a: { url: server.url, colour: "red" } } },
      "mcp.json": { mcpServers: { a: { url: `${server.url}?second` } } },
    });
    const { code, findings } = await examine(folder);
    const doubtful = findings.filter((finding) => finding.code === "config-doubtful");
    expect([code, doubtful.map(({ text, place }) => [place?.file, text])]).toEqual([
      0,
      [
        [".mcp.json", "Keys without effect: colour."],
        ["mcp.json", expect.stringMatching(/^"a" of this file is not used: /)],
      ],
    ]);
    expect((await cli(folder, "list")).stdout).not.toContain("config-doubtful");
  });
});

describe("doctor finds, on the way to a server", () => {
  it("a port that refuses, and a host that is not known", async () => {
    expect(await problemAt("http://127.0.0.1:1/mcp")).toMatchObject({ code: "connection-refused" });
    expect(await problemAt("http://no-such-host.invalid/mcp")).toMatchObject({ code: "unknown-host" });
  });

  it("certificates that are not trusted, have expired, or are for another host", async () => {
    await using server = await startMcpTestServer();
    await using untrusted = await startTlsFront(server.url);
    await using expired = await startTlsFront(server.url, { cert: pemFile("expired") });
    await using otherNames = await startTlsFront(server.url, { cert: pemFile("other-names") });
    const ca = pemFile("authority");
    using folder = projectWith({
      untrusted: { url: untrusted.url },
      expired: { url: expired.url, tls: { ca } },
      otherNames: { url: otherNames.url, tls: { ca } },
      plain: { url: server.url.replace("http:", "https:") },
    });
    const { findings } = await examine(folder);
    const codes = Object.fromEntries(findings.map(({ server: name, code }) => [name, code]));
    expect(codes).toMatchObject({
      untrusted: "tls-untrusted",
      expired: "tls-expired",
      otherNames: "tls-wrong-host",
      plain: "tls-failed",
    });
  });

  it("a login, with what the server says about it, and that it says no", async () => {
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
    const login = await problemAt(server.url);
    expect(login).toMatchObject({ code: "login-needed", next: expect.stringContaining("--header") });
    expect(login?.text).toContain(
      'It asks for Bearer ("No token"). Tokens come from https://login.example.com, with the scopes read.',
    );
    const refused = await problemAt(server.url, "--header", "authorization: Bearer canary7f3a91secret");
    expect(refused?.code).toBe("forbidden");
  });

  it("a login, asked for by the proxy and the authority of the server itself", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(401, { "www-authenticate": 'Bearer error_description="No token"' }).end();
    });
    await using front = await startTlsFront(server.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    const url = "https://mcp.test/mcp";
    using folder = projectWith({ inside: { url, tls: { ca: pemFile("authority") } } });
    const { findings } = await examine(folder);
    expect(findings[0]).toMatchObject({
      code: "login-needed",
      text: expect.stringContaining('It asks for Bearer ("No token").'),
    });
  });

  it("a wrong path, and the right one", async () => {
    await using server = await startMcpTestServer();
    await using front = await startRawServer(({ request, response, body }) => {
      if (request.url !== "/mcp") return void response.writeHead(404).end();
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const id = request.headers["mcp-session-id"];
      void fetch(server.url, {
        method: request.method ?? "POST",
        headers: id === undefined ? headers : { ...headers, "mcp-session-id": String(id) },
        ...(request.method === "POST" ? { body: JSON.stringify(body) } : {}),
      }).then(async (answer) => {
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
      });
    });
    const { origin } = new URL(front.url);
    const found = await problemAt(`${origin}/api?key=canary7f3a91secret`, "-H", "x-key: canary7f3a91secret");
    expect(found).toMatchObject({ code: "wrong-path", next: `${origin}/mcp answers: write that address.` });
    const elsewhere = front.seen.filter(({ request }) => request.url?.startsWith("/api") === false);
    expect(elsewhere.length).toBeGreaterThan(3);
    expect(
      elsewhere.some(({ request }) => JSON.stringify([request.url, request.headers]).includes("canary")),
    ).toBe(false);
  });

  it("a redirect to another origin, which is not followed", async () => {
    await using server = await startRawServer(({ response }) => {
      response.writeHead(307, { location: "https://elsewhere.example.com/mcp?key=canary7f3a91secret" }).end();
    });
    const found = await problemAt(server.url);
    expect(found?.code).toBe("redirected");
    expect(found?.text).toContain("https://elsewhere.example.com");
    expect(found?.text).not.toContain("canary");
  });

  it("an older server, also where its definition says so", async () => {
    await using server = await LegacySseServer.start();
    const found = await examine(undefined, "--url", server.url);
    expect([found.code, found.codes]).toEqual([0, ["legacy-sse", "no-description"]]);
    using folder = projectWith({ old: { type: "sse", url: server.url } });
    expect((await examine(folder)).codes).toContain("legacy-sse");
  });

  it("a server that is none, one that fails, and one that says nothing", async () => {
    await using server = await startMcpTestServer();
    server.addFault({ type: "html" }, { method: "initialize", times: 1 });
    expect((await problemAt(server.url))?.code).toBe("not-mcp");
    server.addFault({ type: "status", status: 500 }, { method: "initialize", times: 1 });
    expect((await problemAt(server.url))?.code).toBe("server-failing");
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    expect((await problemAt(server.url, "--timeout", "0.3"))?.code).toBe("handshake-timeout");
    server.addFault({ type: "hang" }, { method: "tools/list", times: 1 });
    using folder = projectWith({ slow: { url: server.url, timeouts: { requestMs: 300 } } });
    expect((await examine(folder)).codes).toEqual(["too-slow"]);
  });

  it("a port that takes connections and never answers", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as AddressInfo;
    try {
      const found = await problemAt(`http://127.0.0.1:${port}/mcp`, "--timeout", "0.3");
      expect(found?.code).toBe("handshake-timeout");
    } finally {
      silent.close();
    }
  });
});

describe("doctor finds, with commands", () => {
  it("all that can go wrong with a program", async () => {
    using folder = temporaryFolder({
      "some.json": {
        mcpServers: {
          missing: { command: "no-such-command-here" },
          closed: { command: join(import.meta.dirname, "cli-doctor.test.ts") },
          dying: quickServer("dying"),
          silent: { ...quickServer("silent"), timeouts: { connectMs: 700 } },
          ancient: quickServer("ancient"),
          noisy: quickServer("noisy"),
        },
      },
    });
    const { code, findings } = await examine(folder, "--config", "some.json");
    const codes = Object.fromEntries(findings.map((finding) => [finding.server, finding.code]));
    expect([code, codes]).toEqual([
      1,
      {
        missing: "command-not-found",
        closed: "command-not-executable",
        dying: "command-exited",
        silent: "handshake-timeout",
        ancient: "protocol-mismatch",
        noisy: "stdout-noise",
      },
    ]);
    const textOf = (name: string) => findings.find(({ server }) => server === name)?.text;
    expect(textOf("dying")).toContain("ended with exit code 3");
    expect(textOf("dying")).toContain("Error: no database");
    expect(textOf("noisy")).toContain("Listening on stdio …");
  });
});

describe("doctor finds, in what servers offer", () => {
  const run = () => "";
  const SERVED = [
    { name: "bad name", description: "Fine.", run },
    { name: "bad_name", description: "Fine.", run },
    { name: "hidden", description: "Fine.\u202e\u{e0041}", run },
    { name: "quiet", run },
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

  it("names, schemas, hidden characters, missing descriptions, tools that are left out", async () => {
    await using server = await startMcpTestServer({ tools: SERVED, malformedTools: [{ name: "odd" }] });
    await using other = await startMcpTestServer({ tools: [{ name: "quiet", description: "Fine.", run }] });
    using folder = projectWith({ one: { url: server.url }, two: { url: other.url } });
    const { code, findings } = await examine(folder);
    const found = findings.map((finding) => [finding.code, finding.tool]);
    expect(code).toBe(1);
    expect(found).toEqual([
      ["server-warned", undefined],
      ["hidden-characters", "hidden"],
      ["schema-loosened", "pattern"],
      ["no-description", "quiet"],
      ["schema-changed", "union"],
      ["name-changed", "bad name"],
      ["name-collision", undefined],
      ["name-shared", "quiet"],
    ]);
    const textOf = (wanted: string) => findings.find((finding) => finding.code === wanted)?.text;
    expect(textOf("hidden-characters")).toBe(
      'Tool "hidden" has tag characters, characters that turn the direction of text in its texts.',
    );
    expect(textOf("name-changed")).toBe('Models see the tool "bad name" as one__bad_name.');
    expect(textOf("name-collision")).toBe(
      '"bad name" of "one" and "bad_name" of "one" get the same name, one__bad_name.',
    );
  });

  it("nothing, and says so with exit code 0; a long list is cut for people", async () => {
    const many = Array.from({ length: 9 }, (_, index) => ({ name: `tool_${index}`, run }));
    await using server = await startMcpTestServer({ tools: [{ name: "fine", description: "Fine.", run }] });
    const { code, stdout } = await cli(undefined, "doctor", "--url", server.url);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ server .*\n\n0 errors, 0 warnings, 0 notes\.\n/),
    ]);
    server.tools = [];
    expect((await examine(undefined, "--url", server.url)).codes).toEqual(["no-tools"]);
    server.tools = many;
    const long = await cli(undefined, "doctor", "--url", server.url);
    expect(long.stdout).toContain("… and 6 more like this (--json shows all)");
    expect(long.stdout.match(/→/g)?.length).toBe(1);
  });
});

describe("doctor tries, when it is allowed to,", () => {
  const recoveryOf = async (server: McpTestServer) => {
    const { codes } = await examine(undefined, "--url", server.url, "--recovery");
    return codes.filter((code) => code.startsWith("session-"));
  };
  const tools = [{ name: "fine", description: "Fine.", run: () => "" }];

  it("whether a lost session comes back: it lists, calls nothing, and leaves nothing", async () => {
    await using server = await startMcpTestServer({ tools });
    expect(await recoveryOf(server)).toEqual(["session-recovered"]);
    expect(server.received("tools/call")).toEqual([]);
    expect(server.openSessions).toEqual([]);
  });

  it("a server without sessions, and one that does not come back", async () => {
    await using none = await startMcpTestServer({ tools, sessionMode: "stateless" });
    expect(await recoveryOf(none)).toEqual(["session-none"]);
    await using modern = await startEraServer("modern", { tools });
    expect(await recoveryOf(modern)).toEqual(["session-none"]);
    await using older = await startMcpTestServer({ tools });
    older.unknownSessionResponse = "400 no valid id";
    expect(await recoveryOf(older)).toEqual(["session-recovered"]);
    await using bare = await startMcpTestServer({ tools, sessionMode: "single" });
    expect(await recoveryOf(bare)).toEqual(["session-not-recovered"]);
  });

  it("and never without being told to", async () => {
    await using server = await startMcpTestServer({ tools });
    expect((await examine(undefined, "--url", server.url)).codes).toEqual([]);
    expect(server.received("initialize").length).toBe(1);
  });
});

describe("secrets", () => {
  const CANARY = "canary7f3a91secret";

  it("are in nothing that is printed, whatever the server echoes", async () => {
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
    const saved = { name: "gone", inputSchema: { type: "object" } };
    const resource = { $resourceType: "mcp", name: "echoing", availableTools: [saved] };
    using folder = temporaryFolder({
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
        const terminal = fakeTerminal({ cwd: folder.path, env });
        const { stdout, stderr } = await runOn(terminal, ...args, ...format);
        expect(`${stdout}${stderr}`).not.toContain(CANARY);
        expect(stdout.length).toBeGreaterThan(100);
      }
    }
    const drift = await runOn(fakeTerminal({ cwd: folder.path, env }), "drift", "agent.json", "--json");
    expect(drift.stdout).toContain('"gone"');
    expect(`${drift.stdout}${drift.stderr}`).not.toContain(CANARY);
    const call = await runOn(fakeTerminal({ cwd: folder.path, env }), "call", "denied", "leak");
    expect(call.stderr).toContain("connection-refused");
    expect(`${call.stdout}${call.stderr}`).not.toContain(CANARY);
    const direct = await cli(
      undefined,
      "list",
      "--url",
      "http://127.0.0.1:1/",
      "-H",
      `authorization: Bearer ${CANARY}`,
    );
    const wrong = await cli(undefined, "list", "--url", "http://127.0.0.1:1/", "-H", CANARY);
    expect(JSON.stringify([direct, wrong])).not.toContain(CANARY);
  });
});

describe("for programs", () => {
  it("doctor has one document of a shape that stays", async () => {
    await using server = await startMcpTestServer({ tools: [{ name: "quiet", run: () => "" }] });
    using folder = projectWith({ one: { url: server.url } });
    const { stdout } = await cli(folder, "doctor", "--json");
    expect(JSON.parse(stdout)).toEqual({
      command: "doctor",
      ok: true,
      exitCode: 0,
      files: [{ file: ".mcp.json", servers: 1 }],
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
          text: 'Tool "quiet" has no description.',
          next: 'Write one on the server, or as tools: { name: { description: "…" } } in code.',
        },
      ],
      counts: { errors: 0, warnings: 0, notes: 1 },
    });
  });
});

describe("the codes", () => {
  it("are what programs rely on", () => {
    expect(Object.keys(FINDINGS)).toMatchInlineSnapshot(`
      [
        "config-missing",
        "config-broken",
        "config-invalid",
        "config-doubtful",
        "variable-unset",
        "yes-needed",
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
        "session-recovered",
        "session-none",
        "session-not-recovered",
        "nothing-saved",
        "failed",
      ]
    `);
  });
});
