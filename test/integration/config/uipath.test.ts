import { inspect } from "node:util";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createMcpToolsFromAgent, type McpRuntimeError } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { type UipathOptions, uipathServers } from "../../../src/uipath/index.js";
import { eventually, rejection, times } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { disposeWith } from "../../fixtures/dispose-with.js";
import { readPemFile } from "../../fixtures/read-pem-file.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";
import { startTlsProxy } from "../../fixtures/tls-proxy.js";
import { sendJson, startFakeUipath } from "../../fixtures/fake-uipath.js";

const TOKEN = "canary7f3a91token";
const resource = { name: "travel", slug: "travel-server", folderPath: "Shared/Travel" };
const agent = (own: object = {}) => ({
  resources: [
    {
      $resourceType: "mcp",
      ...resource,
      availableTools: [
        { name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } } } },
      ],
      ...own,
    },
  ],
});

async function start() {
  const mcp = await startMcpTestServer();
  const platform = await startFakeUipath({ token: TOKEN, mcp: mcp.url });
  platform.folders.set("Shared/Travel", "folder-7");
  platform.servers.set("folder-7/travel-server", `${platform.url}/mcp`);
  return disposeWith({ mcp, platform }, platform, mcp);
}

/** Looks up a server as a toolset does, and collects the warnings. */
async function lookUp(options: UipathOptions, own: object = {}) {
  const warnings: string[] = [];
  const context = { signal: new AbortController().signal, warn: (message: string) => warnings.push(message) };
  return { definition: await uipathServers(options)({ ...resource, ...own }, context), warnings };
}

const VARIABLES = [
  "UIPATH_URL",
  "UIPATH_ACCESS_TOKEN",
  "UNATTENDED_USER_ACCESS_TOKEN",
  "UIPATH_FOLDER_PATH",
  "UIPATH_FOLDER_KEY",
];
beforeEach(() => {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
});

