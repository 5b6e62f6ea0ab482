import { describe, expect, it } from "vitest";
import { type LoadedMcpServers, loadMcpServers } from "../../../../src/index.js";
import { failureOf } from "../../../fixtures/clients.js";
import { ConfigFolders } from "../../../fixtures/config-folders.js";

/** A server by its address alone. */
const at = (host: string) => ({ type: "http", url: `https://${host}.example/mcp` });

/** What became of each server, in order: `file name state`. */
function fates({ sources }: LoadedMcpServers, { root }: ConfigFolders): string[] {
  return sources.flatMap(({ file, servers }) =>
    servers.map(({ name, state }) => `${file.slice(root.length + 1)} ${name} ${state}`),
  );
}

describe("precedence", () => {
  it("given files come first, then the project's, then the user's, and the first of a name is taken", async () => {
    using folders = new ConfigFolders();
    const given = folders.write("given.json", { mcpServers: { a: at("given") } });
    folders.write("home/.cursor/mcp.json", { mcpServers: { a: at("u"), b: at("u"), c: at("u") } });
    folders.write("project/.cursor/mcp.json", { mcpServers: { b: at("p2"), d: at("p2d") } });
    folders.write("project/.mcp.json", { mcpServers: { a: at("p"), b: at("p") } });
    const found = await loadMcpServers(folders.options({ files: [given], user: true }));
    expect(found.servers).toEqual({ a: at("given"), b: at("p"), d: at("p2d"), c: at("u") });
    expect(found.problems).toEqual([]);
    expect(fates(found, folders)).toEqual([
      "given.json a taken",
      "project/.mcp.json a shadowed",
      "project/.mcp.json b taken",
      "project/.cursor/mcp.json b shadowed",
      "project/.cursor/mcp.json d taken",
      "home/.cursor/mcp.json a shadowed",
      "home/.cursor/mcp.json b shadowed",
      "home/.cursor/mcp.json c taken",
    ]);
  });

  it("the user's files are read only when asked for, the project's unless not", async () => {
    using folders = new ConfigFolders();
    folders.write("home/.cursor/mcp.json", { mcpServers: { u: at("u") } });
    folders.write("project/.mcp.json", { mcpServers: { p: at("p") } });
    expect(Object.keys((await loadMcpServers(folders.options())).servers)).toEqual(["p"]);
    const none = await loadMcpServers(folders.options({ project: false }));
    expect(none).toEqual({ servers: {}, problems: [], sources: [] });
  });

  it("one server under two names is taken once, and no problem", async () => {
    using folders = new ConfigFolders();
    const header = (value: string) => ({ ...at("x"), headers: { Authorization: value } });
    folders.write("project/.mcp.json", {
      mcpServers: {
        first: header("t1"),
        second: { url: "https://X.example:443/mcp", type: "sse", headers: { authorization: "t1" } },
        other: header("t2"),
        run: { command: "x", args: ["1"], env: { A: "1", B: "2" } },
        again: { command: "x", args: ["1"], env: { B: "2", A: "1" }, cwd: "." },
      },
    });
    const found = await loadMcpServers(folders.options());
    expect(Object.keys(found.servers)).toEqual(["first", "other", "run"]);
    expect(found.problems).toEqual([]);
    const file = `${folders.project}/.mcp.json`;
    expect(found.sources[0]?.servers[1]).toMatchObject({
      state: "shadowed",
      reason: `it is "first" of ${file} by another name`,
    });
  });

  it("one address with two grants is two servers: they may be two accounts", async () => {
    using folders = new ConfigFolders();
    const grant = { grant: "jwt-bearer", issuer: "https://auth.example", assertion: "aa.bb.cc" };
    const { assertion, ...rest } = grant;
    folders.write("project/.mcp.json", {
      mcpServers: {
        none: at("x"),
        first: { ...at("x"), auth: grant },
        same: { ...at("x"), auth: { assertion, ...rest } },
        other: { ...at("x"), auth: { ...grant, issuer: "https://other.example" } },
        third: { ...at("x"), auth: { ...grant, assertion: "aa.bb.dd" } },
      },
    });
    const { servers } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["none", "first", "other", "third"]);
  });

  it("a definition that is off or broken still has its name: nothing else takes its place", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: { off: { ...at("a"), enabled: false }, broken: { url: "${MISSING}" } },
    });
    folders.write("project/.cursor/mcp.json", { mcpServers: { off: at("b"), broken: at("c") } });
    const found = await loadMcpServers(folders.options());
    expect(found.servers).toEqual({});
    expect(fates(found, folders)).toEqual([
      "project/.mcp.json off disabled",
      "project/.mcp.json broken broken",
      "project/.cursor/mcp.json off shadowed",
      "project/.cursor/mcp.json broken shadowed",
    ]);
  });

  it("a folder that is project and home at once is the project's", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.cursor/mcp.json", { mcpServers: { a: at("a") } });
    const { sources } = await loadMcpServers(folders.options({ home: folders.project, user: true }));
    expect(sources.map(({ scope }) => scope)).toEqual(["project"]);
  });
});

