import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { HttpConnector } from "../../../src/net/http-connector.js";
import { HttpRequestHandler } from "../../../src/net/http-request.js";
import type { HttpWay } from "../../../src/net/http-pool.js";
import { OwnConnections } from "../../../src/net/pooled-dispatchers.js";
import { eventually, gate } from "../../fixtures/clients.js";

function connectionsTo(port: number, sockets: number, now = () => performance.now()): OwnConnections {
  const connector = new HttpConnector({ connectMs: 10_000, secureContext: undefined, proxy: undefined });
  return new OwnConnections({ origin: `http://127.0.0.1:${port}`, sockets, connector, now });
}

/** The status of the answer, or what the connection failed of. */
function get(connections: OwnConnections, way: HttpWay = "call"): Promise<unknown> {
  return new Promise((resolve) => {
    const exchange = new HttpRequestHandler({
      onHead: (status, headers) => {
        connections.heard(headers);
        return { data: () => undefined, end: () => resolve(status) };
      },
      onBroken: (error) => resolve(Reflect.get(error, "code")),
    });
    exchange.start(connections.dispatcherFor(way), { method: "GET", path: "/", headers: {} });
  });
}

/** A server that is not there yet, on a port that is free. It never ends an idle connection. */
async function lateServer() {
  const server = createServer((_, response) => response.end("ok"));
  server.keepAliveTimeout = 0;
  const port = await freePort();
  return {
    port,
    /** From this line on: without a host there is nothing to wait for. */
    listen: () => void server.listen(port),
    openSockets: () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    async [Symbol.asyncDispose]() {
      await closed(server);
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await closed(server);
  return port;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** Undici tells when a connection could not be made, before it goes on to the next request in its queue. */
async function atFirstRefusal(act: () => void, work: () => Promise<void>): Promise<void> {
  let isDone = false;
  const listener = () => {
    if (!isDone) act();
    isDone = true;
  };
  subscribe("undici:client:connectError", listener);
  await work();
  unsubscribe("undici:client:connectError", listener);
}

describe("closing", () => {
  it("ends a connection that undici made after a refused one, and lost sight of", async () => {
    await using server = await lateServer();
    const connections = connectionsTo(server.port, 1);
    await atFirstRefusal(server.listen, async () => {
      const answers = await Promise.all([get(connections), get(connections)]);
      expect(answers).toEqual(["ECONNREFUSED", 200]);
    });
    expect(await server.openSockets()).toBe(1);
    await connections.close();
    await eventually(async () => (await server.openSockets()) === 0);
  });

  it("is for good: nothing connects afterwards", async () => {
    await using server = await lateServer();
    server.listen();
    const connections = connectionsTo(server.port, 4);
    expect(await get(connections)).toBe(200);
    await connections.close();
    for (const way of ["call", "aside", "stream"] as const)
      expect(await get(connections, way)).toMatch(/^UND_ERR_(DESTROYED|CLOSED)$/);
    await eventually(async () => (await server.openSockets()) === 0);
  });
});

/** A server that says for how long it keeps an idle socket. */
async function keepingServer(keepAlive: string | undefined, mayAnswer: Promise<void> = Promise.resolve()) {
  let sockets = 0;
  const server = createServer((_, response) => {
    if (keepAlive !== undefined) response.setHeader("keep-alive", keepAlive);
    void mayAnswer.then(() => response.end("ok"));
  });
  // It says so, and does not do it: whatever ends a socket in these tests, it is the client.
  server.keepAliveTimeout = 0;
  server.on("connection", () => {
    sockets += 1;
  });
  server.listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    /** How many were ever opened. */
    sockets: () => sockets,
    async [Symbol.asyncDispose]() {
      await closed(server);
    },
  };
}

/** Undici takes a socket back a turn of the event loop after its answer. */
async function freed(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("an idle socket", () => {
  const cases = [
    { says: "timeout=5", usedAfterMs: 3_900, endedAfterMs: 4_000 },
    { says: "max=100, Timeout=20", usedAfterMs: 18_900, endedAfterMs: 19_000 },
    { says: "timeout=600", usedAfterMs: 29_900, endedAfterMs: 30_000 },
    { says: undefined, usedAfterMs: 29_900, endedAfterMs: 30_000 },
  ];

  it.each(cases)(
    "of a server that says $says is used until $usedAfterMs ms later, and not when the server may close it",
    async ({ says, usedAfterMs, endedAfterMs }) => {
      await using server = await keepingServer(says);
      let now = 0;
      const connections = connectionsTo(server.port, 4, () => now);
      expect(await get(connections)).toBe(200);
      await freed();
      now += usedAfterMs;
      expect(await get(connections)).toBe(200);
      expect(server.sockets()).toBe(1);
      await freed();
      now += endedAfterMs;
      expect(await get(connections)).toBe(200);
      expect(server.sockets()).toBe(2);
      await connections.close();
    },
  );

  it("that is at work is none, however long that takes", async () => {
    const { opened, open } = gate();
    await using server = await keepingServer("timeout=5", opened);
    let now = 0;
    const connections = connectionsTo(server.port, 4, () => now);
    const slow = get(connections);
    await eventually(() => server.sockets() === 1);
    now += 60_000;
    const next = get(connections);
    await eventually(() => server.sockets() === 2);
    open();
    expect(await Promise.all([slow, next])).toEqual([200, 200]);
    await connections.close();
  });
});
