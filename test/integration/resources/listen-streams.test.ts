import { describe, expect, it } from "vitest";
import {
  type JsonObject,
  type JsonRpcMessage,
  McpClient,
  type McpRuntimeError,
  type MessageTransport,
} from "../../../src/index.js";
import { eventually, failureOf, ONCE } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const DISCOVERED = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
};

/** A server without sessions at the other end of a line, whose streams a test answers by hand. */
class StreamingServer {
  /** The requests for a stream that are open, the oldest first. */
  readonly streams: JsonRpcMessage[] = [];
  readonly transport: MessageTransport = {
    start: async () => undefined,
    close: async () => this.transport.onclose?.(),
    send: async (message) => this.#hear(message),
  };
  onStream: (stream: JsonRpcMessage) => void = () => undefined;

  client(clock?: FakeClock): McpClient {
    const openTransport = () => this.transport;
    const timeouts = clock === undefined ? {} : { connectMs: 0, requestMs: 0, totalMs: 0 };
    return new McpClient(
      { name: "streams", protocol: "2026-07-28", openTransport, ...ONCE, timeouts },
      { clock },
    );
  }

  say(message: Omit<JsonRpcMessage, "jsonrpc">): void {
    this.transport.onmessage?.({ jsonrpc: "2.0", ...message });
  }

  acknowledge({ id }: JsonRpcMessage): void {
    const params = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    this.say({ method: "notifications/subscriptions/acknowledged", params });
  }

  refuse(stream: JsonRpcMessage, error = { code: -32602, message: "no such resource" }): void {
    this.streams.splice(this.streams.indexOf(stream), 1);
    this.say({ id: stream.id, error });
  }

  /** Takes every stream but one for this URI. */
  takeAllBut(uri: string): void {
    this.onStream = (stream) =>
      wantedBy(stream).includes(uri) ? this.refuse(stream) : this.acknowledge(stream);
  }

  #hear(message: JsonRpcMessage): void {
    const { method, id, params } = message;
    if (method === "server/discover") this.say({ id, result: DISCOVERED });
    if (method === "notifications/cancelled") {
      const gone = this.streams.findIndex((stream) => stream.id === params?.["requestId"]);
      if (gone >= 0) this.streams.splice(gone, 1);
    }
    if (method !== "subscriptions/listen") return;
    this.streams.push(message);
    this.onStream(message);
  }
}

function wantedBy({ params = {} }: JsonRpcMessage): string[] {
  const { resourceSubscriptions = [] } = params["notifications"] as JsonObject;
  return resourceSubscriptions as string[];
}

function outcomeOf(wish: Promise<void>): Promise<string> {
  return wish.then(
    () => "heard",
    (error: unknown) => (error as McpRuntimeError).kind,
  );
}

describe("a server without sessions", () => {
  it("that refuses one resource goes on telling of the others", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("a:1");
    server.onStream = (stream) => server.refuse(stream);
    expect(await failureOf(client.subscribeResource("bad:1"))).toMatchObject({ kind: "invalid-request" });
    expect(server.streams.map(wantedBy)).toEqual([["a:1"]]);
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("b:1");
    expect(server.streams.map(wantedBy)).toEqual([["a:1", "b:1"]]);
  });

  it("whose stream broke before it refused a resource is asked for the others again", async () => {
    const clock = new FakeClock();
    const server = new StreamingServer();
    await using client = server.client(clock);
    server.takeAllBut("bad:1");
    await client.subscribeResource("a:1");
    server.refuse(server.streams[0] as JsonRpcMessage, { code: -32000, message: "out of order" });
    expect(await failureOf(client.subscribeResource("bad:1"))).toMatchObject({ kind: "invalid-request" });
    await eventually(() => {
      clock.advance(500);
      return server.streams.length === 1;
    });
    expect(server.streams.map(wantedBy)).toEqual([["a:1"]]);
  });

  it("may take note of a later wish first: the earlier one is heard, too", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    await client.ensureSession();
    const wishes = [client.subscribeResource("a:1"), client.subscribeResource("b:1")];
    await eventually(() => server.streams.length === 2);
    const [first, second] = server.streams as [JsonRpcMessage, JsonRpcMessage];
    server.acknowledge(second);
    await Promise.all(wishes);
    expect(server.streams.map(wantedBy)).toEqual([["a:1", "b:1"]]);
    server.acknowledge(first);
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("c:1");
    expect(server.streams.map(wantedBy)).toEqual([["a:1", "b:1", "c:1"]]);
  });

  it.each(["first", "last"])(
    "refuses a wish, and those made together with it are heard (%s refusal first)",
    async (which) => {
      const server = new StreamingServer();
      await using client = server.client();
      await client.ensureSession();
      const wishes = ["a:1", "bad:1", "c:1", "d:1"].map((uri) => outcomeOf(client.subscribeResource(uri)));
      await eventually(() => server.streams.length === 4);
      const waiting = which === "first" ? [...server.streams] : server.streams.toReversed();
      server.takeAllBut("bad:1");
      for (const stream of waiting) server.onStream(stream);
      expect(await Promise.all(wishes)).toEqual(["heard", "invalid-request", "heard", "heard"]);
      expect(server.streams.map((stream) => new Set(wantedBy(stream)))).toEqual([
        new Set(["a:1", "c:1", "d:1"]),
      ]);
    },
  );

  it("whose line ends before it took note of a wish has lost the connection", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    await client.ensureSession();
    const wish = failureOf(client.subscribeResource("a:1"));
    await eventually(() => server.streams.length === 1);
    server.transport.onclose?.();
    expect(await wish).toMatchObject({ kind: "connection-lost" });
  });

  it("may take note of a wish while it is sent", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    server.onStream = (stream) => server.acknowledge(stream);
    await client.subscribeResource("a:1", { timeoutMs: 2_000 });
    expect(server.streams.map(wantedBy)).toEqual([["a:1"]]);
  });
});