describe("servers of an agent on UiPath", () => {
  it("are looked up by folder and slug on the first call, not before", async () => {
    await using env = await start();
    vi.stubEnv("UIPATH_URL", env.platform.url);
    vi.stubEnv("UIPATH_ACCESS_TOKEN", TOKEN);
    await using toolset = await createMcpToolsFromAgent(agent(), { servers: uipathServers() });
    expect(env.platform.requests).toEqual([]);
    const [tool] = toolset.tools;
    expect(await tool?.invoke({ text: "hi" })).toBe("hi");
    expect(await tool?.invoke({ text: "again" })).toBe("again");
    const [folders, server, ...others] = env.platform.requests;
    expect(others).toEqual([]);
    expect(folders).toMatchObject({ path: "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser" });
    expect(Object.fromEntries(folders?.query ?? [])).toEqual({ searchText: "Travel", skip: "0", take: "20" });
    expect(server).toMatchObject({
      path: "agenthub_/api/servers/travel-server",
      headers: { "x-uipath-folderkey": "folder-7", authorization: `Bearer ${TOKEN}` },
    });
    expect(env.mcp.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it("may be in a folder on a later page, after other folders with the same name", async () => {
    await using env = await start();
    env.platform.folders.clear();
    for (const n of times(45, String)) env.platform.folders.set(`Team ${n}/Travel`, `folder-of-${n}`);
    env.platform.folders.set("Shared/Travel", "folder-7");
    const { definition } = await lookUp({ url: `${env.platform.url}/`, token: TOKEN });
    expect(String(definition.url)).toBe(`${env.platform.url}/mcp`);
    expect(env.platform.requests.map(({ query }) => query.get("skip"))).toEqual(["0", "20", "40", null]);
  });

  it("may have names that need URL encoding", async () => {
    await using env = await start();
    env.platform.folders.set("Größe & Co/a b", "folder-8");
    env.platform.servers.set("folder-8/a/b ?", `${env.platform.url}/mcp`);
    const own = { folderPath: "Größe & Co/a b", slug: "a/b ?" };
    const { definition } = await lookUp({ url: env.platform.url, token: TOKEN }, own);
    expect(String(definition.url)).toBe(`${env.platform.url}/mcp`);
  });

  it("default to the folder of the option, then of the environment", async () => {
    await using env = await start();
    const options = { url: env.platform.url, token: TOKEN };
    vi.stubEnv("UIPATH_FOLDER_PATH", "Shared/Travel");
    expect((await lookUp(options, { folderPath: undefined })).definition.url).toBeDefined();
    vi.stubEnv("UIPATH_FOLDER_PATH", "Elsewhere");
    const given = { ...options, folderPath: "Shared/Travel" };
    expect((await lookUp(given, { folderPath: undefined })).definition.url).toBeDefined();
  });

  it.each([
    [
      "by name in the folder that the agent runs in, before the folder of the resource",
      { UIPATH_FOLDER_PATH: "Tenants/Acme" },
      { "folder-9/travel": "/mcp?by-name", "folder-7/travel-server": "/mcp?by-slug" },
      "/mcp?by-name",
      ["Acme", "travel in folder-9"],
    ],
    [
      "by the folder and the slug of the resource, if the folder that the agent runs in has no such name",
      { UIPATH_FOLDER_PATH: "Tenants/Acme" },
      { "folder-9/travel-server": "/mcp?other", "folder-7/travel-server": "/mcp?by-slug" },
      "/mcp?by-slug",
      ["Acme", "travel in folder-9", "Travel", "travel-server in folder-7"],
    ],
    [
      "by the folder and the slug of the resource, if the folder that the agent runs in is not visible",
      { UIPATH_FOLDER_PATH: "Tenants/Hidden" },
      { "folder-7/travel-server": "/mcp?by-slug" },
      "/mcp?by-slug",
      ["Hidden", "Travel", "travel-server in folder-7"],
    ],
    [
      "by name and then by slug, if both folders are the same, which is looked up once",
      { UIPATH_FOLDER_PATH: "Shared/Travel" },
      { "folder-7/travel-server": "/mcp?by-slug" },
      "/mcp?by-slug",
      ["Travel", "travel in folder-7", "travel-server in folder-7"],
    ],
    [
      "in the folder with the key of the environment, if it has no path",
      { UIPATH_FOLDER_KEY: "folder-9" },
      { "folder-9/travel": "/mcp?by-name" },
      "/mcp?by-name",
      ["travel in folder-9"],
    ],
  ])("are looked up %s", async (_, variables, servers, expected, requests) => {
    await using env = await start();
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    env.platform.folders.set("Tenants/Acme", "folder-9");
    env.platform.servers.clear();
    for (const [key, path] of Object.entries(servers)) env.platform.servers.set(key, env.platform.url + path);
    const { definition } = await lookUp({ url: env.platform.url, token: TOKEN });
    expect(String(definition.url)).toBe(env.platform.url + expected);
    expect(
      env.platform.requests.map(
        ({ path, query, headers }) =>
          query.get("searchText") ?? `${path.split("/").at(-1)} in ${String(headers["x-uipath-folderkey"])}`,
      ),
    ).toEqual(requests);
  });

  it.each(["solution_folder", ""])(
    "with the folder %j are in the folder that the agent runs in",
    async (folderPath) => {
      await using env = await start();
      vi.stubEnv("UIPATH_FOLDER_PATH", "Shared/Travel");
      const { definition } = await lookUp({ url: env.platform.url, token: TOKEN }, { folderPath });
      expect(String(definition.url)).toBe(`${env.platform.url}/mcp`);
    },
  );

  it("that are in neither folder are reported with both", async () => {
    await using env = await start();
    vi.stubEnv("UIPATH_FOLDER_PATH", "Tenants/Acme");
    env.platform.folders.set("Tenants/Acme", "folder-9");
    const failure = await rejection(lookUp({ url: env.platform.url, token: TOKEN }, { slug: "other" }));
    expect(failure.message).toBe(
      'Agent resource "travel": UiPath has no MCP server "travel" in folder "Tenants/Acme", and no MCP server "other" in folder "Shared/Travel". Check the names and the permissions of the token.',
    );
  });
});

describe("the token", () => {
  it.each([
    ["that of the option", { token: TOKEN }, { UIPATH_ACCESS_TOKEN: "b", UNATTENDED_USER_ACCESS_TOKEN: "c" }],
    ["that of the unattended user", {}, { UIPATH_ACCESS_TOKEN: "b", UNATTENDED_USER_ACCESS_TOKEN: TOKEN }],
    ["UIPATH_ACCESS_TOKEN", {}, { UIPATH_ACCESS_TOKEN: TOKEN, UNATTENDED_USER_ACCESS_TOKEN: "" }],
  ])("is %s, in order of precedence", async (_, options, variables) => {
    await using env = await start();
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    vi.stubEnv("UIPATH_URL", "http://127.0.0.1:1/other/tenant");
    const { definition } = await lookUp({ url: env.platform.url, ...options });
    expect(definition.headers).toEqual({ authorization: `Bearer ${TOKEN}` });
  });

  it("is read again for each look-up, because it may have been renewed", async () => {
    await using env = await start();
    vi.stubEnv("UIPATH_ACCESS_TOKEN", "yesterday");
    const servers = uipathServers({ url: env.platform.url });
    vi.stubEnv("UIPATH_ACCESS_TOKEN", `${TOKEN}\n`);
    expect((await servers(resource)).headers).toEqual({ authorization: `Bearer ${TOKEN}` });
  });

  it("is not sent to a server at another origin, with a warning", async () => {
    await using env = await start();
    env.platform.servers.set("folder-7/travel-server", env.mcp.url);
    const logger = new RecordingLogger();
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: env.platform.url, token: TOKEN }),
      logger,
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(env.mcp.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    expect(logger.warnings).toEqual([
      `Server "travel": its URL is at ${new URL(env.mcp.url).origin}, not at the platform (${new URL(env.platform.url).origin}), so the UiPath token is not sent there.`,
    ]);
  });

  it("is not sent to the target of a redirect", async () => {
    await using env = await start();
    env.platform.responseOverrides.set("orchestrator_", (response) => {
      response.writeHead(302, { location: env.mcp.url }).end();
    });
    const failure = await rejection(lookUp({ url: env.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 302, server: "travel" });
    expect(failure.message).toContain("Redirects are not followed");
    expect(env.mcp.requests).toEqual([]);
  });
});

describe("invalid options throw immediately", () => {
  function failureFrom(options: UipathOptions): McpRuntimeError {
    try {
      uipathServers(options);
    } catch (error) {
      return error as McpRuntimeError;
    }
    return expect.unreachable();
  }

  it("a missing URL and a missing token, together", () => {
    const issues = [{ path: "url" }, { path: "token" }];
    expect(failureFrom({})).toMatchObject({ kind: "invalid-config", issues });
  });

  it("a missing URL", () => {
    vi.stubEnv("UIPATH_ACCESS_TOKEN", TOKEN);
    vi.stubEnv("UIPATH_URL", " ");
    expect(failureFrom({}).issues).toMatchObject([{ path: "url" }]);
  });

  it("a missing token", () => {
    vi.stubEnv("UIPATH_URL", "https://cloud.uipath.com/acme/production");
    expect(failureFrom({ token: "" }).issues).toMatchObject([{ path: "token" }]);
  });

  it.each([
    ["a URL with another protocol", { url: `ftp://ann:${TOKEN}@x.test`, token: TOKEN }, "url"],
    [
      "a token with a line break inside",
      { url: "https://x.test", token: `${TOKEN}\n${TOKEN}` },
      "headers.authorization",
    ],
    [
      "an invalid certificate authority",
      { url: "https://x.test", token: TOKEN, tls: { ca: TOKEN } },
      "tls.ca",
    ],
  ])("%s, without revealing it", (_, options, path) => {
    const failure = failureFrom(options);
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path }] });
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });
});

