import { createServer } from "node:net";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { McpClient, type McpRuntimeError } from "../../../src/index.js";
import { startMcpTestServer } from "../../../src/testing/index.js";
import { deferred, echo, eventually, rejection, times } from "../../fixtures/clients.js";
import { EverythingServer } from "../../fixtures/everything-server.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { startRawServer } from "../../fixtures/raw-server.js";
import { SseServer } from "../../fixtures/sse-server.js";
import { stdioServer } from "../../fixtures/stdio-servers.js";
import { WebSocketTestServer } from "../../fixtures/websocket-server.js";

/** Between the calls of a caller after a failure. */
const PAUSE_MS = 5;

/** A server that is stopped and started at the same address. */
interface RestartableServer extends AsyncDisposable {
  readonly definition: { readonly url: string } | ReturnType<typeof stdioServer>;
  readonly call: { readonly name: string; readonly args: Record<string, unknown> };
  stop(client: McpClient): Promise<void>;
  start(): Promise<void>;
}

const SERVERS: Record<string, () => Promise<RestartableServer>> = {
  "server-everything over HTTP": async () => {
    const server = await EverythingServer.start();
    return {
      definition: { url: server.url },
      call: { name: "echo", args: { message: "hi" } },
      stop: () => server.kill(),
      start: () => server.start(),
      [Symbol.asyncDispose]: () => server.kill(),
    };
  },
  SSE: async () => {
    const server = new SseServer();
    await server.start();
    return {
      definition: { url: server.url },
      call: echo(),
      stop: () => server.stop(),
      start: () => server.start(),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  },
  WebSocket: async () => {
    const upstream = await startMcpTestServer();
    const server = await WebSocketTestServer.serve(upstream);
    return {
      definition: { url: server.url },
      call: echo(),
      stop: () => server.stop(),
      start: () => server.start(),
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]();
        await upstream.close();
      },
    };
  },
  stdio: async () => ({
    definition: stdioServer(),
    call: echo(),
    stop: async (client) => {
      const { pid } = JSON.parse((await client.callTool({ name: "processInfo" })).text()) as { pid: number };
      const lost = new Promise<void>((resolve) => client.on("connectionLost", () => resolve()));
      process.kill(pid, "SIGKILL");
      await lost;
    },
    start: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }),
};

describe.each(Object.keys(SERVERS))("a restart of a server over %s", (name) => {
  it.each([1, 30, 300])(
    "with %i callers: every call that is made once the server is back succeeds",
    { timeout: 60_000 },
    async (callers) => {
      await using server = await (SERVERS[name] as () => Promise<RestartableServer>)();
      await using client = new McpClient({ name: "restarted", ...server.definition });
      await client.callTool(server.call);
      const progress = { isBack: false, isDone: false };
      const failuresAfterReturn: McpRuntimeError[] = [];
      let successesAfterReturn = 0;
      const runCaller = async () => {
        while (!progress.isDone) {
          const wasBack = progress.isBack;
          const outcome = await client.tryCallTool(server.call);
          if (wasBack && outcome.ok) successesAfterReturn += 1;
          if (wasBack && !outcome.ok) failuresAfterReturn.push(outcome.error);
          // With an open circuit calls fail at once: without a pause, callers would keep a core busy.
          if (!outcome.ok) await setTimeout(PAUSE_MS);
        }
      };
      const running = times(callers, runCaller);
      await server.stop(client);
      // Long enough for the circuit to open.
      await eventually(() => client.breaker?.stats().state === "open" || name === "stdio", 20_000).catch(
        () => undefined,
      );
      await server.start();
      progress.isBack = true;
      await eventually(() => successesAfterReturn >= callers * 3 || failuresAfterReturn.length > 0, 30_000);
      progress.isDone = true;
      await Promise.all(running);
      expect(failuresAfterReturn.map(({ kind, message }) => `${kind}: ${message}`)).toEqual([]);
      expect(client.breaker?.stats().state).toBe("closed");
    },
  );
});

