import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Logger, McpClient } from "../../../src/index.js";
import { echo, eventually, rejection, NO_RETRY } from "../../fixtures/clients.js";

const script = fileURLToPath(new URL("../../fixtures/modern-stdio-server.mjs", import.meta.url));
const toDefinition = (era: string) => ({ command: process.execPath, args: [script, era] });

function countStarts(lines: readonly string[]): number {
  return lines.filter((line) => line.includes("started")).length;
}

function createLogger(lines: string[]): Logger {
  const log = (line: string) => lines.push(line);
  return { debug: () => undefined, info: log, warn: log, error: log };
}

describe.each(["modern", "dual"])("a stdio server that supports 2026-07-28 (%s)", (era) => {
  it("is detected, listed and called, and receives cancellations", async () => {
    const lines: string[] = [];
    await using client = new McpClient(
      { name: "program", ...NO_RETRY, ...toDefinition(era) },
      { logger: createLogger(lines) },
    );
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    expect((await client.listTools()).map(({ name }) => name)).toEqual(["echo", "hang", "stopped"]);
    const controller = new AbortController();
    const call = rejection(client.callTool({ name: "hang" }, { signal: controller.signal }));
    await client.callTool(echo("the other one runs"));
    controller.abort("gone");
    expect(await call).toBe("gone");
    await eventually(async () => (await client.callTool({ name: "stopped" })).text() === "1");
    await client.close();
    expect(countStarts(lines)).toBe(1);
  });
});

describe("a stdio server that exits on the first request after it rejected initialize", () => {
  it("is started again and used in the modern era", async () => {
    const lines: string[] = [];
    await using client = new McpClient(
      { name: "program", ...NO_RETRY, ...toDefinition("touchy") },
      { logger: createLogger(lines) },
    );
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    await client.close();
    expect(countStarts(lines)).toBe(2);
  });
});