describe("errors of the platform", () => {
  it.each([
    [
      "an unknown token",
      { token: "expired" },
      {},
      { kind: "unauthorized", status: 401 },
      "in uipathServers({ token })",
    ],
    [
      "a folder that is not visible",
      {},
      { folderPath: "Shared/Other" },
      { kind: "invalid-config" },
      'no folder "Shared/Other"',
    ],
    [
      "a folder with another path",
      {},
      { folderPath: "Travel" },
      { kind: "invalid-config" },
      'no folder "Travel"',
    ],
    [
      "a missing server",
      {},
      { slug: "other" },
      { kind: "invalid-config" },
      'no MCP server "other" in folder "Shared/Travel"',
    ],
    [
      "a resource without a folder",
      {},
      { folderPath: undefined },
      { kind: "invalid-config" },
      "has no folder",
    ],
  ])("are reported: %s", async (_, options, own, expected, message) => {
    await using env = await start();
    const failure = await rejection(lookUp({ url: env.platform.url, token: TOKEN, ...options }, own));
    expect(failure).toMatchObject({ ...expected, server: "travel", outcomeUnknown: false });
    expect(failure.message).toContain(message);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });

  it.each([
    [403, {}, "unauthorized"],
    [429, { "retry-after": "7" }, "rate-limited"],
    [500, {}, "server-error"],
    [503, {}, "unavailable"],
  ])("HTTP %i is reported with its kind", async (status, headers, kind) => {
    await using env = await start();
    env.platform.responseOverrides.set("agenthub_", (response) => {
      response.writeHead(status, headers).end(JSON.stringify({ message: `no ${TOKEN}` }));
    });
    const failure = await rejection(lookUp({ url: env.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind, status, outcomeUnknown: false });
    expect(failure.retryAt === undefined).toBe(status !== 429);
    expect(failure.message).toContain("no [redacted]");
  });

  it.each([
    ["a login page", "orchestrator_", "<!doctype html>"],
    ["no folder list", "orchestrator_", JSON.stringify({ PageItems: null })],
    ["no URL", "agenthub_", JSON.stringify({ mcpUrl: null })],
    ["a URL with another protocol", "agenthub_", JSON.stringify({ mcpUrl: "file:///etc/passwd" })],
  ] as const)("%s is kind invalid-response", async (_, part, body) => {
    await using env = await start();
    env.platform.responseOverrides.set(part, (response) => response.end(body));
    const failure = await rejection(lookUp({ url: env.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind: "invalid-response" });
    expect(failure.message).toContain("including organization and tenant");
  });

  it("an unreachable platform is kind not-sent for the call", async () => {
    const env = await start();
    await env[Symbol.asyncDispose]();
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: env.platform.url, token: TOKEN }),
    });
    const failure = await rejection(toolset.callTool({ name: "echo", args: {} }));
    expect(failure).toMatchObject({ kind: "not-sent", server: "travel" });
    expect(failure.message).toContain('Server "UiPath" refused the connection');
  });

  it("a failed look-up is repeated by the next call", async () => {
    await using env = await start();
    env.platform.responseOverrides.set("agenthub_", (response) => sendJson(response, 401, {}));
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: env.platform.url, token: TOKEN }),
    });
    expect(await rejection(toolset.callTool({ name: "echo", args: {} }))).toMatchObject({
      kind: "unauthorized",
    });
    env.platform.responseOverrides.clear();
    expect((await toolset.callTool({ name: "echo", args: { text: "now" } })).text()).toBe("now");
  });
});

