import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { McpClient } from "../../../src/index.js";
import { echo, eventually, rejection, NO_RETRY } from "../../fixtures/clients.js";
import { RecordingLogger } from "../../fixtures/recording-logger.js";

const script = fileURLToPath(new URL("../../fixtures/modern-stdio-server.mjs", import.meta.url));
const toDefinition = (era: string) => ({ command: process.execPath, args: [script, era] });

function countStarts({ messages }: RecordingLogger): number {
  return messages.filter((message) => message.includes("started")).length;
}

describe.each(["modern", "dual"])("a stdio server that supports 2026-07-28 (%s)", (era) => {
  it("is detected, listed and called, and receives cancellations", async () => {
    const logger = new RecordingLogger();
    await using client = new McpClient({ name: "program", ...NO_RETRY, ...toDefinition(era) }, { logger });
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
    expect(countStarts(logger)).toBe(1);
  });
});

describe("a stdio server that exits on the first request after it rejected initialize", () => {
  it("is started again and used in the modern era", async () => {
    const logger = new RecordingLogger();
    await using client = new McpClient(
      { name: "program", ...NO_RETRY, ...toDefinition("touchy") },
      { logger },
    );
    expect((await client.callTool(echo("hi"))).text()).toBe("hi");
    expect(client.protocolVersion).toBe("2026-07-28");
    await client.close();
    expect(countStarts(logger)).toBe(2);
  });
});
