import { describe, expect, it } from "vitest";
import type { JsonObject, JsonRpcMessage, McpClient, McpRuntimeError } from "../../../src/index.js";
import { eventually, rejection } from "../../fixtures/clients.js";
import { createCustomClient, createCustomTransport } from "../../fixtures/custom-transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const DISCOVERED = {
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } },
};

/** A modern server on a custom transport, whose streams are acknowledged by the test. */
class StreamingServer {
  /** The open stream requests, oldest first. */
  readonly streams: JsonRpcMessage[] = [];
  readonly transport = createCustomTransport((message) => this.#handle(message));
  onStream: (stream: JsonRpcMessage) => void = () => undefined;

  client(clock?: FakeClock): McpClient {
    const openTransport = () => this.transport;
    const timeouts = clock === undefined ? {} : { connectMs: 0, requestMs: 0, totalMs: 0 };
    return createCustomClient(openTransport, { protocol: "2026-07-28", timeouts }, { clock });
  }

  send(message: Omit<JsonRpcMessage, "jsonrpc">): void {
    this.transport.onmessage?.({ jsonrpc: "2.0", ...message });
  }

  acknowledge({ id }: JsonRpcMessage): void {
    const params = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    this.send({ method: "notifications/subscriptions/acknowledged", params });
  }

  reject(stream: JsonRpcMessage, error = { code: -32602, message: "no such resource" }): void {
    this.streams.splice(this.streams.indexOf(stream), 1);
    this.send({ id: stream.id, error });
  }

  /** Acknowledges every stream except those with this URI. */
  acknowledgeAllExcept(uri: string): void {
    this.onStream = (stream) =>
      getUris(stream).includes(uri) ? this.reject(stream) : this.acknowledge(stream);
  }

  #handle(message: JsonRpcMessage): void {
    const { method, id, params } = message;
    if (method === "server/discover") this.send({ id, result: DISCOVERED });
    if (method === "notifications/cancelled") {
      const index = this.streams.findIndex((stream) => stream.id === params?.["requestId"]);
      if (index >= 0) this.streams.splice(index, 1);
    }
    if (method !== "subscriptions/listen") return;
    this.streams.push(message);
    this.onStream(message);
  }
}

function getUris({ params = {} }: JsonRpcMessage): string[] {
  const { resourceSubscriptions = [] } = params["notifications"] as JsonObject;
  return resourceSubscriptions as string[];
}

function getOutcome(subscription: Promise<void>): Promise<string> {
  return subscription.then(
    () => "subscribed",
    (error: unknown) => (error as McpRuntimeError).kind,
  );
}

describe("a modern server", () => {
  it("that rejects one resource keeps the stream of the others", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("a:1");
    server.onStream = (stream) => server.reject(stream);
    expect(await rejection(client.subscribeResource("bad:1"))).toMatchObject({ kind: "invalid-request" });
    expect(server.streams.map(getUris)).toEqual([["a:1"]]);
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("b:1");
    expect(server.streams.map(getUris)).toEqual([["a:1", "b:1"]]);
  });

  it("whose stream broke before it rejected a resource gets a new stream for the others", async () => {
    const clock = new FakeClock();
    const server = new StreamingServer();
    await using client = server.client(clock);
    server.acknowledgeAllExcept("bad:1");
    await client.subscribeResource("a:1");
    server.reject(server.streams[0] as JsonRpcMessage, { code: -32000, message: "internal failure" });
    expect(await rejection(client.subscribeResource("bad:1"))).toMatchObject({ kind: "invalid-request" });
    await eventually(() => {
      clock.advance(500);
      return server.streams.length === 1;
    });
    expect(server.streams.map(getUris)).toEqual([["a:1"]]);
  });

  it("may acknowledge a later subscription first, which includes the earlier one", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    await client.ensureSession();
    const subscriptions = [client.subscribeResource("a:1"), client.subscribeResource("b:1")];
    await eventually(() => server.streams.length === 2);
    const [first, second] = server.streams as [JsonRpcMessage, JsonRpcMessage];
    server.acknowledge(second);
    await Promise.all(subscriptions);
    expect(server.streams.map(getUris)).toEqual([["a:1", "b:1"]]);
    server.acknowledge(first);
    server.onStream = (stream) => queueMicrotask(() => server.acknowledge(stream));
    await client.subscribeResource("c:1");
    expect(server.streams.map(getUris)).toEqual([["a:1", "b:1", "c:1"]]);
  });

  it.each(["first", "last"])(
    "that rejects one subscription accepts the concurrent ones (%s stream answered first)",
    async (which) => {
      const server = new StreamingServer();
      await using client = server.client();
      await client.ensureSession();
      const subscriptions = ["a:1", "bad:1", "c:1", "d:1"].map((uri) =>
        getOutcome(client.subscribeResource(uri)),
      );
      await eventually(() => server.streams.length === 4);
      const waiting = which === "first" ? [...server.streams] : server.streams.toReversed();
      server.acknowledgeAllExcept("bad:1");
      for (const stream of waiting) server.onStream(stream);
      expect(await Promise.all(subscriptions)).toEqual([
        "subscribed",
        "invalid-request",
        "subscribed",
        "subscribed",
      ]);
      expect(server.streams.map((stream) => new Set(getUris(stream)))).toEqual([
        new Set(["a:1", "c:1", "d:1"]),
      ]);
    },
  );

  it("that disconnects before the acknowledgement fails the subscription with connection-lost", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    await client.ensureSession();
    const subscription = rejection(client.subscribeResource("a:1"));
    await eventually(() => server.streams.length === 1);
    server.transport.onclose?.();
    expect(await subscription).toMatchObject({ kind: "connection-lost" });
  });

  it("may acknowledge a subscription while it is sent", async () => {
    const server = new StreamingServer();
    await using client = server.client();
    server.onStream = (stream) => server.acknowledge(stream);
    await client.subscribeResource("a:1", { timeoutMs: 2_000 });
    expect(server.streams.map(getUris)).toEqual([["a:1"]]);
  });
});
