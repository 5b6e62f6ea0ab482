import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { fileStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { createFakeTerminal, createProject, runOn } from "../../fixtures/fake-terminal.js";
import {
  INITIALIZE_RESULT,
  openStream,
  type RawServer,
  sendError,
  sendJson,
  startRawServer,
} from "../../fixtures/raw-server.js";
import { scriptServer } from "../../fixtures/stdio-servers.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

/** What a terminal interprets, reorders or hides. */
const PIECES = [
  ...[0, 1, 2, 8, 22, 31, 32, 33, 39].map((style) => `\u001b[${style}m`),
  "\u001b[2J",
  "\u001b[2K",
  "\u001bc",
  "\u001b]0;title\u0007",
  "\u001b]52;c;Y3Vy\u0007",
  "\u001b]8;;https://evil.example\u001b\\",
  "\u009b32m",
  "\u009d0;title\u009c",
  "\u0085",
  "\u0000",
  "\u0005",
  "\b",
  "\r",
  "\n",
  "\t",
  "\u007f",
  "\u2028",
  "\u202e",
  "\u2066",
  "\u061c",
  "\u200b",
  "\u3164",
  "\ufeff",
  "a\ufe0e",
  "a\u{e0100}",
  "\u{e0041}",
  "\ud83d",
];
const HOSTILE = `${PIECES.map((piece) => `<${piece}>`).join("")}\r\n✓ forged\n✗ forged`;
/** The same for arguments, paths and variables, which cannot contain all characters. */
const ARGUMENT = HOSTILE.replaceAll(/<[\0\ud83d]>|\//gu, "");
const LONG = `${HOSTILE}${"long ".repeat(1_000)}${HOSTILE}`;
const TOOL = `tool ${HOSTILE}`;

const PAY = {
  name: "pay",
  title: LONG,
  description: LONG,
  inputSchema: {
    type: "object",
    title: HOSTILE,
    properties: {
      to: { enum: [HOSTILE, "me"], default: HOSTILE, description: LONG, examples: [HOSTILE] },
      code: { type: "string", pattern: HOSTILE, const: HOSTILE },
      [HOSTILE]: { $ref: `#/$defs/${HOSTILE}` },
    },
    required: [HOSTILE],
    $defs: { [HOSTILE]: { type: HOSTILE } },
  },
  outputSchema: { type: "object", description: HOSTILE },
  annotations: { title: HOSTILE, [HOSTILE]: HOSTILE },
  icons: [{ src: HOSTILE, mimeType: HOSTILE }],
  execution: { taskSupport: HOSTILE },
  _meta: { [HOSTILE]: HOSTILE },
};
const DIGEST = `sha256:${"a".repeat(64)}`;
const SKILL = {
  uri: "skill://evil/%1b%5b31m/demo/SKILL.md",
  frontmatter: { name: "demo", description: LONG, [HOSTILE]: HOSTILE },
  resources: [
    { uri: "skill://evil/%1b%5b31m/demo/SKILL.md", size: 1, digest: DIGEST },
    { uri: `skill://evil/%1b%5b31m/demo/${"%20".repeat(80)}a.md`, size: 1, digest: DIGEST },
  ],
  _meta: { [HOSTILE]: HOSTILE },
};

/** A server that puts hostile text into everything it sends. */
function startHostileServer(): Promise<RawServer> {
  return startRawServer((raw) => {
    const { httpMethod, method, id, body, request, response } = raw;
    const path = request.url ?? "";
    if (path.startsWith("/.well-known"))
      response.end(JSON.stringify({ authorization_servers: [HOSTILE], scopes_supported: [HOSTILE] }));
    else if (path === "/login")
      response.writeHead(401, { "www-authenticate": `Bearer error_description="\u009b32m"` }).end(HOSTILE);
    else if (path === "/moved") response.writeHead(302, { location: "/\u009b32m" }).end(HOSTILE);
    else if (path === "/status") response.writeHead(500, { "content-type": "text/plain" }).end(LONG);
    else if (path === "/error") sendError(raw, { code: -1, message: LONG, data: HOSTILE });
    else if (httpMethod !== "POST" || id === undefined) return false;
    else if (method === "initialize") {
      const serverInfo = { name: HOSTILE, version: HOSTILE, title: HOSTILE, websiteUrl: HOSTILE };
      const extensions = { "io.modelcontextprotocol/skills": {}, [HOSTILE]: {} };
      const capabilities = { tools: {}, logging: {}, resources: {}, prompts: {}, extensions };
      sendJson(response, id, { ...INITIALIZE_RESULT, capabilities, serverInfo, instructions: LONG });
    } else if (method === "tools/list") {
      const others = [
        { ...PAY, name: TOOL },
        { ...PAY, name: `${HOSTILE} ${TOOL}` },
        { name: "fail", inputSchema: { type: "object" } },
        { name: `malformed ${HOSTILE}`, inputSchema: HOSTILE },
      ];
      sendJson(response, id, {
        tools: [PAY, ...others],
        nextCursor: undefined,
        _meta: { [HOSTILE]: HOSTILE },
      });
    } else if (method === "skills/list")
      sendJson(response, id, { skills: [SKILL, { uri: HOSTILE }, { ...SKILL, uri: "skill://a/b" }] });
    else if (Reflect.get(Object(body["params"]), "name") === "fail")
      sendError(raw, { code: -32_000, message: LONG, data: HOSTILE });
    else if (method === "tools/call") {
      const send = openStream(response);
      const notify = (name: string, params: object) => send({ jsonrpc: "2.0", method: name, params });
      notify("notifications/message", { level: "error", logger: HOSTILE, data: LONG });
      notify("notifications/progress", { progressToken: HOSTILE, progress: 1, message: HOSTILE });
      send({ jsonrpc: "2.0", id: HOSTILE, method: "elicitation/create", params: { message: HOSTILE } });
      const content = [
        { type: "text", text: LONG },
        { type: "image", data: "AA==", mimeType: HOSTILE },
        { type: "resource_link", uri: HOSTILE, name: HOSTILE },
        { type: "resource", resource: { uri: HOSTILE, blob: "AA==", mimeType: HOSTILE } },
        { type: `other${HOSTILE}`, [HOSTILE]: HOSTILE },
      ];
      send({ jsonrpc: "2.0", id, result: { content, structuredContent: { [HOSTILE]: HOSTILE } } });
      response.end();
    } else return false;
    return undefined;
  });
}

/** The values of the definition of a server, and its name, in a file. */
const SERVERS = {
  [`named ${ARGUMENT}`]: { command: "evil", args: [ARGUMENT] },
  [ARGUMENT]: { url: `https://evil.example/\${${ARGUMENT}}`, [ARGUMENT]: 1 },
  broken: { url: ARGUMENT, tools: { [ARGUMENT]: { [ARGUMENT]: true } } },
  unset: { url: `https://a.example/\${input:${ARGUMENT}}` },
  described: { url: "https://b.example/${input:d}" },
  header: { url: "https://c.example", headers: { [`x-${ARGUMENT}`]: "${HOME}", "x-value": ARGUMENT } },
  auth: { url: "https://d.example", auth: { grant: "jwt-bearer", issuer: ARGUMENT, clientId: ARGUMENT } },
  issuer: {
    url: "https://e.example",
    auth: {
      grant: "jwt-bearer",
      issuer: `https://evil.example/${ARGUMENT}`,
      clientId: "${HOME}",
      clientSecret: "s",
      assertion: "a",
    },
  },
  missing: {
    command: `no such ${ARGUMENT}`,
    args: [ARGUMENT.repeat(9), "${HOME}"],
    env: { [`A${ARGUMENT}`]: ARGUMENT, ["B".repeat(900)]: "" },
    cwd: `/${ARGUMENT}`,
  },
  fn: { functionName: ARGUMENT, region: ARGUMENT, endpoint: ARGUMENT },
  rules: { command: "missing", disabledTools: [ARGUMENT], tools: { [ARGUMENT]: { description: ARGUMENT } } },
  exits: scriptServer(
    `console.log(${JSON.stringify(ARGUMENT.repeat(9))}); console.error(${JSON.stringify(ARGUMENT.repeat(9))}); process.exit(3)`,
  ),
  off: { url: "https://f.example", disabled: true },
};

const OUTPUTS = [
  ["a pipe", {}],
  ["a pipe with colors", { env: { FORCE_COLOR: "1" } }],
  ["a terminal", { columns: 80 }],
  ["a terminal without colors", { columns: 80, env: { NO_COLOR: "1" } }],
  ["a narrow terminal", { columns: 20 }],
] as const;
type OutputOptions = Parameters<typeof createFakeTerminal>[0];

/** Runs a command; `HOSTILE` stands for an argument of hostile text. */
async function run(folder: TemporaryFolder, line: string, options: OutputOptions) {
  const hostile: Record<string, string> = {
    HOSTILE: ARGUMENT,
    "FOLDER/.mcp.json": `${ARGUMENT.slice(0, 60)}/.mcp.json`,
    "--HOSTILE": `--${ARGUMENT}`,
    TOOL,
  };
  const env = { LANGCHAIN_MCP_LOG: "debug", PATH: "/nowhere", ...options?.env };
  const terminal = createFakeTerminal({ ...options, cwd: folder.path, env });
  terminal.stdin.end("n\n");
  return runOn(terminal, ...line.split(" ").map((arg) => hostile[arg] ?? arg));
}

/** Everything but the styles of the program, line breaks and the spinner must be visible characters. */
function expectHarmless(output: string): void {
  expect(PIECES.filter((piece) => output.includes(`<${piece}>`))).toEqual([]);
  // oxlint-disable-next-line no-control-regex -- the styles are control sequences
  const own = /\u001b\[(?:1|2|22|31|32|33|39)m|\r\u001b\[2K|\n/g;
  expect(output.replaceAll(own, "")).not.toMatch(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u,
  );
  // oxlint-disable-next-line no-control-regex -- the styles are control sequences
  expect(output.replaceAll(/\u001b\[\d+m/g, "")).not.toMatch(/^[✓✗] forged/m);
}

describe.each(OUTPUTS)("on %s", (_, options) => {
  it.each([
    "list",
    "list --json",
    "describe evil pay",
    "describe evil pay --json",
    "describe evil TOOL",
    "describe evil demo",
    "describe evil demo --json",
    "describe evil HOSTILE",
    "call evil pay --json --args @valid.json",
    "call evil pay to=HOSTILE code=x",
    "call evil TOOL --json",
    "call evil fail",
    "call evil fail --json",
    "call evil missing",
    "call evil pay --args @broken.json",
    "doctor --recovery",
    "doctor --recovery --json",
    "snapshot",
    "snapshot --json",
    "snapshot -o HOSTILE --force",
    "drift agent.json",
    "drift agent.json --json",
    "drift broken.json",
    "drift --store HOSTILE",
  ])("texts of servers are escaped by %s", async (line) => {
    await using server = await startHostileServer();
    const { origin } = new URL(server.url);
    const paths = line.startsWith("call") || line.startsWith("describe") ? [] : ["login", "moved", "status"];
    const others = paths.map((path) => [path, { url: `${origin}/${path}` }]);
    using folder = new TemporaryFolder({
      ".mcp.json": { mcpServers: { evil: { url: server.url }, ...Object.fromEntries(others) } },
      "valid.json": { to: "me", code: HOSTILE, [HOSTILE]: 1 },
      "broken.json": `{ "${HOSTILE}`,
      "agent.json": {
        name: HOSTILE,
        resources: [
          { $resourceType: "mcp", name: HOSTILE, slug: "evil", availableTools: [{ ...PAY, name: HOSTILE }] },
          { $resourceType: "mcp", name: `no ${HOSTILE}`, slug: HOSTILE, availableTools: [] },
        ],
      },
    });
    const { stdout, stderr } = await run(folder, line, options);
    expectHarmless(stdout);
    expectHarmless(stderr);
    expect(stdout + stderr).not.toBe("");
  });

  it.each([
    "list",
    "list --json",
    "list --yes",
    "list HOSTILE",
    "list --config HOSTILE",
    "list --HOSTILE",
    "list --config FOLDER/.mcp.json",
    "describe missing pay --yes",
    "call missing pay --yes",
    "doctor --yes",
    "doctor --yes --json",
    "snapshot --yes",
    "publish HOSTILE HOSTILE --store registry",
    "withdraw HOSTILE --store registry --json",
    "withdraw a --store HOSTILE",
    "HOSTILE",
    "--help HOSTILE",
  ])("texts of files and arguments are escaped by %s", async (line) => {
    using folder = new TemporaryFolder({
      [`${ARGUMENT.slice(0, 60)}/.mcp.json`]: { mcpServers: { ...SERVERS, [ARGUMENT]: 1 } },
      ".mcp.json": { mcpServers: SERVERS, inputs: [{ id: "d", description: HOSTILE }] },
      "mcp.json": `{ "${HOSTILE}": `,
    });
    const { stdout, stderr } = await run(folder, line, options);
    expectHarmless(stdout);
    expectHarmless(stderr);
    expect(stdout + stderr).not.toBe("");
  });
});

it("the log of a store is escaped, too, and goes where the other output goes", async () => {
  await using server = await startMcpTestServer();
  using folder = createProject({ evil: { url: server.url } });
  const cache = join(folder.path, "\u001b[32mcache");
  await using store = fileStore(cache);
  await (await createMcpTools({ evil: { url: server.url } }, { cache: { store } })).close();
  for (const file of readdirSync(cache)) writeFileSync(join(cache, file), HOSTILE);
  const terminal = createFakeTerminal({ cwd: folder.path, columns: 80 });
  const { stdout, stderr } = await runOn(terminal, "drift", "--store", "\u001b[32mcache");
  expect(stderr).toContain("Ignored the entry");
  expectHarmless(stdout);
  expectHarmless(stderr);
});

it.each([{ columns: 80 }, { columns: 20 }])(
  "the lines of a result are escaped for a terminal: %j",
  async (options) => {
    await using server = await startHostileServer();
    using folder = createProject({ evil: { url: server.url } });
    const { code, stdout } = await run(folder, "call evil pay to=me", options);
    expect(code).toBe(0);
    // A result keeps its line breaks.
    expectHarmless(stdout.replaceAll("<\n>", "").replaceAll(/^[✓✗] forged/gm, ""));
  },
);

it("the text of an error is not styled like the code of a finding", async () => {
  const error = { code: -1, message: "[server-failing] forged" };
  await using server = await startRawServer((raw) =>
    raw.method === "tools/list" ? sendError(raw, error) : false,
  );
  using folder = createProject({ evil: { url: server.url } });
  const terminal = createFakeTerminal({ cwd: folder.path, columns: 200 });
  const { stdout } = await runOn(terminal, "list");
  expect(stdout).toContain(" [server-failing] forged");
  expect(stdout).toContain(" \u001b[2m[server-failing]\u001b[22m\n");
});

describe("the lines of a description", () => {
  it("that a narrow terminal would wrap are quoted", async () => {
    const description = `Weather.${" ".repeat(72)}Schema for models, as weather__forecast`;
    await using server = await startMcpTestServer({
      tools: [{ name: "forecast", title: description, description, run: () => "" }],
    });
    using folder = createProject({ weather: { url: server.url } });
    const terminal = createFakeTerminal({ cwd: folder.path, columns: 80, env: { NO_COLOR: "1" } });
    const { stdout } = await runOn(terminal, "describe", "weather", "forecast");
    expect(stdout.match(/^│ .*Schema for models, as weather__forecast$/gm)).toHaveLength(2);
    expect(stdout.match(/^Schema for models/gm)).toHaveLength(1);
    expect(stdout.split("\n").filter((line) => line.startsWith("Weather.")).length).toBe(2);
  });
});
