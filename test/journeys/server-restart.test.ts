import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { McpClient } from "../../src/index.js";
import { eventually, failureOf, times } from "../support/clients.js";
import { EverythingServer } from "../support/everything-server.js";

function echo(message: string) {
  return { name: "echo", args: { message } };
}

describe("server-everything in a process of its own", () => {
  let server: EverythingServer;
  beforeAll(async () => {
    server = await EverythingServer.start();
  });
  afterAll(() => server.kill());

  it("is called and listed", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    expect((await client.callTool(echo("hi"))).text()).toBe("Echo: hi");
    const names = (await client.listTools()).map(({ name }) => name);
    expect(names).toContain("get-sum");
    expect(names).toEqual(names.toSorted());
    expect(client.serverInfo?.name).toContain("everything");
  });

  it("is killed and started again between calls: the next 50 calls work, with one new handshake", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const handshakes: number[] = [];
    client.on("sessionOpened", ({ generation }) => handshakes.push(generation));
    await client.callTool(echo("before"));
    await server.kill();
    await server.start();
    const results = await Promise.all(times(50, (n) => client.callTool(echo(`n${n}`))));
    expect(results.map((result) => result.text())).toEqual(times(50, (n) => `Echo: n${n}`));
    expect(handshakes).toEqual([1, 2]);
  });

  it("is killed during calls: they fail soon, and calls after the restart work", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    await client.ensureSession();
    let progress = 0;
    const operation = { name: "trigger-long-running-operation", args: { duration: 30, steps: 300 } };
    const running = times(5, () =>
      failureOf(client.callTool(operation, { onProgress: () => (progress += 1) })),
    );
    await eventually(() => progress >= 5);
    await server.kill();
    // The operation takes 30 s, this test at most 20: whoever waits for it or for a deadline fails here.
    const failures = await Promise.all(running);
    expect(failures.map(({ kind }) => kind)).toEqual(times(5, () => "connection-lost"));
    expect(failures.map(({ outcomeUnknown, attempts }) => ({ outcomeUnknown, attempts }))).toEqual(
      times(5, () => ({ outcomeUnknown: true, attempts: 1 })),
    );
    expect(await failureOf(client.callTool(echo("while it is down")))).toMatchObject({ kind: "not-sent" });
    await server.start();
    expect((await client.callTool(echo("after"))).text()).toBe("Echo: after");
  });

  it("gives structured content, images and progress", async () => {
    await using client = new McpClient({ name: "everything", url: server.url });
    const weather = await client.callTool({ name: "get-structured-content", args: { location: "New York" } });
    expect(weather.json()).toMatchObject({ temperature: expect.any(Number) });
    const image = await client.callTool({ name: "get-tiny-image" });
    expect(image.content.map(({ type }) => type)).toContain("image");
  });
});
