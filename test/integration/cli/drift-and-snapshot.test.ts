import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent } from "../../../src/index.js";
import { fileStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { cli, createProject } from "../../fixtures/fake-terminal.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const object = (properties: object, required: readonly string[] = []) => ({
  type: "object",
  properties,
  required,
});
const city = { city: { type: "string" } };
const FORECAST = {
  name: "forecast",
  description: "The weather of a city. See https://example.com/?q=weather.",
  inputSchema: object(city, ["city"]),
  outputSchema: object({ rain: { type: "boolean" } }),
  run: ({ city: where }: Record<string, unknown>) => ({
    content: [{ type: "text", text: `${String(where)}: rain` }],
    structuredContent: { rain: true },
  }),
};
const TIDES = { name: "tides", description: "The sea.", inputSchema: object({}), run: () => "high" };

describe("snapshot", () => {
  it("writes an agent definition that works with createMcpToolsFromAgent", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, TIDES] });
    using folder = createProject({
      weather: { url: server.url, headers: { "x-api-key": "canary7f3a91secret" } },
    });
    const { code, stdout } = await cli(folder, "snapshot", "-o", "agent.json");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ weather .*\n✓ agent\.json\n$/)]);
    const agent = readFileSync(join(folder.path, "agent.json"), "utf8");
    expect(agent).not.toContain("canary");
    expect(agent).not.toContain(server.url);
    const requestsBefore = server.requests.length;
    await using mcp = await createMcpToolsFromAgent(agent, { servers: { weather: { url: server.url } } });
    expect(server.requests.length).toBe(requestsBefore);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["forecast", "tides"]);
    expect(await mcp.tools[0]?.invoke({ city: "Oslo" })).toBe("Oslo: rain");
    expect(await mcp.detectDrift()).toMatchObject({ weather: { state: "same" } });
  });

  it("without --output it is printed to stdout, also as JSON document with --json", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url } });
    const { stdout } = await cli(folder, "snapshot");
    const { resources } = JSON.parse(stdout) as { readonly resources: readonly unknown[] };
    expect(resources).toEqual([
      {
        $resourceType: "mcp",
        name: "sea",
        slug: "sea",
        isEnabled: true,
        availableTools: [{ name: "tides", description: "The sea.", inputSchema: TIDES.inputSchema }],
        toolsConfiguration: { discoveryMode: { type: "cached", refreshSchemaBeforeCall: true } },
      },
    ]);
    const json = JSON.parse((await cli(folder, "snapshot", "--json")).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({
      command: "snapshot",
      ok: true,
      exitCode: 0,
      agent: { resources },
      findings: [],
    });
  });

  it("overwrites a file only with --force, and leaves out a server that fails", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url }, stopped: { url: "http://127.0.0.1:1/mcp" } });
    const file = join(folder.path, "agent.json");
    writeFileSync(file, "existing");
    const rejected = await cli(folder, "snapshot", "sea", "-o", "agent.json");
    expect([rejected.code, rejected.stderr]).toEqual([
      2,
      expect.stringContaining("agent.json already exists"),
    ]);
    const partial = await cli(folder, "snapshot", "-o", "agent.json", "--force");
    expect(partial).toMatchObject({ code: 1, stdout: "" });
    expect(partial.stderr).toContain("[connection-refused]");
    expect(partial.stderr).toContain("! agent.json was written without stopped.");
    const { resources } = JSON.parse(readFileSync(file, "utf8")) as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).toEqual(["sea"]);
  });

  it("without --output prints the servers that work, and reports the others on stderr", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url }, stopped: { url: "http://127.0.0.1:1/mcp" } });
    const { code, stdout, stderr } = await cli(folder, "snapshot");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ resources: [{ name: "sea" }] });
    expect(stderr).toContain("The agent definition was written without stopped.");
    const json = await cli(folder, "snapshot", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, agent: { resources: [{ name: "sea" }] } });
  });

  it("names every server that is left out, and the files that cannot be read", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = new TemporaryFolder({
      ".mcp.json": {
        mcpServers: {
          sea: { url: server.url },
          invalid: { url: "ftp://x" },
          unset: { url: "${NOT_SET_HERE}" },
          declined: { command: "true" },
          stopped: { url: "http://127.0.0.1:1/mcp" },
        },
      },
      ".cursor/mcp.json": "{",
    });
    const { code, stderr } = await cli(folder, "snapshot", "-o", "agent.json");
    expect([code, stderr.trimEnd().split("\n").at(-1)]).toEqual([
      1,
      "! agent.json was written without invalid, unset, declined, stopped, the servers of .cursor/mcp.json.",
    ]);
  });

  it("a server without a name on the command line is named in a hint", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({});
    const hint = '· The server is named "server". To choose its name, use --name weather.\n';
    const written = await cli(folder, "snapshot", "--url", server.url, "-o", "agent.json");
    expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining(`✓ agent.json\n${hint}`) });
    const printed = await cli(folder, "snapshot", "--url", server.url);
    expect(printed).toMatchObject({ code: 0, stderr: hint });
    expect(JSON.parse(printed.stdout)).toMatchObject({ resources: [{ name: "server" }] });
    const named = await cli(folder, "snapshot", "--url", server.url, "--name", "sea");
    expect(named).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining('"name": "sea"') });
    expect(await cli(folder, "snapshot", "--url", server.url, "--json")).toMatchObject({ stderr: "" });
  });

  it("writes nothing if all servers fail", async () => {
    using folder = createProject({ stopped: { url: "http://127.0.0.1:1/mcp" } });
    const file = join(folder.path, "agent.json");
    writeFileSync(file, "existing");
    expect((await cli(folder, "snapshot", "-o", "agent.json", "--force")).code).toBe(1);
    expect(readFileSync(file, "utf8")).toBe("existing");
  });
});

