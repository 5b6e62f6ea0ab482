import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createMcpToolsFromAgent, type McpRuntimeError } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { type UipathOptions, uipathServers } from "../../../src/uipath/index.js";
import { eventually, failureOf, times } from "../../fixtures/clients.js";
import { startConnectProxy } from "../../fixtures/connect-proxy.js";
import { pemFile } from "../../fixtures/pem-file.js";
import { startTlsFront } from "../../fixtures/tls-proxy.js";
import { json, startUipathStandIn } from "../../fixtures/fake-uipath.js";

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
  const platform = await startUipathStandIn({ token: TOKEN, mcp: mcp.url });
  platform.folders.set("Shared/Travel", "folder-7");
  platform.servers.set("folder-7/travel-server", `${platform.url}/mcp`);
  return {
    mcp,
    platform,
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await mcp.close();
    },
  };
}

/** A look-up as a toolset makes it, and what it warned of. */
async function lookUp(options: UipathOptions, own: object = {}) {
  const warnings: string[] = [];
  const context = { signal: new AbortController().signal, warn: (message: string) => warnings.push(message) };
  return { definition: await uipathServers(options)({ ...resource, ...own }, context), warnings };
}

const VARIABLES = ["UIPATH_URL", "UIPATH_ACCESS_TOKEN", "UNATTENDED_USER_ACCESS_TOKEN", "UIPATH_FOLDER_PATH"];
beforeEach(() => {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("the servers of an agent on UiPath", () => {
  it("are found by folder and slug on the first call, and not before", async () => {
    await using world = await start();
    vi.stubEnv("UIPATH_URL", world.platform.url);
    vi.stubEnv("UIPATH_ACCESS_TOKEN", TOKEN);
    await using toolset = await createMcpToolsFromAgent(agent(), { servers: uipathServers() });
    expect(world.platform.asked).toEqual([]);
    const [tool] = toolset.tools;
    expect(await tool?.invoke({ text: "hi" })).toBe("hi");
    expect(await tool?.invoke({ text: "again" })).toBe("again");
    const [folders, server, ...others] = world.platform.asked;
    expect(others).toEqual([]);
    expect(folders).toMatchObject({ path: "orchestrator_/api/FoldersNavigation/GetFoldersForCurrentUser" });
    expect(Object.fromEntries(folders?.query ?? [])).toEqual({ searchText: "Travel", skip: "0", take: "20" });
    expect(server).toMatchObject({
      path: "agenthub_/api/servers/travel-server",
      headers: { "x-uipath-folderkey": "folder-7", authorization: `Bearer ${TOKEN}` },
    });
    expect(world.mcp.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  it("may be in a folder far down the list, below others of its name", async () => {
    await using world = await start();
    world.platform.folders.clear();
    for (const n of times(45, String)) world.platform.folders.set(`Team ${n}/Travel`, `folder-of-${n}`);
    world.platform.folders.set("Shared/Travel", "folder-7");
    const { definition } = await lookUp({ url: `${world.platform.url}/`, token: TOKEN });
    expect(String(definition.url)).toBe(`${world.platform.url}/mcp`);
    expect(world.platform.asked.map(({ query }) => query.get("skip"))).toEqual(["0", "20", "40", null]);
  });

  it("may have names that an address has to escape", async () => {
    await using world = await start();
    world.platform.folders.set("Größe & Co/a b", "folder-8");
    world.platform.servers.set("folder-8/a/b ?", `${world.platform.url}/mcp`);
    const own = { folderPath: "Größe & Co/a b", slug: "a/b ?" };
    const { definition } = await lookUp({ url: world.platform.url, token: TOKEN }, own);
    expect(String(definition.url)).toBe(`${world.platform.url}/mcp`);
  });

  it("are in the folder of the environment or the option when they name none", async () => {
    await using world = await start();
    const options = { url: world.platform.url, token: TOKEN };
    vi.stubEnv("UIPATH_FOLDER_PATH", "Shared/Travel");
    expect((await lookUp(options, { folderPath: undefined })).definition.url).toBeDefined();
    vi.stubEnv("UIPATH_FOLDER_PATH", "Elsewhere");
    const given = { ...options, folderPath: "Shared/Travel" };
    expect((await lookUp(given, { folderPath: undefined })).definition.url).toBeDefined();
  });
});

describe("the token", () => {
  it.each([
    ["the option", { token: TOKEN }, { UIPATH_ACCESS_TOKEN: "b", UNATTENDED_USER_ACCESS_TOKEN: "c" }],
    ["the unattended user's", {}, { UIPATH_ACCESS_TOKEN: "b", UNATTENDED_USER_ACCESS_TOKEN: TOKEN }],
    ["the other", {}, { UIPATH_ACCESS_TOKEN: TOKEN, UNATTENDED_USER_ACCESS_TOKEN: "" }],
  ])("is %s first", async (_, options, env) => {
    await using world = await start();
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    vi.stubEnv("UIPATH_URL", "http://127.0.0.1:1/other/tenant");
    const { definition } = await lookUp({ url: world.platform.url, ...options });
    expect(definition.headers).toEqual({ authorization: `Bearer ${TOKEN}` });
  });

  it("is read again for each look-up, as it may have been renewed", async () => {
    await using world = await start();
    vi.stubEnv("UIPATH_ACCESS_TOKEN", "yesterday");
    const servers = uipathServers({ url: world.platform.url });
    vi.stubEnv("UIPATH_ACCESS_TOKEN", `${TOKEN}\n`);
    expect((await servers(resource)).headers).toEqual({ authorization: `Bearer ${TOKEN}` });
  });

  it("is not sent to a server at another origin, and a warning says so", async () => {
    await using world = await start();
    world.platform.servers.set("folder-7/travel-server", world.mcp.url);
    const warnings: unknown[] = [];
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: world.platform.url, token: TOKEN }),
      logger: { debug: () => {}, info: () => {}, error: () => {}, warn: (message) => warnings.push(message) },
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(world.mcp.requests.every(({ headers }) => headers.authorization === undefined)).toBe(true);
    expect(warnings).toEqual([
      `Server "travel": its address is at ${new URL(world.mcp.url).origin}, not at the platform (${new URL(world.platform.url).origin}), so the UiPath token is not sent there.`,
    ]);
  });

  it("is not sent where the platform redirects to", async () => {
    await using world = await start();
    world.platform.answers.set("orchestrator_", (response) => {
      response.writeHead(302, { location: world.mcp.url }).end();
    });
    const failure = await failureOf(lookUp({ url: world.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind: "invalid-request", status: 302, server: "travel" });
    expect(failure.message).toContain("Redirects are not followed");
    expect(world.mcp.requests).toEqual([]);
  });
});

describe("what is wrong is told at once", () => {
  function failureFrom(options: UipathOptions): McpRuntimeError {
    try {
      uipathServers(options);
    } catch (error) {
      return error as McpRuntimeError;
    }
    return expect.unreachable();
  }

  it("no address and no token, together", () => {
    expect(failureFrom({}).issues).toEqual([
      { path: "url", message: expect.stringContaining("set UIPATH_URL") },
      { path: "token", message: expect.stringContaining("set UIPATH_ACCESS_TOKEN") },
    ]);
    expect(failureFrom({})).toMatchObject({ kind: "invalid-config" });
  });

  it("no address", () => {
    vi.stubEnv("UIPATH_ACCESS_TOKEN", TOKEN);
    vi.stubEnv("UIPATH_URL", " ");
    expect(failureFrom({}).issues).toMatchObject([{ path: "url" }]);
  });

  it("no token", () => {
    vi.stubEnv("UIPATH_URL", "https://cloud.uipath.com/acme/production");
    expect(failureFrom({ token: "" }).issues).toMatchObject([{ path: "token" }]);
  });

  it.each([
    ["an address of another kind", { url: `ftp://ann:${TOKEN}@x.test`, token: TOKEN }, "url"],
    [
      "a token with a line break inside",
      { url: "https://x.test", token: `${TOKEN}\n${TOKEN}` },
      "headers.authorization",
    ],
    ["an authority that is none", { url: "https://x.test", token: TOKEN, tls: { ca: TOKEN } }, "tls.ca"],
  ])("%s, without showing it", (_, options, path) => {
    const failure = failureFrom(options);
    expect(failure).toMatchObject({ kind: "invalid-config", issues: [{ path }] });
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });
});

describe("what the platform says no to", () => {
  it.each([
    [
      "a token that it does not know",
      { token: "expired" },
      {},
      { kind: "unauthorized", status: 401 },
      "in uipathServers({ token })",
    ],
    [
      "a folder that it does not show",
      {},
      { folderPath: "Shared/Other" },
      { kind: "invalid-config" },
      'no folder "Shared/Other"',
    ],
    [
      "a folder of another path",
      {},
      { folderPath: "Travel" },
      { kind: "invalid-config" },
      'no folder "Travel"',
    ],
    [
      "a server that is not there",
      {},
      { slug: "other" },
      { kind: "invalid-config" },
      'no MCP server "other" in folder "Shared/Travel"',
    ],
    [
      "a resource without folder",
      {},
      { folderPath: undefined },
      { kind: "invalid-config" },
      "names no folder",
    ],
  ])("is told: %s", async (_, options, own, expected, said) => {
    await using world = await start();
    const failure = await failureOf(lookUp({ url: world.platform.url, token: TOKEN, ...options }, own));
    expect(failure).toMatchObject({ ...expected, server: "travel", outcomeUnknown: false });
    expect(failure.message).toContain(said);
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(TOKEN);
  });

  it.each([
    [403, {}, "unauthorized"],
    [429, { "retry-after": "7" }, "rate-limited"],
    [500, {}, "server-error"],
    [503, {}, "unavailable"],
  ])("HTTP %i is of its kind", async (status, headers, kind) => {
    await using world = await start();
    world.platform.answers.set("agenthub_", (response) => {
      response.writeHead(status, headers).end(JSON.stringify({ message: `no ${TOKEN}` }));
    });
    const failure = await failureOf(lookUp({ url: world.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind, status, outcomeUnknown: false });
    expect(failure.retryAt === undefined).toBe(status !== 429);
    expect(failure.message).toContain("no [redacted]");
  });

  it.each([
    ["a page to sign in", "orchestrator_", "<!doctype html>"],
    ["no list", "orchestrator_", JSON.stringify({ PageItems: null })],
    ["no address", "agenthub_", JSON.stringify({ mcpUrl: null })],
    ["an address of another kind", "agenthub_", JSON.stringify({ mcpUrl: "file:///etc/passwd" })],
  ] as const)("%s is malformed", async (_, part, body) => {
    await using world = await start();
    world.platform.answers.set(part, (response) => response.end(body));
    const failure = await failureOf(lookUp({ url: world.platform.url, token: TOKEN }));
    expect(failure).toMatchObject({ kind: "invalid-response" });
    expect(failure.message).toContain("with organisation and tenant?");
  });

  it("no platform at all is not-sent, and a tool tells it to its caller", async () => {
    const world = await start();
    await world[Symbol.asyncDispose]();
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: world.platform.url, token: TOKEN }),
    });
    const failure = await failureOf(toolset.callTool({ name: "echo", args: {} }));
    expect(failure).toMatchObject({ kind: "not-sent", server: "travel" });
    expect(failure.message).toContain('Server "UiPath" refused the connection');
  });

  it("the next call asks again", async () => {
    await using world = await start();
    world.platform.answers.set("agenthub_", (response) => json(response, 401, {}));
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: world.platform.url, token: TOKEN }),
    });
    expect(await failureOf(toolset.callTool({ name: "echo", args: {} }))).toMatchObject({
      kind: "unauthorized",
    });
    world.platform.answers.clear();
    expect((await toolset.callTool({ name: "echo", args: { text: "now" } })).text()).toBe("now");
  });
});

