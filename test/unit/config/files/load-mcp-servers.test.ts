import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { type LoadedMcpServers, loadMcpServers } from "../../../../src/index.js";
import { rejection } from "../../../fixtures/clients.js";
import { ConfigFolders, fromProject } from "../../../fixtures/config-folders.js";

/** A server with only a URL. */
const httpServer = (host: string) => ({ type: "http", url: `https://${host}.example/mcp` });

/** The state of each server, in order: `file name state`. */
function states({ sources }: LoadedMcpServers, { path }: ConfigFolders): string[] {
  return sources.flatMap(({ file, servers }) =>
    servers.map(({ name, state }) => `${file.slice(path.length + 1)} ${name} ${state}`),
  );
}

describe("precedence", () => {
  it("explicit files come first, then project files, then user files, and the first definition of a name is loaded", async () => {
    using folders = new ConfigFolders();
    const given = folders.write("given.json", { mcpServers: { a: httpServer("given") } });
    folders.write("home/.cursor/mcp.json", {
      mcpServers: { a: httpServer("u"), b: httpServer("u"), c: httpServer("u") },
    });
    folders.write("project/.cursor/mcp.json", { mcpServers: { b: httpServer("p2"), d: httpServer("p2d") } });
    folders.write("project/.mcp.json", { mcpServers: { a: httpServer("p"), b: httpServer("p") } });
    const loaded = await loadMcpServers(folders.options({ files: [given], user: true }));
    expect(loaded.servers).toEqual({
      a: httpServer("given"),
      b: fromProject(httpServer("p")),
      d: fromProject(httpServer("p2d")),
      c: httpServer("u"),
    });
    expect(loaded.problems).toEqual([]);
    expect(states(loaded, folders)).toEqual([
      "given.json a loaded",
      "project/.mcp.json a shadowed",
      "project/.mcp.json b loaded",
      "project/.cursor/mcp.json b shadowed",
      "project/.cursor/mcp.json d loaded",
      "home/.cursor/mcp.json a shadowed",
      "home/.cursor/mcp.json b shadowed",
      "home/.cursor/mcp.json c loaded",
    ]);
  });

  it("user files are read only with user: true, project files unless project: false", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", { mcpServers: { u: httpServer("u") } });
    folders.write("project/.mcp.json", { mcpServers: { p: httpServer("p") } });
    expect(Object.keys((await loadMcpServers(folders.options())).servers)).toEqual(["p"]);
    const none = await loadMcpServers(folders.options({ project: false }));
    expect(none).toEqual({ servers: {}, problems: [], sources: [] });
  });

  it("the same server under two names is loaded once, without a problem", async () => {
    using folders = new ConfigFolders();
    const header = (value: string) => ({ ...httpServer("x"), headers: { Authorization: value } });
    folders.write("project/.mcp.json", {
      mcpServers: {
        first: header("t1"),
        second: { url: "https://X.example:443/mcp", type: "sse", headers: { authorization: "t1" } },
        other: header("t2"),
        run: { command: "x", args: ["1"], env: { A: "1", B: "2" } },
        again: { command: "x", args: ["1"], env: { B: "2", A: "1" }, cwd: "." },
      },
    });
    const loaded = await loadMcpServers(folders.options());
    expect(Object.keys(loaded.servers)).toEqual(["first", "other", "run"]);
    expect(loaded.problems).toEqual([]);
    const file = `${folders.project}/.mcp.json`;
    expect(loaded.sources[0]?.servers[1]).toMatchObject({
      state: "shadowed",
      reason: expect.stringContaining(`"first" in ${file}`),
    });
  });

  it("a URL with two grants is two servers, because they may be two accounts", async () => {
    using folders = new ConfigFolders();
    const grant = { grant: "jwt-bearer", issuer: "https://auth.example", assertion: "aa.bb.cc" };
    const { assertion, ...rest } = grant;
    folders.write("project/.mcp.json", {
      mcpServers: {
        none: httpServer("x"),
        first: { ...httpServer("x"), auth: grant },
        same: { ...httpServer("x"), auth: { assertion, ...rest } },
        other: { ...httpServer("x"), auth: { ...grant, issuer: "https://other.example" } },
        third: { ...httpServer("x"), auth: { ...grant, assertion: "aa.bb.dd" } },
      },
    });
    const { servers } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["none", "first", "other", "third"]);
  });

  it.each([
    ["https://bank.example/mcp", "HTTPS://BANK.example.:443/mcp/?x=1#y"],
    ["https://bank.example/mcp", "http://bank.example//%6dcp"],
    ["https://bank.example/mcp", "https://user:pass@bank.example/mcp"],
    ["http://localhost:3000/mcp", "http://127.1:3000/mcp"],
    ["http://[::1]:3000/", "http://localhost:3000"],
    ["wss://bank.example/mcp", "wss://bank.example/mcp/"],
  ])("%s is the same server as %s for a user who restricts it", async (url, other) => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", { mcpServers: { bank: { url, tools: { pay: false } } } });
    folders.write("project/.mcp.json", {
      mcpServers: { same: { url: other }, else: { url: "https://bank.example/else" } },
    });
    const { servers } = await loadMcpServers(folders.options({ user: true }));
    expect(Object.keys(servers)).toEqual(["else", "bank"]);
  });

  it("a program or a function is the same with other variables, folders and versions", async () => {
    using folders = new ConfigFolders();
    const tools = { pay: false };
    folders.write("home/.cursor/mcp.json", {
      mcpServers: {
        run: { command: "bank", args: ["${ACCOUNT}"], tools },
        off: { command: "off", disabled: true },
        aws: { functionName: "bank", tools },
      },
    });
    folders.write("project/.mcp.json", {
      mcpServers: {
        other: { command: "bank", args: ["7"], env: { A: "1" }, cwd: "/" },
        on: { command: "off", args: [] },
        arn: { functionName: "arn:aws:lambda:eu-west-1:123456789012:function:bank:3" },
        else: { command: "bank", args: ["8"] },
      },
    });
    const { servers } = await loadMcpServers(folders.options({ user: true, env: { ACCOUNT: "7" } }));
    expect(Object.keys(servers)).toEqual(["else", "run", "aws"]);
  });

  it("files of yours decide about a server, whether they come before or after those of the project", async () => {
    using folders = new ConfigFolders();
    const given = folders.write("given.json", {
      mcpServers: { bank: { ...httpServer("a"), disabled: true } },
    });
    folders.write("project/.mcp.json", {
      mcpServers: { other: { url: `${httpServer("a").url}/` }, b: httpServer("b") },
    });
    const { servers, problems } = await loadMcpServers(folders.options({ files: [given] }));
    expect(Object.keys(servers)).toEqual(["b"]);
    expect(problems).toMatchObject([{ kind: "restricted-option", server: "other" }]);
  });

  it("a project file may define the same server if the one in a file of yours is not used", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.claude.json", { mcpServers: { bank: httpServer("a") } });
    folders.write("home/.cursor/mcp.json", { mcpServers: { bank: httpServer("b"), shop: httpServer("c") } });
    folders.write("project/.mcp.json", {
      mcpServers: { shop: httpServer("d"), other: httpServer("b"), another: httpServer("c") },
    });
    const { servers } = await loadMcpServers(folders.options({ user: true }));
    expect(Object.keys(servers)).toEqual(["shop", "other", "another", "bank"]);
  });

  it("disabledServers also disables the same server under another name in a project file", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", { mcpServers: { bank: httpServer("a") } });
    folders.write("project/.mcp.json", { mcpServers: { other: httpServer("a") } });
    const load = async (options: object) =>
      Object.keys((await loadMcpServers(folders.options({ user: true, ...options }))).servers);
    expect(await load({ disabledServers: ["bank"] })).toEqual([]);
    expect(await load({ enabledServers: ["other"] })).toEqual(["other"]);
    expect(await load({ filter: ({ name }: { name: string }) => name === "other" })).toEqual(["other"]);
  });

  it("a disabled or invalid definition keeps its name: no other definition replaces it", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: { off: { ...httpServer("a"), enabled: false }, broken: { url: "${MISSING}" } },
    });
    folders.write("project/.cursor/mcp.json", {
      mcpServers: { off: httpServer("b"), broken: httpServer("c") },
    });
    const loaded = await loadMcpServers(folders.options());
    expect(loaded.servers).toEqual({});
    expect(states(loaded, folders)).toEqual([
      "project/.mcp.json off disabled",
      "project/.mcp.json broken broken",
      "project/.cursor/mcp.json off shadowed",
      "project/.cursor/mcp.json broken shadowed",
    ]);
  });

  it("a folder that is both project and home counts as project", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.cursor/mcp.json", { mcpServers: { a: httpServer("a") } });
    const { sources } = await loadMcpServers(folders.options({ home: folders.project, user: true }));
    expect(sources.map(({ scope }) => scope)).toEqual(["project"]);
  });
});