describe("drift", () => {
  it("exits with 0 if nothing changed, and with 3 and a list of changes otherwise", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, TIDES] });
    using folder = createProject({ weather: { url: server.url }, other: { url: "${NOT_SET_HERE}" } });
    await cli(folder, "snapshot", "weather", "-o", "agent.json");
    expect(await cli(folder, "drift", "agent.json")).toEqual({
      code: 0,
      stdout: "✓ weather  unchanged (2 tools)\n",
      stderr: "",
    });
    const days = { ...city, days: { type: "integer" } };
    server.tools = [
      { ...FORECAST, description: "Another description.", inputSchema: object(days, ["city", "days"]) },
      { name: "moon", run: () => "" },
    ];
    const { code, stdout } = await cli(folder, "drift", "agent.json");
    expect([code, stdout]).toEqual([
      3,
      [
        "✗ weather  changed; calls may fail",
        "    - tides",
        "    + moon",
        "    ~ forecast (breaking): days is now required, changed description",
        "",
      ].join("\n"),
    ]);
    const json = JSON.parse((await cli(folder, "drift", "agent.json", "--json")).stdout) as unknown;
    expect(json).toEqual({
      command: "drift",
      ok: false,
      exitCode: 3,
      servers: [
        {
          name: "weather",
          state: "changed",
          added: ["moon"],
          removed: ["tides"],
          changed: [
            {
              tool: "forecast",
              change: "breaking",
              parameters: [{ parameter: "days", what: "required" }],
              isDescriptionChanged: true,
              annotations: [],
            },
          ],
        },
      ],
      findings: [],
    });
  });

  it("an unreachable server is not compared: exit code 1", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url } });
    await cli(folder, "snapshot", "-o", "agent.json");
    await server.stop();
    const { code, stdout } = await cli(folder, "drift", "agent.json");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ sea {2}.*not compared\n.*\[connection-refused\]/);
    const url = await cli(
      undefined,
      "drift",
      join(folder.path, "agent.json"),
      "--url",
      "http://127.0.0.1:1/",
    );
    expect([url.code, url.stdout]).toEqual([1, expect.stringContaining("✗ sea")]);
  });

  it("--store compares with the tool lists of a file store without changing them", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url }, other: { url: `${server.url}?other` } });
    await using store = fileStore(join(folder.path, "cache"));
    await (await createMcpTools({ sea: { url: server.url } }, { cache: { store } })).close();
    const same = await cli(folder, "drift", "--store", "cache");
    expect([same.code, same.stdout]).toEqual([1, expect.stringContaining("✓ sea    unchanged (1 tool)\n")]);
    expect(same.stdout).toMatch(/✗ other {2}not compared\n {4}✗ .* \[nothing-saved\]/);
    server.tools = [FORECAST];
    for (const _ of ["first run", "second run"]) {
      const changed = await cli(folder, "drift", "--store", "cache");
      expect([changed.code, changed.stdout]).toEqual([
        3,
        expect.stringContaining("    - tides\n    + forecast\n"),
      ]);
    }
  });

  it.each([
    [["drift"], "exactly one baseline"],
    [["drift", "none.json"], "none.json cannot be read"],
    [["drift", ".mcp.json"], "no saved tools"],
    [["drift", "a.json", "--store", "b"], "exactly one baseline"],
  ])("rejects %j", async (args, message) => {
    using folder = createProject({ sea: { url: "http://127.0.0.1:1/mcp" } });
    const { code, stderr } = await cli(folder, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it.each([
    [["drift"], "exactly one baseline"],
    [["drift", "none.json"], "none.json cannot be read"],
  ])("rejects %j also in a folder without config files", async (args, message) => {
    using folder = new TemporaryFolder({});
    const { code, stderr } = await cli(folder, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("a resource without a configured server is reported", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = createProject({ sea: { url: server.url } });
    await cli(folder, "snapshot", "-o", "agent.json");
    using elsewhere = createProject({ land: { url: server.url } });
    const { code, stdout } = await cli(elsewhere, "drift", join(folder.path, "agent.json"), "--json");
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      { findings: [{ code: "config-missing", server: "sea", hint: expect.stringContaining('"sea"') }] },
    ]);
  });
});
