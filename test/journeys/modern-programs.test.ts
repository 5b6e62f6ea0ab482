import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../src/index.js";
import { echo, eventually, failureOf, ONCE } from "../support/clients.js";

const script = fileURLToPath(new URL("../support/modern-stdio-server.mjs", import.meta.url));
const program = (era: string) => ({ command: process.execPath, args: [script, era] });

describe.each(["modern", "dual"])("a program that speaks 2026-07-28 (%s)", (era) => {
  it("is found out, listed and called, and told when a caller has gone", async () => {
    await using client = new McpClient({ name: "program", ...ONCE, ...program(era) });
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo", "hang", "stopped"]);
    const controller = new AbortController();
    const call = failureOf(client.callTool({ name: "hang" }, { signal: controller.signal }));
    await client.callTool(echo("the other one runs"));
    controller.abort("gone");
    expect(await call).toBe("gone");
    await eventually(async () => (await client.callTool({ name: "stopped" })).text() === "1");
  });
});