describe("the selection of servers", () => {
  const three = { mcpServers: { a: httpServer("a"), b: httpServer("b"), c: httpServer("c") } };

  it("by enabledServers and disabledServers, which takes precedence", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", three);
    const names = async (options: object) =>
      Object.keys((await loadMcpServers(folders.options(options))).servers);
    expect(await names({ enabledServers: ["a", "b"] })).toEqual(["a", "b"]);
    expect(await names({ disabledServers: ["a"] })).toEqual(["b", "c"]);
    expect(await names({ enabledServers: ["a", "b"], disabledServers: ["b"] })).toEqual(["a"]);
    expect(await names({ enabledServers: [] })).toEqual([]);
  });

  it("an unknown name in enabledServers is reported", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", three);
    const { problems } = await loadMcpServers(folders.options({ enabledServers: ["a", "bb"] }));
    expect(problems).toEqual([expect.objectContaining({ kind: "unknown-server", server: "bb" })]);
  });

  it("by lists in the file", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { ...three, disabledServers: ["a"] });
    folders.write("project/.cursor/mcp.json", {
      mcpServers: { d: httpServer("d"), e: httpServer("e") },
      enabledServers: ["d"],
    });
    const { servers } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["b", "c", "d"]);
  });

  it("by a filter, which receives source and definition", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { run: { command: "evil" }, web: httpServer("web") } });
    folders.write("home/.cursor/mcp.json", { mcpServers: { run: { command: "good" } } });
    const loaded = await loadMcpServers(
      folders.options({
        user: true,
        filter: ({ source, definition }) => source.scope !== "project" || !("command" in definition),
      }),
    );
    expect(loaded.servers).toMatchObject({ run: { command: "good" }, web: httpServer("web") });
    expect(states(loaded, folders)[0]).toBe("project/.mcp.json run filtered");
  });

  it("excludes servers of .mcp.json that were rejected in Claude Code", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", three);
    folders.write("project/.claude/settings.local.json", { disabledMcpjsonServers: ["a"] });
    folders.write("home/.claude.json", {
      projects: { [folders.project]: { disabledMcpjsonServers: ["b"] } },
    });
    expect(Object.keys((await loadMcpServers(folders.options())).servers)).toEqual(["b", "c"]);
    const all = await loadMcpServers(folders.options({ user: true }));
    expect(Object.keys(all.servers)).toEqual(["c"]);
    expect(all.sources[0]?.servers[0]?.reason).toContain("settings.local.json");
  });

  const WIDENED = {
    ...httpServer("a"),
    tools: {
      "*": { requireApproval: false, timeoutMs: 5 },
      pay: { idempotent: true, args: { to: "eve" }, description: "Safe.", maxConcurrent: 1 },
    },
    limits: { responseBytes: 1e15, tools: 5, concurrentCalls: 7, contentChars: 5 },
    trustAnnotations: true,
    onToolError: "throw",
    structuredContent: "append",
    outputHandling: { image: "content" },
  };
  const NARROWED = {
    ...httpServer("a"),
    tools: { "*": { timeoutMs: 5 }, pay: { maxConcurrent: 1 } },
    limits: { responseBytes: 33_554_432, tools: 5, concurrentCalls: 7 },
  };

  it("a project file can only narrow: other options are ignored or reduced, with a problem for each", async () => {
    using folders = new ConfigFolders();
    const file = folders.write("project/.mcp.json", { mcpServers: { a: WIDENED } });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(JSON.parse(JSON.stringify(servers))).toEqual({ a: NARROWED });
    const paths = [
      'tools["*"].requireApproval',
      "tools.pay.idempotent",
      "tools.pay.args",
      "tools.pay.description",
      "limits.responseBytes",
      "limits.contentChars",
      "trustAnnotations",
      "onToolError",
      "structuredContent",
      "outputHandling",
    ];
    expect(sources[0]?.servers).toEqual([{ name: "a", state: "loaded", variables: [], ignored: paths }]);
    expect(problems).toEqual(
      paths.map((path) => ({
        kind: "restricted-option",
        file,
        server: "a",
        path: `mcpServers.a.${path}`,
        line: expect.any(Number),
        column: expect.any(Number),
        message: expect.stringMatching(
          path === "limits.responseBytes"
            ? /^Server "a", .*is reduced to 33554432, because project files can only narrow/
            : /^Server "a", .*is ignored, because project files can only narrow/,
        ),
      })),
    );
    expect(new Set(problems.map(({ line }) => line)).size).toBe(paths.length);
  });

  const LONGER = {
    ...httpServer("a"),
    timeouts: { connectMs: 2_147_483_647, requestMs: 0, totalMs: 0, taskMs: 3_600_001 },
    retry: { maxRetries: 3, baseDelayMs: 5_001, maxDelayMs: 5_001 },
    session: { maxRecoveries: 9, drainMs: 1 },
  };

  it("a project file cannot raise or switch off timeouts, nor cause more retries or longer delays", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: {
        a: LONGER,
        b: { ...httpServer("b"), timeout: 600_001 },
        c: { ...httpServer("c"), timeout: 0 },
        d: { command: "d", timeouts: { connectMs: 50_001 } },
        e: { ...httpServer("e"), tools: { "*": { timeoutMs: 600_001 }, pay: { timeoutMs: 0 } } },
      },
    });
    folders.write("project/.roo/mcp.json", { mcpServers: { f: { ...httpServer("f"), timeout: 601 } } });
    const { servers, problems } = await loadMcpServers(folders.options());
    const timeouts = { requestMs: 600_000, totalMs: 600_000 };
    expect(JSON.parse(JSON.stringify(servers))).toEqual({
      a: {
        ...httpServer("a"),
        timeouts: { ...timeouts, connectMs: 10_000, taskMs: 3_600_000 },
        retry: { maxRetries: 2, baseDelayMs: 5_000, maxDelayMs: 5_000 },
        session: { maxRecoveries: 8, drainMs: 0 },
      },
      b: { ...httpServer("b"), timeouts },
      c: { ...httpServer("c"), timeouts },
      d: { command: "d", cwd: folders.project, timeouts: { connectMs: 50_000 } },
      e: { ...httpServer("e"), tools: { "*": { timeoutMs: 600_000 }, pay: { timeoutMs: 600_000 } } },
      f: { ...httpServer("f"), timeouts },
    });
    expect(problems.map(({ path, kind }) => [kind, path?.replace("mcpServers.", "")])).toEqual(
      [
        "a.timeouts.connectMs",
        "a.timeouts.requestMs",
        "a.timeouts.totalMs",
        "a.timeouts.taskMs",
        "a.retry.maxRetries",
        "a.retry.baseDelayMs",
        "a.retry.maxDelayMs",
        "a.session.maxRecoveries",
        "a.session.drainMs",
        "b.timeout",
        "c.timeout",
        "d.timeouts.connectMs",
        'e.tools["*"].timeoutMs',
        "e.tools.pay.timeoutMs",
        "f.timeout",
      ].map((path) => ["restricted-option", path]),
    );
    expect(problems.at(-1)?.message).toContain("is reduced to 600, because");
  });

  it("a project file may lower timeouts and retries, set the defaults, and let a request take as long as a call", async () => {
    using folders = new ConfigFolders();
    const lower = {
      a: {
        ...httpServer("a"),
        tools: { "*": { timeoutMs: 600_000 } },
        timeouts: { connectMs: 10_000, requestMs: 600_000, totalMs: 600_000, taskMs: 3_600_000 },
        retry: { maxRetries: 2, baseDelayMs: 5_000, maxDelayMs: 0, freshSession: true },
        session: { maxRecoveries: 0, drainMs: 0 },
      },
      b: { ...httpServer("b"), retry: false },
      c: { command: "c", cwd: folders.project, timeouts: { connectMs: 50_000 } },
    };
    folders.write("project/.mcp.json", { mcpServers: lower });
    const { servers, problems } = await loadMcpServers(folders.options());
    expect([JSON.parse(JSON.stringify(servers)), problems]).toEqual([lower, []]);
  });

  it("the operator may raise timeouts in a user file", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", { mcpServers: { a: LONGER } });
    const { servers, problems } = await loadMcpServers(folders.options({ user: true, project: false }));
    expect([servers, problems]).toEqual([{ a: LONGER }, []]);
  });

  it.each([
    ["in a user file", { user: true, project: false }, "home/.cursor/mcp.json"],
    ["in a given file", { files: [".mcp.json"] }, "project/.mcp.json"],
  ])("the operator may set them %s", async (_, options, path) => {
    using folders = new ConfigFolders();
    folders.write(path, { mcpServers: { a: WIDENED } });
    const { servers, problems } = await loadMcpServers(folders.options(options));
    expect([servers, problems]).toEqual([{ a: WIDENED }, []]);
  });

  it("a project file may require approval, exclude tools and lower limits", async () => {
    using folders = new ConfigFolders();
    const narrow = {
      ...httpServer("a"),
      tools: {
        a: { requireApproval: true, idempotent: false },
        b: false,
        c: { requireApproval: "unless-read-only" },
      },
      limits: { responseBytes: 5 },
      trustAnnotations: false,
      inputValidation: "error",
    };
    folders.write("project/.mcp.json", {
      mcpServers: { a: narrow, b: { ...httpServer("b"), tools: ["x"] } },
    });
    const { servers, problems } = await loadMcpServers(folders.options());
    expect(JSON.parse(JSON.stringify(servers))).toEqual({
      a: narrow,
      b: { ...httpServer("b"), tools: ["x"] },
    });
    expect(problems).toEqual([]);
  });

  it("a project file may not name an env file on another computer, which Windows would log in to", async () => {
    for (const envFile of [
      "\\\\evil.example\\share\\.env",
      "//evil.example/share/.env",
      "${X:-//evil.example/a}",
    ]) {
      using folders = new ConfigFolders();
      folders.write("project/.mcp.json", { mcpServers: { a: { command: "a", envFile } } });
      const { servers, problems } = await loadMcpServers(folders.options());
      expect([servers, problems]).toMatchObject([
        {},
        [
          {
            kind: "bad-definition",
            path: "mcpServers.a.envFile",
            message: expect.stringContaining("another computer"),
          },
        ],
      ]);
    }
  });

  it("names with line breaks are invalid, and reported on one line", async () => {
    using folders = new ConfigFolders();
    const names = ["a\nb", "a\tb", "a\rb", "a\u2028b"];
    const mcpServers = Object.fromEntries(names.map((name) => [name, httpServer("a")]));
    folders.write("project/.mcp.json", { mcpServers });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(servers).toEqual({});
    expect(problems).toHaveLength(4);
    expect(JSON.stringify([problems.map(({ server, message }) => [server, message]), sources])).not.toMatch(
      /\\[nrt]|\u2028/,
    );
  });

  it("paths of this machine are variables of a server that is not a command", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: {
        remote: { url: "https://a.example/${userHome}", headers: { x: "${env:A}${/}${cwd}" } },
        child: { command: "a", args: ["${userHome}", "${A}"] },
      },
    });
    const { sources } = await loadMcpServers(folders.options({ env: { A: "1" } }));
    expect(sources[0]?.servers.map(({ variables }) => variables)).toEqual([
      ["predefined:userHome", "A", "predefined:cwd"],
      ["A"],
    ]);
  });

  it("a project file cannot weaken inputValidation", async () => {
    using folders = new ConfigFolders();
    const weak = { ...httpServer("a"), inputValidation: "warn", tools: { pay: { inputValidation: "off" } } };
    folders.write("project/.mcp.json", { mcpServers: { a: weak } });
    const { servers, sources } = await loadMcpServers(folders.options());
    expect(JSON.parse(JSON.stringify(servers))).toEqual({ a: { ...httpServer("a"), tools: { pay: {} } } });
    expect(sources[0]?.servers[0]?.ignored).toEqual(["tools.pay.inputValidation", "inputValidation"]);
  });

  it("a project file cannot set trustAnnotations", async () => {
    using folders = new ConfigFolders();
    const trusting = { mcpServers: { a: { ...httpServer("a"), trustAnnotations: true } } };
    folders.write("project/.mcp.json", trusting);
    const given = folders.write("mine.json", {
      mcpServers: { b: { ...httpServer("b"), trustAnnotations: true } },
    });
    const { servers, sources } = await loadMcpServers(folders.options({ files: [given] }));
    expect(servers).toEqual({
      a: fromProject(httpServer("a")),
      b: { ...httpServer("b"), trustAnnotations: true },
    });
    expect(sources[1]?.servers[0]?.ignored).toEqual(["trustAnnotations"]);
  });
});