/** An address at which nothing listens; attempts to connect are refused. */
async function findFreePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("an outage of a minute, on a driven clock", () => {
  it("causes a bounded number of attempts, and the first probe after the return closes the circuit", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    await server.stop();
    let handshakes = 0;
    await using client = new McpClient({ name: "down", url: server.url, retry: false }, { clock });
    client.on("handshakeStarted", () => (handshakes += 1));
    const states: string[] = [];
    client.on("breakerChanged", ({ state }) => states.push(state));
    // Five failures, at least 250 ms apart, open the circuit.
    for (let failures = 1; failures <= 5; failures += 1) {
      expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "not-sent" });
      expect(client.breaker?.stats().failures).toBe(failures);
      clock.advance(250);
    }
    expect(states).toEqual(["open"]);
    const attemptsBefore = handshakes;
    // A minute later, only probes have tried to connect, with growing delays.
    for (let seconds = 0; seconds < 60; seconds += 0.25) {
      clock.advance(250);
      await eventually(() => (client.breaker?.stats().recoversInMs ?? 0) > 0);
    }
    const probes = handshakes - attemptsBefore;
    expect(probes).toBeGreaterThanOrEqual(15);
    expect(probes).toBeLessThanOrEqual(22);
    // A call does not wait for a probe that is due later than in two seconds.
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "circuit-open" });
    await server.start();
    clock.advance(client.breaker?.stats().recoversInMs ?? 0);
    await eventually(() => client.breaker?.stats().state === "closed");
    expect((await client.callTool(echo("back"))).text()).toBe("back");
    expect(states).toEqual(["open", "closed"]);
    expect(server.requests.filter(({ method }) => method === "tools/call")).toHaveLength(1);
  });

  it("keeps the circuit open although a session was open before", async () => {
    const clock = new FakeClock();
    await using server = await startMcpTestServer();
    await using client = new McpClient({ name: "down", url: server.url, retry: false }, { clock });
    await client.callTool(echo());
    await server.stop();
    const states: string[] = [];
    client.on("breakerChanged", ({ state }) => states.push(state));
    for (let failures = 1; failures <= 5; failures += 1) {
      await rejection(client.callTool(echo()));
      clock.advance(250);
    }
    for (let seconds = 0; seconds < 60; seconds += 0.25) {
      clock.advance(250);
      await eventually(() => (client.breaker?.stats().recoversInMs ?? 0) > 0);
    }
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "circuit-open" });
    expect(states).toEqual(["open"]);
    await server.start();
    clock.advance(client.breaker?.stats().recoversInMs ?? 0);
    await eventually(() => client.breaker?.stats().state === "closed");
    expect((await client.callTool(echo("back"))).text()).toBe("back");
  });

  it("a call waits at most two seconds for a probe of a server that does not respond", async () => {
    const clock = new FakeClock();
    const { promise: probed, resolve: onProbe } = deferred();
    let isHung = false;
    await using server = await startRawServer(({ response }) => {
      if (isHung) onProbe();
      else response.destroy();
    });
    const circuitBreaker = { failureThreshold: 1 };
    await using client = new McpClient(
      { name: "hung", url: server.url, retry: false, circuitBreaker },
      { clock },
    );
    expect(await rejection(client.callTool(echo()))).toMatchObject({ kind: "connection-lost" });
    isHung = true;
    clock.advance(250);
    await probed;
    const failure = rejection(client.callTool(echo()));
    // The probe ends after `connectMs`, which is ten seconds.
    expect(await clock.advanceUntilSettled(failure, 2_000)).toMatchObject({
      kind: "circuit-open",
      message: expect.stringContaining("stays open until it responds. Nothing was sent."),
    });
    server.requests.at(-1)?.response.destroy();
  });

  it("leaves no probe after close()", async () => {
    const clock = new FakeClock();
    const port = await findFreePort();
    const client = new McpClient(
      {
        name: "down",
        url: `http://127.0.0.1:${port}/mcp`,
        retry: false,
        circuitBreaker: { failureThreshold: 1 },
      },
      { clock },
    );
    let handshakes = 0;
    client.on("handshakeStarted", () => (handshakes += 1));
    await rejection(client.callTool(echo()));
    await client.close();
    clock.advance(60_000);
    expect(handshakes).toBe(1);
  });
});

describe("circuit breakers and retry budgets of identities", () => {
  type Context = { readonly configurable: Record<string, unknown> };
  const userOf = ({ configurable }: Context) => String(configurable["user"]);
  const IDENTITIES = 50;
  const create = (definition: object) =>
    new McpClient({
      name: "down",
      identity: userOf,
      retry: false,
      limits: { identities: IDENTITIES },
      ...definition,
    } as never);
  const callAs = (client: McpClient, user: number) =>
    rejection(client.callTool(echo(), { context: { configurable: { user } } }));
  const countBreakers = (client: McpClient) => {
    const { closed, open, "half-open": halfOpen } = client.metrics().breakers;
    return closed + open + halfOpen;
  };
  const createForAddress = async () => {
    const headers = (context: Context) => ({ "x-user": userOf(context) });
    return create({ url: `http://127.0.0.1:${await findFreePort()}/mcp`, headers });
  };

  it("are bounded, also when no session was ever opened", async () => {
    await using client = await createForAddress();
    for (const user of times(500, (index) => index)) await callAs(client, user);
    expect(countBreakers(client)).toBeLessThanOrEqual(IDENTITIES);
  });

  // Ten thousand of anything take seconds on a busy machine.
  it("are bounded for 10,000 users whose server cannot be resolved", { timeout: 60_000 }, async () => {
    const resolve = async () => {
      throw new Error("no such user");
    };
    await using client = create({ resolve });
    // Mapping the stacks of all errors to the source would take most of the time.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      for (const user of times(10_000, (index) => index)) await callAs(client, user);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
    expect(countBreakers(client)).toBeLessThanOrEqual(IDENTITIES);
  });

  it("are bounded if the client is closed after each user", async () => {
    await using client = await createForAddress();
    for (const user of times(200, (index) => index)) {
      await callAs(client, user);
      await client.close();
    }
    expect(countBreakers(client)).toBeLessThanOrEqual(IDENTITIES);
  });
});
