import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMcpTools, createMcpToolsFromAgent } from "../../../src/index.js";
import { fileStore } from "../../../src/stores/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { cli, projectWith } from "../../fixtures/fake-terminal.js";

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
  it("writes an agent that createMcpToolsFromAgent takes as it is, and whose tools work", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, TIDES] });
    using folder = projectWith({
      weather: { url: server.url, headers: { "x-api-key": "canary7f3a91secret" } },
    });
    const { code, stdout } = await cli(folder, "snapshot", "-o", "agent.json");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^✓ weather .*\n✓ agent\.json\n$/)]);
    const agent = readFileSync(join(folder.path, "agent.json"), "utf8");
    expect(agent).not.toContain("canary");
    expect(agent).not.toContain(server.url);
    const asked = server.requests.length;
    await using mcp = await createMcpToolsFromAgent(agent, { servers: { weather: { url: server.url } } });
    expect(server.requests.length).toBe(asked);
    expect(mcp.tools.map(({ name }) => name)).toEqual(["forecast", "tides"]);
    expect(await mcp.tools[0]?.invoke({ city: "Oslo" })).toBe("Oslo: rain");
    expect(await mcp.detectDrift()).toMatchObject({ weather: { state: "same" } });
  });

  it("goes to stdout without a file, and with its servers to programs", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = projectWith({ sea: { url: server.url } });
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

  it("writes over nothing without --force, and nothing at all when a server is missing", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = projectWith({ sea: { url: server.url }, gone: { url: "http://127.0.0.1:1/mcp" } });
    const file = join(folder.path, "agent.json");
    writeFileSync(file, "mine");
    const refused = await cli(folder, "snapshot", "sea", "-o", "agent.json");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("agent.json is there already."),
    ]);
    const failed = await cli(folder, "snapshot", "-o", "agent.json", "--force");
    expect([failed.code, failed.stdout, failed.stderr]).toEqual([
      1,
      "",
      expect.stringContaining("[connection-refused]"),
    ]);
    expect(readFileSync(file, "utf8")).toBe("mine");
    expect((await cli(folder, "snapshot", "sea", "-o", "agent.json", "--force")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("tides");
  });
});

describe("drift", () => {
  it("is exit code 0 where nothing changed, 3 where something did, and tells what", async () => {
    await using server = await startMcpTestServer({ tools: [FORECAST, TIDES] });
    using folder = projectWith({ weather: { url: server.url }, other: { url: "${NOT_SET_HERE}" } });
    await cli(folder, "snapshot", "weather", "-o", "agent.json");
    expect(await cli(folder, "drift", "agent.json")).toEqual({
      code: 0,
      stdout: "✓ weather  as it was, 2 tools\n",
      stderr: "",
    });
    const days = { ...city, days: { type: "integer" } };
    server.tools = [
      { ...FORECAST, description: "Other words.", inputSchema: object(days, ["city", "days"]) },
      { name: "moon", run: () => "" },
    ];
    const { code, stdout } = await cli(folder, "drift", "agent.json");
    expect([code, stdout]).toEqual([
      3,
      [
        "✗ weather  changed; calls may fail",
        "    - tides",
        "    + moon",
        "    ~ forecast (breaking): days is required now, another description",
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

  it("knows nothing of a server that is not reached: exit code 1", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = projectWith({ sea: { url: server.url } });
    await cli(folder, "snapshot", "-o", "agent.json");
    await server.stop();
    const { code, stdout } = await cli(folder, "drift", "agent.json");
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ sea {2}not reached, nobody can tell\n.*\[connection-refused\]/);
    const url = await cli(
      undefined,
      "drift",
      join(folder.path, "agent.json"),
      "--url",
      "http://127.0.0.1:1/",
    );
    expect([url.code, url.stdout]).toEqual([1, expect.stringContaining("✗ sea")]);
  });

  it("compares with the lists that a program left in a file store, and leaves them as they are", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = projectWith({ sea: { url: server.url }, other: { url: `${server.url}?other` } });
    await using store = fileStore(join(folder.path, "cache"));
    await (await createMcpTools({ sea: { url: server.url } }, { cache: { store } })).close();
    const same = await cli(folder, "drift", "--store", "cache");
    expect([same.code, same.stdout]).toEqual([1, expect.stringContaining("✓ sea    as it was, 1 tool\n")]);
    expect(same.stdout).toContain(
      "✗ other  not compared\n    ✗ The store has no list of its tools. [nothing-saved]",
    );
    server.tools = [FORECAST];
    for (const _ of ["once", "and again"]) {
      const changed = await cli(folder, "drift", "--store", "cache");
      expect([changed.code, changed.stdout]).toEqual([
        3,
        expect.stringContaining("    - tides\n    + forecast\n"),
      ]);
    }
  });

  it.each([
    [["drift"], "drift compares with one thing."],
    [["drift", "none.json"], "none.json cannot be read:"],
    [["drift", ".mcp.json"], ".mcp.json has no tools that were saved."],
    [["drift", "a.json", "--store", "b"], "drift compares with one thing."],
  ])("%j is told to be wrong", async (args, text) => {
    using folder = projectWith({ sea: { url: "http://127.0.0.1:1/mcp" } });
    const { code, stderr } = await cli(folder, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  });

  it("asks for the address of a server that nobody has configured", async () => {
    await using server = await startMcpTestServer({ tools: [TIDES] });
    using folder = projectWith({ sea: { url: server.url } });
    await cli(folder, "snapshot", "-o", "agent.json");
    using elsewhere = projectWith({ land: { url: server.url } });
    const { code, stdout } = await cli(elsewhere, "drift", join(folder.path, "agent.json"));
    expect([code, stdout]).toEqual([
      1,
      expect.stringContaining("Nothing says where its server is. [config-missing]"),
    ]);
  });
});
