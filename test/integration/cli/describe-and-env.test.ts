import { describe, expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { startSkillServer } from "../../fixtures/skill-server.js";
import { cli, createFakeTerminal, createProject, runOn } from "../../fixtures/fake-terminal.js";

const CANARY = "canary7f3a91secret";

/** A server whose only tool is described by its environment variables and arguments. */
const PROGRAM = `
  const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method } = JSON.parse(line);
    const { REGION, API_KEY } = process.env;
    if (method === "initialize") reply(id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "e", version: "1" } });
    else if (id !== undefined) reply(id, { tools: [{ name: "where", description: "In " + REGION + ", key of " + (API_KEY ?? "").length, inputSchema: { type: "object" } }] });
  });`;
const COMMAND = ["--", process.execPath, "-e", PROGRAM];

describe("--env", () => {
  it("sets variables of the command: NAME=value, and NAME from the environment", async () => {
    const terminal = createFakeTerminal({ env: { API_KEY: CANARY } });
    const { code, stdout } = await runOn(
      terminal,
      "list",
      "--env",
      "REGION=eu=1",
      "-e",
      "API_KEY",
      ...COMMAND,
    );
    expect([code, stdout]).toEqual([0, expect.stringContaining(`In eu=1, key of ${CANARY.length}`)]);
    expect(stdout).not.toContain(CANARY);
  });

  it.each([
    [["list", "--env", "MISSING", ...COMMAND], "--env MISSING: the variable is not set."],
    [["list", "--env", `=${CANARY}`, ...COMMAND], "--env has no valid name."],
    [["list", "--env", "A=b", "--url", "http://127.0.0.1:1/mcp"], "--env requires a command after --."],
  ])("%j is a usage error", async (args, text) => {
    const { code, stderr } = await cli(undefined, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
    expect(stderr).not.toContain(CANARY);
  });
});

describe("describe", () => {
  const description = `Forecasts the weather.\n${"It has many words. ".repeat(80)}The end.`;
  const inputSchema = {
    type: "object",
    properties: { days: { oneOf: [{ type: "integer", minimum: 1 }, { type: "null" }] } },
  };
  const FORECAST = { name: "forecast", description, inputSchema, run: () => "rain" };

  it.each(["pdf-processing", "skill://pdf-processing/SKILL.md"])("prints the skill %s", async (name) => {
    await using server = await startSkillServer("SDK 2, 2026-07-28");
    using folder = createProject({ acme: { url: server.url } });
    const { code, stdout } = await cli(folder, "describe", "acme", name);
    expect(code).toBe(0);
    expect(stdout).toContain("skill pdf-processing\nskill://pdf-processing/SKILL.md\nFill PDF forms.\n");
    expect(stdout).toMatch(/Files\n(.* bytes\n){3}/);
    const { stdout: json } = await cli(folder, "describe", "acme", name, "--json");
    expect(JSON.parse(json)).toMatchObject({ server: "acme", skills: [{ name: "pdf-processing" }] });
  });

  it("prints the whole description, both schemas and the tokens", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({ weather: { url: server.url } });
    const { code, stdout } = await cli(folder, "describe", "weather", "forecast");
    expect(code).toBe(0);
    expect(stdout).toContain(description.replaceAll("\n", "\n│ "));
    expect(stdout).toContain('"oneOf"');
    expect(stdout).toContain("Schema for models, as weather__forecast");
    expect(stdout).toMatch(
      /^About \d+ tokens in the context of a model \(estimated: one token per four characters\)\.$/m,
    );
  });

  it("quotes the further lines of a description, which may look like its own", async () => {
    const tool = { ...FORECAST, description: "Weather.\n\nSchema of the server\n{}" };
    await using server = await startMcpTestServer({ tools: [tool] });
    using folder = createProject({ weather: { url: server.url } });
    const { stdout } = await cli(folder, "describe", "weather", "forecast");
    expect(stdout).toContain(
      "forecast\nWeather.\n│ \n│ Schema of the server\n│ {}\n\nSchema of the server\n{\n",
    );
  });

  it("shows the title, icons, annotations and _meta, and so does list --json, without secrets", async () => {
    const shown = {
      title: "Weather forecast",
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://icons.test/rain.png" }],
      _meta: { "test/owner": CANARY },
    };
    await using server = await startMcpTestServer({ tools: [{ ...FORECAST, ...shown }] });
    using folder = createProject({ weather: { url: server.url, headers: { authorization: CANARY } } });
    const described = await cli(folder, "describe", "weather", "forecast");
    for (const text of ["Weather forecast", "readOnlyHint", "https://icons.test/rain.png", "test/owner"])
      expect(described.stdout).toContain(text);
    const listed = await cli(folder, "list", "--json");
    const { servers } = JSON.parse(listed.stdout) as { servers: { tools: object[] }[] };
    const { _meta: _, ...others } = shown;
    expect(servers[0]?.tools[0]).toMatchObject({ ...others, _meta: { "test/owner": expect.any(String) } });
    expect(described.stdout + listed.stdout).not.toContain(CANARY);
  });

  it("--json has the tool of the server and of models", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    const { stdout } = await cli(
      undefined,
      "describe",
      "forecast",
      "--url",
      server.url,
      "--name",
      "w",
      "--json",
    );
    const { tool, model } = JSON.parse(stdout) as {
      readonly tool: object;
      readonly model: { readonly name: string; readonly tokens: number; readonly inputSchema: object };
    };
    expect(tool).toMatchObject({ name: "forecast", description, inputSchema });
    const { tokens, inputSchema: parameters, ...named } = model;
    const seen = { ...named, parameters };
    expect(seen).toMatchObject({ name: "w__forecast" });
    expect(tokens).toBe(Math.ceil(JSON.stringify(seen).length / 4));
    expect(JSON.stringify(seen)).not.toContain("oneOf");
    expect(JSON.stringify(seen)).toContain("The end.");
  });

  it.each([
    [["describe"], "Missing <server> and <tool>."],
    [["describe", "weather", "forcast"], "Did you mean forecast?"],
    [["describe", "weather", "forecast", "city=Oslo"], "describe takes no arguments of a tool."],
  ])("%j is a usage error", async (args, text) => {
    await using server = await startMcpTestServer({ tools: [FORECAST] });
    using folder = createProject({ weather: { url: server.url } });
    const { code, stderr } = await cli(folder, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  });
});

describe("positional credentials", () => {
  it.each([
    ["ghp_abcdefghijklmnopqrst123456", "ghp_abcdefghijklmnopqrst123456"],
    ["sk-proj-abcdefghijklmnop1234", "sk-proj-abcdefghijklmnop1234"],
    ["xoxb-1234567890-abcdef", "xoxb-1234567890-abcdef"],
    ["AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0x.c2lnbmF0dXJl", "c2lnbmF0dXJl"],
    [`GITHUB_TOKEN=${CANARY}`, CANARY],
    [`postgres://user:${CANARY}@localhost/db`, CANARY],
  ])("doctor masks %s in the address and in what the command prints", async (argument, secret) => {
    const code = `console.error("failed with " + process.argv.slice(1).join(" ")); process.exit(1)`;
    for (const format of [[], ["--json"]]) {
      const { stdout } = await cli(
        undefined,
        "doctor",
        ...format,
        "--",
        process.execPath,
        "-e",
        code,
        argument,
      );
      expect(stdout).toContain("failed with");
      expect(stdout).not.toContain(secret);
    }
  });

  it("ordinary arguments are shown", async () => {
    const args = ["-e", "process.exit(1)", "/srv/files", "sk-short", "MODE=fast"];
    const { stdout } = await cli(undefined, "doctor", "--json", "--", process.execPath, ...args);
    expect(stdout).toContain("/srv/files sk-short MODE=fast");
  });
});
