import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../../src/errors/redaction.js";
import { HttpConnector } from "../../../src/net/http-connector.js";
import { HttpRequestHandler, type RequestLane } from "../../../src/net/http-request.js";
import { PooledDispatchers } from "../../../src/net/pooled-dispatchers.js";
import { eventually, deferred } from "../../fixtures/clients.js";
import { findFreePort } from "../../fixtures/listener.js";

function createDispatchers(port: number, sockets: number, now = () => performance.now()): PooledDispatchers {
  const origin = new URL(`http://127.0.0.1:${port}`);
  const connector = new HttpConnector({
    origin,
    tls: undefined,
    connectMs: 10_000,
    redactor: new Redactor(),
  });
  return new PooledDispatchers({ origin: origin.origin, sockets, connector, now });
}

/** Resolves with the response status, or with the code of the connection error. */
function get(dispatchers: PooledDispatchers, lane: RequestLane = "call"): Promise<unknown> {
  return new Promise((resolve) => {
    const handler = new HttpRequestHandler({
      onHeaders: (status, headers) => {
        dispatchers.onResponseHeaders(headers);
        return { data: () => undefined, end: () => resolve(status) };
      },
      onError: (error) => resolve(Reflect.get(error, "code")),
    });
    handler.start(dispatchers.dispatcherFor(lane), { method: "GET", path: "/", headers: {} });
  });
}

/** A server on a free port that does not listen yet. It never closes an idle connection. */
async function lateServer() {
  const server = createServer((_, response) => response.end("ok"));
  server.keepAliveTimeout = 0;
  const port = await findFreePort();
  return {
    port,
    /** Listens synchronously: without a host there is no lookup to wait for. */
    listen: () => void server.listen(port),
    openSockets: () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    async [Symbol.asyncDispose]() {
      await closeServer(server);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/**
 * Runs `act` at the first failed connection, which undici reports before it handles the next queued
 * request.
 */
async function onFirstConnectError(act: () => void, work: () => Promise<void>): Promise<void> {
  let isDone = false;
  const listener = () => {
    if (!isDone) act();
    isDone = true;
  };
  subscribe("undici:client:connectError", listener);
  try {
    await work();
  } finally {
    unsubscribe("undici:client:connectError", listener);
  }
}

describe("close", () => {
  it("closes a connection that undici opened after a refused one and does not track", async () => {
    await using server = await lateServer();
    const dispatchers = createDispatchers(server.port, 1);
    await onFirstConnectError(server.listen, async () => {
      const results = await Promise.all([get(dispatchers), get(dispatchers)]);
      expect(results).toEqual(["ECONNREFUSED", 200]);
    });
    expect(await server.openSockets()).toBe(1);
    await dispatchers.close();
    await eventually(async () => (await server.openSockets()) === 0);
  });

  it("is permanent: no connection is opened afterwards", async () => {
    await using server = await lateServer();
    server.listen();
    const dispatchers = createDispatchers(server.port, 4);
    expect(await get(dispatchers)).toBe(200);
    await dispatchers.close();
    for (const lane of ["call", "notification", "stream"] as const)
      expect(await get(dispatchers, lane)).toMatch(/^UND_ERR_(DESTROYED|CLOSED)$/);
    await eventually(async () => (await server.openSockets()) === 0);
  });
});

/** A server that sends this `Keep-Alive` header. */
async function startKeepAliveServer(
  keepAlive: string | undefined,
  mayRespond: Promise<void> = Promise.resolve(),
) {
  let sockets = 0;
  const server = createServer((_, response) => {
    if (keepAlive !== undefined) response.setHeader("keep-alive", keepAlive);
    void mayRespond.then(() => response.end("ok"));
  });
  // It does not close idle sockets itself: in these tests only the client does.
  server.keepAliveTimeout = 0;
  server.on("connection", () => {
    sockets += 1;
  });
  server.listen(0);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    /** How many sockets were opened in total. */
    sockets: () => sockets,
    async [Symbol.asyncDispose]() {
      await closeServer(server);
    },
  };
}

/** Undici returns a socket to the pool one turn of the event loop after the response. */
async function untilIdle(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("an idle socket", () => {
  const cases = [
    { keepAlive: "timeout=5", usedAfterMs: 3_900, closedAfterMs: 4_000 },
    { keepAlive: "max=100, Timeout=20", usedAfterMs: 18_900, closedAfterMs: 19_000 },
    { keepAlive: "timeout=600", usedAfterMs: 29_900, closedAfterMs: 30_000 },
    { keepAlive: undefined, usedAfterMs: 29_900, closedAfterMs: 30_000 },
  ];

  it.each(cases)(
    "is reused after $usedAfterMs ms and closed after $closedAfterMs ms with Keep-Alive: $keepAlive",
    async ({ keepAlive, usedAfterMs, closedAfterMs }) => {
      await using server = await startKeepAliveServer(keepAlive);
      let now = 0;
      const dispatchers = createDispatchers(server.port, 4, () => now);
      expect(await get(dispatchers)).toBe(200);
      await untilIdle();
      now += usedAfterMs;
      expect(await get(dispatchers)).toBe(200);
      expect(server.sockets()).toBe(1);
      await untilIdle();
      now += closedAfterMs;
      expect(await get(dispatchers)).toBe(200);
      expect(server.sockets()).toBe(2);
      await dispatchers.close();
    },
  );

  it("with a running request is not closed", async () => {
    const { promise, resolve } = deferred();
    await using server = await startKeepAliveServer("timeout=5", promise);
    let now = 0;
    const dispatchers = createDispatchers(server.port, 4, () => now);
    const slow = get(dispatchers);
    await eventually(() => server.sockets() === 1);
    now += 60_000;
    const next = get(dispatchers);
    await eventually(() => server.sockets() === 2);
    resolve();
    expect(await Promise.all([slow, next])).toEqual([200, 200]);
    await dispatchers.close();
  });
});
