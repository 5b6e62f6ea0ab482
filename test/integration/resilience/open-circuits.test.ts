import { describe, expect, it } from "vitest";
import { type CallToolOptions, McpClient, type ServerDefinition } from "../../../src/index.js";
import { McpServerManager } from "../../../src/manager/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { echo, eventually, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { startRawServer } from "../../fixtures/raw-server.js";

const THRESHOLD = 2;
const SETTINGS = { retry: false, circuitBreaker: { failureThreshold: THRESHOLD } } as const;

function createClient(definition: ServerDefinition, clock: FakeClock): McpClient {
  return new McpClient({ name: "down", ...SETTINGS, ...definition } as ServerDefinition & { name: string }, {
    clock,
  });
}

/** Makes calls that fail until the circuit is open. Failures count at most once in 250 ms. */
async function openCircuit(
  client: McpClient,
  clock: FakeClock,
  options: CallToolOptions = {},
): Promise<void> {
  for (let failures = 0; failures < THRESHOLD; failures += 1) {
    clock.advance(250);
    await rejection(client.callTool(echo(), options));
  }
  expect(client.getBreaker(client.identityOf(options))?.stats().state).toBe("open");
}

describe("an open circuit, with a server that is back", () => {
  it.each<[string, (manager: McpServerManager) => Promise<unknown>]>([
    ["after reconnect()", (manager) => manager.reconnect("down")],
    [
      "after disconnect() and connect()",
      (manager) => manager.disconnect("down").then(() => manager.connect()),
    ],
    ["after close()", (manager) => (manager.clients.get("down") as McpClient).close()],
  ])("lets a call through %s", async (_, reopen) => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    await using manager = new McpServerManager({ down: { url: server.url, ...SETTINGS } }, { clock });
    await manager.connect();
    const client = manager.clients.get("down") as McpClient;
    await server.stop();
    await openCircuit(client, clock);
    await server.start();
    await reopen(manager);
    // The clock stands still: neither a probe nor the recovery timeout has closed the circuit.
    expect((await client.callTool(echo("back"))).text()).toBe("back");
    expect(client.breaker?.stats().state).toBe("closed");
  });

  it.each<[string, ServerDefinition]>([
    ["a token", { url: "", auth: () => "t-12345678", identity: () => "service" }],
    [
      "headers of the caller",
      {
        url: "",
        identity: ({ configurable }) => String(configurable["user"]),
        headers: ({ configurable }) => ({ authorization: `Bearer ${String(configurable["token"])}` }),
      },
    ],
  ])("is probed with %s, because a gateway rejects requests without", async (_, definition) => {
    const clock = new FakeClock();
    let isDown = false;
    await using server = await startRawServer(({ request, response }) => {
      const isAuthorized = request.headers.authorization === "Bearer t-12345678";
      return isAuthorized && !isDown ? false : void response.writeHead(isAuthorized ? 502 : 401).end();
    });
    await using client = createClient({ ...definition, url: server.url } as ServerDefinition, clock);
    const options = { context: { configurable: { user: "alice", token: "t-12345678" } } };
    await client.callTool(echo(), options);
    isDown = true;
    await openCircuit(client, clock, options);
    // Each probe gets 502, so the circuit stays open.
    const stats = () => client.getBreaker(client.identityOf(options))?.stats();
    for (let probes = 1; probes <= 3; probes += 1) {
      await eventually(() => (stats()?.recoversInMs ?? 0) > 0);
      expect(stats()).toMatchObject({ state: "open" });
      clock.advance(stats()?.recoversInMs ?? 0);
    }
    await eventually(() => (stats()?.recoversInMs ?? 0) > 0);
    isDown = false;
    clock.advance(stats()?.recoversInMs ?? 0);
    await eventually(() => stats()?.state === "closed");
    await client.callTool(echo(), options);
  });

  it("is probed if one of the failures was a lost connection, also if the last was not", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    await using client = createClient({ url: server.url }, clock);
    await client.callTool(echo());
    server.addFault({ type: "disconnect", when: "before" }, { method: "tools/call", times: 1 });
    server.addFault({ type: "status", status: 500 }, { method: "tools/call", times: 1 });
    await openCircuit(client, clock);
    clock.advance(250);
    await eventually(() => client.breaker?.stats().state === "closed");
  });

  it("is probed if its server accepted connections without responding", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    const repair = server.addFault({ type: "hang" }, { method: "initialize" });
    await using client = createClient({ url: server.url }, clock);
    for (let failures = 1; failures <= THRESHOLD; failures += 1) {
      const failure = rejection(client.callTool(echo()));
      await eventually(() => server.received("initialize").length === failures);
      expect(await clock.advanceUntilSettled(failure, 10_000)).toMatchObject({ kind: "timeout" });
    }
    expect(client.breaker?.stats().state).toBe("open");
    repair();
    clock.advance(250);
    await eventually(() => client.breaker?.stats().state === "closed");
  });

  it("is probed again after two seconds if a probe hangs", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    await using client = createClient({ url: server.url }, clock);
    await client.callTool(echo());
    await server.stop();
    await openCircuit(client, clock);
    await server.start();
    server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
    clock.advance(client.breaker?.stats().recoversInMs ?? 0);
    await eventually(() => server.received("initialize").length === 2);
    clock.advance(2_000);
    await eventually(() => (client.breaker?.stats().recoversInMs ?? 0) > 0);
    clock.advance(client.breaker?.stats().recoversInMs ?? 0);
    await eventually(() => client.breaker?.stats().state === "closed");
    // The probe that was abandoned waits on the clock for a late response, to end its session.
    await clock.advanceUntilSettled(client.close(), 1_000);
  });
});

it("a call that joins a handshake late waits for another one", async () => {
  const clock = new FakeClock();
  await using server = await startMcpTestServer();
  server.addFault({ type: "hang" }, { method: "initialize", times: 1 });
  await using client = createClient({ url: server.url }, clock);
  const first = rejection(client.callTool(echo()));
  await server.waitFor("initialize");
  clock.advance(8_000);
  const second = client.callTool(echo("second"));
  clock.advance(2_000);
  expect(await first).toMatchObject({ kind: "timeout" });
  expect((await second).text()).toBe("second");
});
