import { describe, expect, it } from "vitest";
import { loadMcpServers, type LoadMcpServersOptions } from "../../../../src/index.js";
import { ConfigFolders, fromProject } from "../../../fixtures/config-folders.js";

/** Loads the servers of one file. */
async function load(path: string, content: unknown, options: LoadMcpServersOptions = {}) {
  using folders = new ConfigFolders();
  folders.write(path, content);
  const loaded = await loadMcpServers(folders.options({ user: true, ...options }));
  return { ...loaded, source: loaded.sources[0], project: folders.project, home: folders.home };
}

const linux = process.platform !== "win32" && process.platform !== "darwin";

describe("a file of", () => {
  it("Claude Code: .mcp.json", async () => {
    const env = { KEY: "k1", BASE: undefined };
    const { servers, problems, source, project } = await load(
      "project/.mcp.json",
      {
        mcpServers: {
          shop: {
            type: "http",
            url: "${BASE:-https://shop.example}/mcp",
            headers: { Authorization: "Bearer ${KEY}" },
            timeout: 5_000,
          },
          events: { type: "ws", url: "wss://events.example/mcp" },
          files: { command: "npx", args: ["-y", "files", "${KEY}"], env: { MODE: "x" } },
        },
      },
      { env },
    );
    expect(problems).toEqual([]);
    expect(servers).toEqual({
      shop: fromProject({
        type: "http",
        url: "https://shop.example/mcp",
        headers: { Authorization: "Bearer k1" },
        timeouts: { requestMs: 5_000, totalMs: 600_000 },
        secrets: ["k1"],
      }),
      events: fromProject({ type: "websocket", url: "wss://events.example/mcp" }),
      files: {
        command: "npx",
        args: ["-y", "files", "k1"],
        env: { MODE: "x" },
        cwd: project,
        secrets: ["k1"],
      },
    });
    expect(source).toMatchObject({ scope: "project", format: "mcp-json" });
    expect(source?.servers[0]).toEqual({
      name: "shop",
      state: "loaded",
      variables: ["BASE", "KEY"],
      ignored: [],
    });
  });

  it("Claude Code: ~/.claude.json, servers of the project before those for all projects", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.claude.json", {
      numStartups: 7,
      mcpServers: { a: { type: "http", url: "https://all.example" }, b: { command: "b" } },
      projects: {
        [folders.project]: { mcpServers: { a: { type: "http", url: "https://one.example" } } },
        "/elsewhere": { mcpServers: { c: { command: "c" } } },
      },
    });
    const { servers, sources } = await loadMcpServers(folders.options({ user: true }));
    expect(servers).toEqual({
      a: { type: "http", url: "https://one.example" },
      b: { command: "b", cwd: folders.project },
    });
    expect(sources[0]?.servers.map(({ name, state }) => [name, state])).toEqual([
      ["a", "loaded"],
      ["a", "shadowed"],
      ["b", "loaded"],
    ]);
  });

  it("VS Code: servers, inputs, an env file and predefined variables", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.env", "FROM_FILE=1\nBOTH=file\n");
    folders.write(
      "project/.vscode/mcp.json",
      `{
        // prompted inputs
        "inputs": [
          { "type": "promptString", "id": "key", "description": "API key", "password": true },
          { "type": "pickString", "id": "region", "description": "Region", "options": ["eu"], "default": "eu" },
        ],
        "servers": {
          "local": {
            "type": "stdio",
            "command": "\${workspaceFolder}/bin/serve",
            "args": ["\${input:key}", "\${input:region}", "\${env:MODE}", "\${userHome}\${/}x\${pathSeparator}y"],
            "env": { "BOTH": "own", "PORT": 8080, "GONE": null },
            "envFile": "\${workspaceFolder}/.env",
            "dev": { "watch": "src/**" },
          },
        },
      }`,
    );
    const options = folders.options({ env: { MODE: "fast" }, inputs: { key: "secret-key" } });
    const { servers, problems, sources } = await loadMcpServers(options);
    expect(problems).toEqual([]);
    expect(servers["local"]).toEqual({
      type: "stdio",
      command: `${folders.project}/bin/serve`,
      args: ["secret-key", "eu", "fast", `${folders.home}/x/y`],
      env: { FROM_FILE: "1", BOTH: "own", PORT: "8080" },
      cwd: folders.project,
      secrets: ["secret-key"],
    });
    expect(sources[0]?.servers[0]).toMatchObject({
      variables: ["input:key", "input:region", "MODE"],
      ignored: ["dev"],
    });
  });

  it.runIf(linux)("VS Code: the user file", async () => {
    const { servers } = await load("home/.config/Code/User/mcp.json", {
      servers: { a: { type: "http", url: "https://a.example" } },
    });
    expect(servers).toEqual({ a: { type: "http", url: "https://a.example" } });
  });

  it("Cursor: the project file and the user file", async () => {
    using folders = new ConfigFolders();
    const own = { url: "https://a.example", headers: { a: "${env:TOKEN}" }, auth: { CLIENT_ID: "x" } };
    folders.write("project/.cursor/mcp.json", { mcpServers: { a: own } });
    folders.write("home/.cursor/mcp.json", {
      mcpServers: { a: { url: "https://b.example" }, b: { command: "b", cwd: "sub" } },
    });
    const { servers, sources } = await loadMcpServers(folders.options({ user: true, env: { TOKEN: "t0" } }));
    expect(servers).toEqual({
      a: fromProject({ url: "https://a.example", headers: { a: "t0" }, secrets: ["t0"] }),
      b: { command: "b", cwd: `${folders.project}/sub` },
    });
    expect(sources.map(({ scope, format }) => [scope, format])).toEqual([
      ["project", "cursor"],
      ["user", "cursor"],
    ]);
    expect(sources[0]?.servers[0]?.ignored).toEqual(["auth"]);
  });

  it("any client may have a grant under auth", async () => {
    const auth = { grant: "jwt-bearer", issuer: "https://auth.example", assertion: "${JOB_TOKEN}" };
    const { servers, source } = await load(
      "project/.mcp.json",
      { mcpServers: { a: { url: "https://a.example", auth } } },
      { env: { JOB_TOKEN: "aa.bb.cc" } },
    );
    expect(servers["a"]).toEqual(
      fromProject({
        url: "https://a.example",
        auth: { ...auth, assertion: "aa.bb.cc" },
        secrets: ["aa.bb.cc"],
      }),
    );
    expect(source?.servers[0]?.ignored).toEqual([]);
  });

  it("Windsurf: serverUrl and disabledTools", async () => {
    const { servers, source } = await load("home/.codeium/windsurf/mcp_config.json", {
      mcpServers: {
        a: { serverUrl: "https://a.example/mcp", disabledTools: ["wipe"] },
        b: { command: "b", disabled: true },
      },
    });
    expect(servers).toEqual({ a: { url: "https://a.example/mcp", tools: { wipe: false } } });
    expect(source?.servers[1]).toMatchObject({
      state: "disabled",
      reason: expect.stringContaining("disabled: true"),
    });
  });

  it("Gemini CLI: url means SSE, httpUrl means HTTP, $NAME is a variable, lists of tools and servers", async () => {
    const { servers, source, problems } = await load(
      "project/.gemini/settings.json",
      {
        theme: "dark",
        mcp: { excluded: ["off"] },
        mcpServers: {
          old: { url: "http://old.example/sse", timeout: 600_000 },
          now: {
            httpUrl: "http://now.example/mcp",
            trust: true,
            includeTools: ["a", "b"],
            excludeTools: ["b"],
          },
          typed: { url: "http://typed.example/mcp", type: "http", includeTools: ["a"] },
          local: { command: "x", args: ["$TOKEN-$(id)"], env: { KEY: "${TOKEN}" } },
          off: { command: "y" },
        },
      },
      { env: { TOKEN: "abcd" } },
    );
    expect(problems).toEqual([]);
    expect(servers).toMatchObject({
      old: { type: "sse", url: "http://old.example/sse", timeouts: { requestMs: 600_000, totalMs: 600_000 } },
      now: { url: "http://now.example/mcp", tools: { "*": false, a: {}, b: false } },
      typed: { type: "http", url: "http://typed.example/mcp", tools: ["a"] },
      local: { args: ["abcd-$(id)"], env: { KEY: "abcd" } },
    });
    expect(source?.servers.find(({ name }) => name === "off")?.state).toBe("disabled");
    expect(source?.servers.find(({ name }) => name === "now")?.ignored).toEqual(["trust"]);
  });

  it("Copilot CLI: type local, and a wildcard for tools", async () => {
    const { servers } = await load("home/.copilot/mcp-config.json", {
      mcpServers: {
        a: { type: "local", command: "a", tools: ["*"], env: {} },
        b: { type: "http", url: "https://b.example", tools: ["only"], env: {} },
      },
    });
    expect(servers["a"]).toMatchObject({ type: "stdio", command: "a", env: {} });
    expect(servers["a"]).not.toHaveProperty("tools");
    expect(servers["b"]).toEqual({ type: "http", url: "https://b.example", tools: ["only"] });
  });

  it("Cline: timeouts in seconds, SSE by default, the former key transportType", async () => {
    const { servers } = await load("home/.cline/data/settings/cline_mcp_settings.json", {
      mcpServers: {
        a: { url: "https://a.example/sse", timeout: 30, autoApprove: ["x"] },
        b: { url: "https://b.example/mcp", type: "streamableHttp" },
        c: { url: "https://c.example/mcp", transportType: "http" },
      },
    });
    expect(servers).toEqual({
      a: { type: "sse", url: "https://a.example/sse", timeouts: { requestMs: 30_000, totalMs: 600_000 } },
      b: { type: "streamableHttp", url: "https://b.example/mcp" },
      c: { type: "http", url: "https://c.example/mcp" },
    });
  });

  it("Roo Code: timeouts in seconds, disabled tools", async () => {
    const { servers } = await load("project/.roo/mcp.json", {
      mcpServers: {
        a: { type: "streamable-http", url: "https://a.example/mcp", timeout: 300, disabledTools: ["x"] },
      },
    });
    expect(servers["a"]).toMatchObject({ timeouts: { requestMs: 300_000 }, tools: { x: false } });
  });

  it.each([
    ["timeout", -5],
    ["timeout", "5s"],
    ["includeTools", "a"],
    ["excludeTools", ["a", 1]],
    ["disabledTools", {}],
    ["sandboxEnabled", "yes"],
    ["transport", 7],
    ["retry", "no"],
  ])("any client with an invalid %s (%j) is reported with file, server and key", async (key, value) => {
    const { servers, problems, project } = await load("project/.mcp.json", {
      mcpServers: {
        a: { url: "https://a.example/mcp", [key]: value },
        b: { url: "https://b.example/mcp" },
      },
    });
    expect(Object.keys(servers)).toEqual(["b"]);
    expect(problems).toMatchObject([
      {
        kind: "bad-definition",
        server: "a",
        file: `${project}/.mcp.json`,
        path: `mcpServers.a.${key}`,
        line: 5,
        message: expect.stringContaining("expected"),
      },
    ]);
  });

  it("other clients may exclude tools, also in combination with tool rules", async () => {
    const entry = (name: string) => ({ url: `https://${name}.example/mcp`, excludeTools: ["x"] });
    const { servers, problems, source } = await load("project/.mcp.json", {
      mcpServers: {
        all: { ...entry("all"), tools: ["*"] },
        some: { ...entry("some"), tools: ["x", "y"], includeTools: ["z"] },
        rules: {
          ...entry("rules"),
          tools: { x: { requireApproval: true } },
          timeout: 5,
          timeouts: { requestMs: 7 },
        },
      },
    });
    expect(problems).toEqual([]);
    expect(servers).toMatchObject({
      all: { tools: { x: false } },
      some: { tools: { "*": false, x: false, y: {} } },
      rules: { tools: { x: false }, timeouts: { requestMs: 7 } },
    });
    expect(source?.servers.map(({ ignored }) => ignored)).toEqual([[], ["includeTools"], ["timeout"]]);
  });

  it("timeouts of other clients may be longer than the defaults, or unlimited, in files of the user", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", {
      mcpServers: {
        long: { url: "https://long.example/mcp", timeout: 700_000 },
        never: { url: "https://never.example/mcp", timeout: 0 },
      },
    });
    const { servers, problems } = await loadMcpServers(folders.options({ user: true, project: false }));
    expect(problems).toEqual([]);
    expect(servers).toMatchObject({
      long: { timeouts: { requestMs: 700_000, totalMs: 700_000 } },
      never: { timeouts: { requestMs: 0 } },
    });
  });

  it("Zed: custom servers, also in the former format, but no extensions", async () => {
    const { servers, source, problems } = await load("project/.zed/settings.json", {
      ui_font_size: 16,
      context_servers: {
        a: { source: "custom", command: "a", args: ["1"], env: {} },
        b: { source: "custom", url: "https://b.example", headers: { x: "y" } },
        old: { command: { path: "old", args: ["2"], env: { A: "1" } }, settings: {} },
        ext: { source: "extension", settings: {} },
        ext2: { enabled: true, settings: { token: "t" } },
      },
    });
    expect(problems).toEqual([]);
    expect(servers).toMatchObject({
      a: { command: "a", args: ["1"] },
      b: { url: "https://b.example", headers: { x: "y" } },
      old: { command: "old", args: ["2"], env: { A: "1" } },
    });
    expect(source?.servers.map(({ name, state }) => [name, state])).toEqual([
      ["a", "loaded"],
      ["b", "loaded"],
      ["old", "loaded"],
      ["ext", "disabled"],
      ["ext2", "disabled"],
    ]);
  });

  it("a project without a client: mcp.json, with servers at the top level and options of this library", async () => {
    const { servers } = await load("project/mcp.json", {
      a: {
        url: "https://a.example",
        lazy: true,
        retry: false,
        circuitBreaker: { failureThreshold: 3 },
        tools: { "delete_*": { requireApproval: true } },
      },
      b: { functionName: "b", region: "eu-central-1" },
    });
    expect(servers).toEqual({
      a: fromProject({
        url: "https://a.example",
        lazy: true,
        retry: false,
        circuitBreaker: { failureThreshold: 3 },
        tools: { "delete_*": { requireApproval: true } },
      }),
      b: fromProject({ functionName: "b", region: "eu-central-1" }),
    });
  });

  it("any path is parsed by its name or content, and belongs to its own folder", async () => {
    using folders = new ConfigFolders();
    const files = [
      folders.write("other/.vscode/mcp.json", { servers: { a: { command: "a" } } }),
      folders.write("other/.gemini/settings.json", { mcpServers: { b: { url: "https://b.example" } } }),
      folders.write("other/my-settings.json", { context_servers: { c: { source: "custom", command: "c" } } }),
      folders.write("other/servers.json", { d: { command: "d", args: ["${workspaceFolder}"] } }),
    ];
    const { servers, sources } = await loadMcpServers(folders.options({ files, project: false }));
    const other = `${folders.path}/other`;
    expect(servers).toEqual({
      a: { command: "a", cwd: other },
      b: { type: "sse", url: "https://b.example" },
      c: { command: "c", cwd: other },
      d: { command: "d", args: [other], cwd: other },
    });
    expect(sources.map(({ scope, format }) => [scope, format])).toEqual([
      ["given", "vscode"],
      ["given", "gemini-cli"],
      ["given", "zed"],
      ["given", "mcp-json"],
    ]);
  });
});
