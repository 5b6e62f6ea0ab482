import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Logger, McpClient } from "../../../src/index.js";
import { echo, eventually, failureOf, ONCE } from "../../fixtures/clients.js";

const script = fileURLToPath(new URL("../../fixtures/modern-stdio-server.mjs", import.meta.url));
const program = (era: string) => ({ command: process.execPath, args: [script, era] });

function startsOf(lines: readonly string[]): number {
  return lines.filter((line) => line.includes("started")).length;
}

function logInto(lines: string[]): Logger {
  const log = (line: string) => lines.push(line);
  return { debug: () => undefined, info: log, warn: log, error: log };
}

describe.each(["modern", "dual"])("a program that speaks 2026-07-28 (%s)", (era) => {
  it("is found out, listed and called, and told when a caller has gone", async () => {
    const lines: string[] = [];
    await using client = new McpClient(
      { name: "program", ...ONCE, ...program(era) },
      { logger: logInto(lines) },
    );
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo", "hang", "stopped"]);
    const controller = new AbortController();
    const call = failureOf(client.callTool({ name: "hang" }, { signal: controller.signal }));
    await client.callTool(echo("the other one runs"));
    controller.abort("gone");
    expect(await call).toBe("gone");
    await eventually(async () => (await client.callTool({ name: "stopped" })).text() === "1");
    await client.close();
    expect(startsOf(lines)).toBe(1);
  });
});

describe("a program that dies when it is spoken to after it has refused the greeting", () => {
  it("is started again, and spoken to in its own way", async () => {
    const lines: string[] = [];
    await using client = new McpClient(
      { name: "program", ...ONCE, ...program("touchy") },
      { logger: logInto(lines) },
    );
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    await client.close();
    expect(startsOf(lines)).toBe(2);
  });
});
