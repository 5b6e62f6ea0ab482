import { describe, expect, it } from "vitest";
import { createMcpTools } from "../../../src/index.js";
import { startMcpTestServer, type TestTool } from "../../../src/testing/index.js";
import { cli, createProject } from "../../fixtures/fake-terminal.js";
import { ERAS, startEraServer } from "../../fixtures/era-server.js";
import { invokeTool } from "../../fixtures/toolsets.js";

const MIME_TYPE = "text/html;profile=mcp-app";
const HTML = "<!doctype html><html><body>\u200b<p>7\u00a0°C</p><script>start()</script></body></html>";
const UI = { csp: { connectDomains: ["https://api.weather.test"] }, prefersBorder: true };
const EXTENSIONS = { "io.modelcontextprotocol/ui": { mimeTypes: [MIME_TYPE] } };
const TEMPLATE = {
  uri: "ui://weather/forecast",
  mimeType: MIME_TYPE,
  read: () => [{ uri: "ui://weather/forecast", mimeType: MIME_TYPE, text: HTML, _meta: { ui: UI } }],
};

function createTool(name: string, more: Partial<TestTool> = {}): TestTool {
  const result = { content: [{ type: "text", text: "7 °C" }], structuredContent: { celsius: 7 } };
  return { name, run: () => ({ ...result, _meta: { "weather/station": 18_700 } }), ...more };
}

const FORECAST = createTool("forecast", {
  _meta: { ui: { resourceUri: "ui://weather/forecast", visibility: ["model", "app"] } },
});
const REFRESH = createTool("refresh", {
  _meta: { ui: { resourceUri: "ui://weather/forecast", visibility: ["app"] } },
});

describe.each(ERAS)("MCP Apps, %s server", (era) => {
  it("the artifact names the page of the tool, and the page is read unchanged", async () => {
    await using server = await startEraServer(era, { tools: [FORECAST], resources: [TEMPLATE] });
    await using mcp = await createMcpTools({ weather: { url: server.url } });
    const message = await invokeTool(mcp.tools[0], {});
    expect(message.content).toBe("7 °C");
    expect(message.artifact).toEqual({
      content: [{ type: "text", text: "7 °C" }],
      structuredContent: { celsius: 7 },
      meta: expect.objectContaining({ "weather/station": 18_700 }),
      isError: false,
      ui: { resourceUri: "ui://weather/forecast", visibility: ["model", "app"] },
    });
    const [page] = await mcp.clients.weather.readResource("ui://weather/forecast");
    expect(page).toEqual({
      uri: "ui://weather/forecast",
      mimeType: MIME_TYPE,
      text: HTML,
      meta: { ui: UI },
    });
  });

  it.each(["text", "blob"] as const)(
    "an embedded page (%s) is in the artifact, not in the content",
    async (field) => {
      const body = field === "text" ? HTML : Buffer.from(HTML).toString("base64");
      const resource = { uri: "ui://weather/7", mimeType: MIME_TYPE, [field]: body, _meta: { ui: UI } };
      const content = [
        { type: "text", text: "7 °C" },
        { type: "resource", resource },
      ];
      await using server = await startEraServer(era, {
        tools: [createTool("forecast", { run: () => ({ content }) })],
      });
      await using mcp = await createMcpTools({ weather: { url: server.url } });
      const message = await invokeTool(mcp.tools[0], {});
      expect(message.artifact).toMatchObject({ content });
      expect(message.content).toEqual([
        { type: "text", text: "7 °C" },
        { type: "text", text: `Resource (${MIME_TYPE}): ui://weather/7` },
      ]);
    },
  );

  it("a tool for pages only is not offered to models, and the application can call it", async () => {
    await using server = await startEraServer(era, { tools: [FORECAST, REFRESH] });
    await using mcp = await createMcpTools({ weather: { url: server.url } });
    expect(mcp.tools.map(({ name }) => name)).toEqual(["weather__forecast"]);
    expect((await mcp.toolsFor({})).map(({ name }) => name)).toEqual(["weather__forecast"]);
    expect((await mcp.clients.weather.callTool({ name: "refresh" })).text()).toBe("7 °C");
  });

  it("the server receives the extensions of the application", async () => {
    await using server = await startEraServer(era);
    await using mcp = await createMcpTools({ weather: { url: server.url, extensions: EXTENSIONS } });
    await mcp.clients.weather.listTools();
    const bodies = server.requests.map(({ body }) => JSON.stringify(body ?? {}));
    const declared = bodies.filter((body) => body.includes(JSON.stringify(EXTENSIONS).slice(1, -1)));
    expect(declared.length).toBeGreaterThan(0);
  });
});

it("the page of the form before 2026-01-26 is found", async () => {
  const _meta = { "ui/resourceUri": "ui://weather/old" };
  await using server = await startMcpTestServer({ tools: [createTool("forecast", { _meta })] });
  await using mcp = await createMcpTools({ weather: { url: server.url } });
  const { artifact } = await invokeTool(mcp.tools[0], {});
  expect(artifact).toMatchObject({ ui: { resourceUri: "ui://weather/old" } });
});

it("a tool for pages only is neither in a snapshot nor a drift", async () => {
  await using server = await startMcpTestServer({ tools: [FORECAST, REFRESH] });
  using folder = createProject({ weather: { url: server.url } });
  const { stdout } = await cli(folder, "snapshot", "-o", "agent.json");
  expect(stdout).toContain("agent.json");
  const drift = await cli(folder, "drift", "agent.json", "--json");
  expect(JSON.parse(drift.stdout)).toMatchObject({ ok: true, exitCode: 0 });
  const snapshot = await cli(folder, "snapshot", "--json");
  expect(snapshot.stdout).toContain('"forecast"');
  expect(snapshot.stdout).not.toContain('"refresh"');
});

it.each([
  [{ ui: true }, "extensions.ui"],
  ["ui", "extensions"],
])("extensions %j are invalid", async (extensions, path) => {
  const definition = { url: "http://127.0.0.1:1/mcp", extensions } as never;
  await expect(createMcpTools({ weather: definition })).rejects.toMatchObject({
    kind: "invalid-config",
    message: expect.stringContaining(path),
  });
});
