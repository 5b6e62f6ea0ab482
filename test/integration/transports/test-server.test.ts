import { expect, it } from "vitest";
import { startMcpTestServer } from "../../../src/testing/index.js";

it("a test server listens on the port of its options, and keeps it over a restart", async () => {
  const first = await startMcpTestServer();
  const { url } = first;
  const port = Number(new URL(url).port);
  await expect(startMcpTestServer({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  await first.close();

  await using second = await startMcpTestServer({ port });
  expect(second.url).toBe(url);
  await second.restart();
  expect(second.url).toBe(url);
});

it("a test server rejects an invalid port", async () => {
  for (const port of [-1, 70_000, "socket" as never])
    await expect(startMcpTestServer({ port })).rejects.toMatchObject({ code: "ERR_SOCKET_BAD_PORT" });
});