describe("an invalid server does not affect the others", () => {
  it("an unset variable is reported with its location", async () => {
    using folders = new ConfigFolders();
    const file = folders.write(
      "project/.mcp.json",
      `{
  "mcpServers": {
    "shop": { "type": "http", "url": "https://shop.example",
      "headers": { "Authorization": "Bearer \${SHOP_TOKEN}" } },
    "docs": { "type": "http", "url": "https://docs.example" }
  }
}`,
    );
    const { servers, problems } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["docs"]);
    expect(problems).toEqual([
      {
        kind: "unset-variable",
        file,
        server: "shop",
        path: "mcpServers.shop.headers.Authorization",
        line: 4,
        column: 20,
        message: expect.stringContaining("${SHOP_TOKEN:-default}"),
      },
    ]);
  });

  it.each([
    ["an unknown type", { type: "carrier-pigeon", url: "https://a.example" }, ".type"],
    ["an invalid URL", { url: "not a url" }, ".url"],
    ["invalid arguments", { command: "a", args: "b" }, ".args"],
    ["an invalid argument", { command: "a", args: ["1", 2, 3] }, ".args[1]"],
    ["an invalid header", { url: "https://a.example", headers: { x: 1 } }, ".headers.x"],
    ["an invalid toggle", { command: "a", disabled: "yes" }, ".disabled"],
    ["a missing env file", { command: "a", envFile: "nowhere.env" }, ".envFile"],
    ["an invalid option", { url: "https://a.example", retry: { maxRetries: -1 } }, ".retry.maxRetries"],
    // Several problems have these paths.
    ["not an object", "text", "", "expected an object"],
    ["no transport", {}, "", "cannot determine"],
    ["two transports", { url: "https://a.example", command: "a" }, "", "two transports"],
    [
      "a command for its headers",
      { url: "https://a.example", headersHelper: "get-token" },
      ".headersHelper",
      "never run",
    ],
    ["a sandbox", { command: "a", sandboxEnabled: true }, ".sandboxEnabled", "requests a sandbox"],
  ])("%s", async (_, broken, path, words = "") => {
    await expectProblem(broken, { kind: "bad-definition", path, words });
  });

  it.each([
    ["a command in a value", "${command:get}", "commands are never run"],
    ["a file in a value", "${file:/etc/passwd}", "${file:"],
    ["an input without an answer", "${input:key}", 'inputs: { "key"'],
    ["an unclosed reference", "${KEY", "unclosed ${"],
  ])("%s", async (_, reference, words) => {
    const broken = { url: `https://a.example/${reference}` };
    await expectProblem(broken, { kind: "unset-variable", path: ".url", words });
  });

  /** Loads an invalid server next to a valid one. The path is relative to the server. */
  async function expectProblem(broken: unknown, expected: { kind: string; path: string; words: string }) {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { broken, good: httpServer("good") } });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["good"]);
    expect(problems[0]).toMatchObject({
      kind: expected.kind,
      server: "broken",
      file: `${folders.project}/.mcp.json`,
      path: `mcpServers.broken${expected.path}`,
      message: expect.stringContaining(expected.words),
    });
    expect(problems[0]?.line).toBeGreaterThan(1);
    expect(sources[0]?.servers[0]?.state).toBe("broken");
  }

  it("problems do not contain values", async () => {
    using folders = new ConfigFolders();
    const canary = "canary7f3a91";
    folders.write("project/.mcp.json", {
      mcpServers: {
        a: { url: `ftp://a.example/\${KEY}?k=${canary}`, headers: { [`Bearer ${canary}`]: canary } },
        b: { command: canary, args: [{ canary }], env: { A: [canary] } },
        c: { url: `\${${canary}:?}` },
        d: { type: canary, url: "https://a.example" },
      },
    });
    folders.write("project/mcp.json", `{ "mcpServers": ${canary} }`);
    const { problems, sources } = await loadMcpServers(folders.options({ env: { KEY: canary } }));
    expect(problems.length).toBeGreaterThan(4);
    expect(JSON.stringify([problems.map(({ message, path }) => [message, path]), sources])).not.toContain(
      canary,
    );
  });

  it("names with control characters are rejected, and shown without them", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: {
        "\u001b[2Jx\u202e": httpServer("a"),
        "": httpServer("b"),
        ok: { ...httpServer("c"), "\u001b[31mred": 1 },
      },
    });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["ok"]);
    expect(problems.map(({ kind }) => kind)).toEqual(["bad-definition", "bad-definition"]);
    const shown = [...problems, ...(sources[0]?.servers ?? [])].flatMap((item) => Object.values(item));
    // oxlint-disable-next-line no-control-regex -- a control character is what must not be there
    expect(shown.join("\n")).not.toMatch(/\u001b|\u202e/);
  });
});