describe("a look-up", () => {
  it("is aborted when the toolset is closed", async () => {
    await using env = await start();
    let ended = false;
    env.platform.responseOverrides.set("orchestrator_", (response) => {
      response.once("close", () => {
        ended = true;
      });
    });
    const toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: env.platform.url, token: TOKEN }),
    });
    const call = rejection(toolset.callTool({ name: "echo", args: {} }));
    await eventually(() => env.platform.requests.length === 1);
    await toolset.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => ended);
  });

  it("uses the proxy and the private certificate authority, as later calls do", async () => {
    await using env = await start();
    await using tlsProxy = await startTlsProxy(env.platform.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": tlsProxy.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    env.platform.servers.set("folder-7/travel-server", "https://mcp.test/acme/production/mcp");
    const tls = { ca: readPemFile("authority") };
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: "https://mcp.test/acme/production", token: TOKEN, tls }),
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(env.mcp.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("uses the custom fetch, as later calls do", async () => {
    await using env = await start();
    const paths: string[] = [];
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({
        url: env.platform.url,
        token: TOKEN,
        fetch: (url, request) => {
          paths.push(new URL(url).pathname.split("/")[3] ?? "");
          return fetch(url, request);
        },
      }),
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(new Set(paths)).toEqual(new Set(["orchestrator_", "agenthub_", "mcp"]));
  });
});
