import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createMcpTools, loadMcpServers } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { failureOf, ONCE } from "../../fixtures/clients.js";
import { ConfigFolders } from "../../fixtures/config-folders.js";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** What npx needs to start the reference server without a network. */
function missing(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  if (!folders.some((folder) => existsSync(join(folder, "npx")))) return "there is no npx";
  const program = join(repository, "node_modules/.bin/mcp-server-everything");
  return existsSync(program) ? undefined : "the reference server is not installed";
}

describe("servers of config files", () => {
  it("a program that npx starts is used from a project's file", async (test) => {
    test.skip(missing() !== undefined, missing());
    using folders = new ConfigFolders();
    folders.write(
      "project/.mcp.json",
      `{
        "mcpServers": {
          // --no-install: found in node_modules, never in the network
          "everything": {
            "command": "npx",
            "args": ["--no-install", "\${PACKAGE:-@modelcontextprotocol/server-everything}", "stdio"],
            "cwd": "\${REPOSITORY}",
            "env": { "npm_config_offline": "true", "npm_config_update_notifier": "false" },
          },
        },
      }`,
    );
    const { servers, problems } = await loadMcpServers(folders.options({ env: { REPOSITORY: repository } }));
    expect(problems).toEqual([]);
    await using mcp = await createMcpTools(servers);
    const result = await mcp.callTool({ name: "everything__echo", args: { message: "from a file" } });
    expect(result.text()).toContain("from a file");
  });

  it("a token from the environment reaches its server, and nothing that is shown", async () => {
    const token = "canary7f3a91secret";
    await using server = await startMcpTestServer({ responseFormat: "json" });
    using folders = new ConfigFolders();
    folders.write("project/.vscode/mcp.json", {
      servers: {
        // In a path nobody would look for it.
        shop: { type: "http", url: `${server.url}?x=1`, headers: { "x-shop": "${env:SHOP_TOKEN}" } },
        hidden: {
          command: "node",
          args: ["-e", "console.error('key is ' + process.argv[1])", "${SHOP_TOKEN}"],
        },
      },
    });
    const found = await loadMcpServers(folders.options({ env: { SHOP_TOKEN: token } }));
    const { shop, hidden } = found.servers;
    await using mcp = await createMcpTools({ shop: shop as never });
    await mcp.callTool({ name: "shop__echo", args: { text: "hello" } });
    expect(server.requests.at(-1)?.headers["x-shop"]).toBe(token);
    const logger = { debug() {}, info() {}, warn() {}, error() {} };
    const error = await failureOf(createMcpTools({ hidden: { ...hidden, ...ONCE } as never }, { logger }));
    expect(error.message).toContain("key is [redacted]");
    expect(JSON.stringify([found.sources, found.problems])).not.toContain(token);
  });
});
