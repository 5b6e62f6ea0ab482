import { describe, expect, it } from "vitest";
import { fileStore } from "../../../src/stores/index.js";
import { cli } from "../../fixtures/fake-terminal.js";
import { TemporaryFolder } from "../../fixtures/temporary-folder.js";

const ADDRESS = "https://tools.example.com/mcp";
const ARN = "arn:aws:lambda:eu-west-1:123456789012:function:mcp";

describe("publish and withdraw", () => {
  it("write and remove the record of a server", async () => {
    using folder = new TemporaryFolder({});
    await using store = fileStore(`${folder.path}/registry`);
    const published = await cli(folder, "publish", "weather", ADDRESS, "--store", "registry");
    expect(published).toEqual({ code: 0, stdout: "✓ weather is published.\n", stderr: "" });
    await cli(folder, "publish", "reports", ARN, "--store", "registry");
    expect(await store.get("servers/1/weather")).toEqual({ name: "weather", url: ADDRESS });
    expect(await store.get("servers/1/reports")).toEqual({ name: "reports", functionName: ARN });
    const withdrawn = await cli(folder, "withdraw", "weather", "--store", "registry", "--json");
    expect(JSON.parse(withdrawn.stdout)).toEqual({
      command: "withdraw",
      ok: true,
      exitCode: 0,
      server: "weather",
    });
    expect(await store.list("")).toEqual(["servers/1/reports"]);
  });

  it("a server that was not published is reported when it is withdrawn", async () => {
    using folder = new TemporaryFolder({});
    const { code, stdout } = await cli(folder, "withdraw", "wether", "--store", "registry");
    expect([code, stdout]).toEqual([0, "· wether was not published in this store.\n"]);
  });

  it.each<[string, readonly string[], number, string]>([
    ["a missing address", ["publish", "weather", "--store", "x"], 2, "publish needs a name and an address."],
    ["a missing name", ["withdraw", "--store", "x"], 2, "withdraw needs the name of one server."],
    ["a missing store", ["publish", "weather", ADDRESS], 2, "publish needs a store."],
    ["an unknown store", ["withdraw", "weather", "--store", "reddis://x"], 2, "unknown protocol"],
    ["an invalid URL", ["publish", "weather", "tools.example.com", "--store", "x"], 2, "url: expected a URL"],
    [
      "a password",
      ["publish", "weather", "https://u:canary@example.com", "--store", "x"],
      2,
      "has a user or password",
    ],
    [
      "a server option",
      ["publish", "weather", ADDRESS, "--header", "a: b"],
      2,
      "publish has no option --header.",
    ],
    [
      "a store that does not respond",
      ["withdraw", "weather", "--store", "redis://:canary@127.0.0.1:1"],
      1,
      "could not delete",
    ],
  ])("reject %s", async (_, args, code, text) => {
    using folder = new TemporaryFolder({});
    const result = await cli(folder, ...args);
    expect([result.code, result.stdout]).toEqual([code, ""]);
    expect(result.stderr).toContain(text);
    expect(result.stderr).not.toContain("canary");
  });

  it("have help without the options that select servers", async () => {
    const { stdout } = await cli(undefined, "publish", "--help");
    expect(stdout).toContain("publish <name> <url>");
    expect(stdout).toContain("--store <store>");
    expect(stdout).not.toContain("--header");
  });
});