describe("invalid options", () => {
  it.each([null, 5])("include %j in place of the options", async (options) => {
    expect(await rejection(loadMcpServers(options as never))).toMatchObject({ kind: "invalid-config" });
  });

  it.each<[name: string, filter: () => unknown, received: string]>([
    ["is asynchronous", async () => false, "a promise: a filter cannot be asynchronous"],
    ["is asynchronous, of another realm", runInNewContext("async () => false"), "a promise"],
    [
      "returns a thenable",
      () => ({ then: (resolve: (value: boolean) => void) => resolve(false) }),
      "a promise",
    ],
    ["rejects", () => Promise.reject(new Error("rejected")), "a promise"],
    [
      "rejects in another realm",
      runInNewContext('async () => { throw new Error("rejected"); }'),
      "a promise",
    ],
    ["returns a string", () => "false", 'got "false"'],
    ["returns an object", () => new Boolean(false), "an instance of a class"],
    ["returns nothing", () => undefined, "undefined"],
  ])("include a filter that %s, which would let servers through", async (_, filter, received) => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { a: httpServer("a") } });
    const error = await rejection(loadMcpServers(folders.options({ filter: filter as never })));
    expect(error).toMatchObject({ kind: "invalid-config", issues: [{ path: "filter" }] });
    expect(error.issues[0]?.message).toContain('expected true or false for server "a", got ');
    expect(error.issues[0]?.message).toContain(received);
  });

  it("are reported together", async () => {
    const options = { files: "x", user: "yes", filter: true, inputs: { a: 1 }, file: "typo" };
    const error = await rejection(loadMcpServers(options as never));
    expect(error.kind).toBe("invalid-config");
    expect(error.issues.map(({ path }) => path)).toEqual(["files", "user", "inputs", "filter", ""]);
    expect(error.issues.at(-1)?.message).toContain('unknown key "file" (did you mean "files"?)');
  });

  it("an aborted signal rejects with its reason", async () => {
    using folders = new ConfigFolders();
    const reason = new Error("aborted");
    const signal = AbortSignal.abort(reason);
    await expect(loadMcpServers(folders.options({ signal }))).rejects.toBe(reason);
  });
});