describe("a look-up", () => {
  it("ends when the client is closed, and leaves nothing", async () => {
    await using world = await start();
    let ended = false;
    world.platform.answers.set("orchestrator_", (response) => {
      response.once("close", () => {
        ended = true;
      });
    });
    const toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: world.platform.url, token: TOKEN }),
    });
    const call = failureOf(toolset.callTool({ name: "echo", args: {} }));
    await eventually(() => world.platform.asked.length === 1);
    await toolset.close();
    expect(await call).toMatchObject({ kind: "closed" });
    await eventually(() => ended);
  });

  it("goes through the proxy and trusts the private authority, as the calls after it do", async () => {
    await using world = await start();
    await using front = await startTlsFront(world.platform.url);
    await using proxy = await startConnectProxy({ hosts: { "mcp.test": front.port } });
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    world.platform.servers.set("folder-7/travel-server", "https://mcp.test/acme/production/mcp");
    const tls = { ca: pemFile("authority") };
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({ url: "https://mcp.test/acme/production", token: TOKEN, tls }),
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(world.mcp.requests[0]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("goes by the caller's own fetch, as the calls after it do", async () => {
    await using world = await start();
    const carried: string[] = [];
    await using toolset = await createMcpToolsFromAgent(agent(), {
      servers: uipathServers({
        url: world.platform.url,
        token: TOKEN,
        fetch: (url, request) => {
          carried.push(new URL(url).pathname.split("/")[3] ?? "");
          return fetch(url, request);
        },
      }),
    });
    expect(await toolset.tools[0]?.invoke({ text: "hi" })).toBe("hi");
    expect(new Set(carried)).toEqual(new Set(["orchestrator_", "agenthub_", "mcp"]));
  });
});