describe("which servers", () => {
  const three = { mcpServers: { a: at("a"), b: at("b"), c: at("c") } };

  it("by enabledServers and disabledServers, of which the latter counts more", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", three);
    const names = async (options: object) =>
      Object.keys((await loadMcpServers(folders.options(options))).servers);
    expect(await names({ enabledServers: ["a", "b"] })).toEqual(["a", "b"]);
    expect(await names({ disabledServers: ["a"] })).toEqual(["b", "c"]);
    expect(await names({ enabledServers: ["a", "b"], disabledServers: ["b"] })).toEqual(["a"]);
    expect(await names({ enabledServers: [] })).toEqual([]);
  });

  it("a name in enabledServers that no file has is told", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", three);
    const { problems } = await loadMcpServers(folders.options({ enabledServers: ["a", "bb"] }));
    expect(problems).toEqual([expect.objectContaining({ kind: "unknown-server", server: "bb" })]);
  });

  it("by lists in the file itself", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { ...three, disabledServers: ["a"] });
    folders.write("project/.cursor/mcp.json", {
      mcpServers: { d: at("d"), e: at("e") },
      enabledServers: ["d"],
    });
    const { servers } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["b", "c", "d"]);
  });

  it("by a filter, which sees where each comes from and what it would be", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { run: { command: "evil" }, web: at("web") } });
    folders.write("home/.cursor/mcp.json", { mcpServers: { run: { command: "good" } } });
    const found = await loadMcpServers(
      folders.options({
        user: true,
        filter: ({ source, definition }) => source.scope !== "project" || !("command" in definition),
      }),
    );
    expect(found.servers).toMatchObject({ run: { command: "good" }, web: at("web") });
    expect(fates(found, folders)[0]).toBe("project/.mcp.json run filtered");
  });

  it("not those of .mcp.json that somebody has rejected in Claude Code", async () => {
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

  it("a project cannot say that its servers' hints are to be trusted", async () => {
    using folders = new ConfigFolders();
    const trusting = { mcpServers: { a: { ...at("a"), trustAnnotations: true } } };
    folders.write("project/.mcp.json", trusting);
    const given = folders.write("mine.json", { mcpServers: { b: { ...at("b"), trustAnnotations: true } } });
    const { servers, sources } = await loadMcpServers(folders.options({ files: [given] }));
    expect(servers).toEqual({ a: at("a"), b: { ...at("b"), trustAnnotations: true } });
    expect(sources[1]?.servers[0]?.ignored).toEqual(["trustAnnotations"]);
  });
});

describe("a bad server costs only itself", () => {
  it("a variable that is not set, told with its place", async () => {
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
        message:
          'Server "shop", headers.Authorization: needs the environment variable SHOP_TOKEN, which is not set: set it, or write ${SHOP_TOKEN:-default}.',
      },
    ]);
  });

  it.each([
    ["no object", "text", "expected an object"],
    ["no kind", {}, "tells no kind of server"],
    ["two kinds", { url: "https://a.example", command: "a" }, "is of two kinds"],
    ["an unknown type", { type: "carrier-pigeon", url: "https://a.example" }, "expected one of http"],
    ["no address", { url: "not an address" }, "expected an address that starts with"],
    ["a wrong list", { command: "a", args: "b" }, "args"],
    ["a wrong argument", { command: "a", args: ["1", 2, 3] }, "args[1]: expected a text, found a number"],
    ["a wrong header", { url: "https://a.example", headers: { x: 1 } }, "headers.x: expected a text"],
    ["a switch that is none", { command: "a", disabled: "yes" }, "expected true or false"],
    ["a command for its headers", { url: "https://a.example", headersHelper: "get-token" }, "never run"],
    ["a sandbox", { command: "a", sandboxEnabled: true }, "asks for a sandbox"],
    ["an env file that is not there", { command: "a", envFile: "nowhere.env" }, "envFile"],
    ["an option of ours that is wrong", { url: "https://a.example", retry: { maxRetries: -1 } }, "retry.max"],
    ["a command in a value", { url: "https://a.example/${command:get}" }, "commands are never run"],
    ["a file in a value", { url: "https://a.example/${file:/etc/passwd}" }, "which is not read here"],
    ["an input nobody answered", { url: "https://a.example/${input:key}" }, 'inputs: { "key"'],
    ["an open reference", { url: "https://a.example/${KEY" }, "without its }"],
  ])("%s", async (_, broken, expected) => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { broken, good: at("good") } });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["good"]);
    expect(problems[0]).toMatchObject({ server: "broken", file: `${folders.project}/.mcp.json` });
    expect(problems[0]?.message).toContain(expected);
    expect(problems[0]?.line).toBeGreaterThan(1);
    expect(sources[0]?.servers[0]?.state).toBe("broken");
  });

  it("values are in no problem", async () => {
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

  it("names that would change what a terminal shows are refused, and shown without", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", {
      mcpServers: { "\u001b[2Jx\u202e": at("a"), "": at("b"), ok: { ...at("c"), "\u001b[31mred": 1 } },
    });
    const { servers, problems, sources } = await loadMcpServers(folders.options());
    expect(Object.keys(servers)).toEqual(["ok"]);
    expect(problems.map(({ kind }) => kind)).toEqual(["bad-definition", "bad-definition"]);
    const shown = [...problems, ...(sources[0]?.servers ?? [])].flatMap((one) => Object.values(one));
    // oxlint-disable-next-line no-control-regex -- a control character is what must not be there
    expect(shown.join("\n")).not.toMatch(/\u001b|\u202e/);
  });
});

describe("options that cannot be meant", () => {
  it("are no options at all, or a filter that decides later and so would let everything in", async () => {
    using folders = new ConfigFolders();
    folders.write("project/.mcp.json", { mcpServers: { a: at("a") } });
    const late = { ...folders.options(), filter: () => Promise.resolve(false) };
    for (const options of [null, 5, late])
      expect(await failureOf(loadMcpServers(options as never))).toMatchObject({ kind: "invalid-config" });
  });

  it("are refused, all together", async () => {
    const options = { files: "x", user: "yes", filter: true, inputs: { a: 1 }, file: "typo" };
    const error = await failureOf(loadMcpServers(options as never));
    expect(error.kind).toBe("invalid-config");
    expect(error.issues.map(({ path }) => path)).toEqual(["files", "user", "filter", "inputs", "file"]);
  });

  it("a caller that is gone gets its own reason", async () => {
    using folders = new ConfigFolders();
    const reason = new Error("gone");
    const signal = AbortSignal.abort(reason);
    await expect(loadMcpServers(folders.options({ signal }))).rejects.toBe(reason);
  });
});
