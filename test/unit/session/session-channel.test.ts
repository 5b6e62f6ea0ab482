import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonRpcMessage } from "../../../src/config/message-transport.js";
import { Redactor } from "../../../src/errors/redaction.js";
import type { JsonObject } from "../../../src/json/json.js";
import { ServerRequests } from "../../../src/session/server-requests/server-requests.js";
import { SessionChannel } from "../../../src/session/session-channel.js";
import { CustomTransport } from "../../../src/transports/custom-transport.js";
import type { RequestTracker } from "../../../src/transports/transport.js";
import { times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** A channel over a transport that responds to every request; after `stopSending()`, nothing is sent any more. */
async function open(isShared: boolean) {
  const errors: Error[] = [];
  let sending: Promise<void> = Promise.resolve();
  const stopSending = () => {
    sending = new Promise(() => undefined);
  };
  const sent: JsonRpcMessage[] = [];
  const inner = {
    onmessage: undefined as ((message: JsonRpcMessage) => void) | undefined,
    start: async () => undefined,
    close: async () => undefined,
    send: async (message: JsonRpcMessage) => {
      sent.push(message);
      if (message.method !== undefined && message.id !== undefined)
        inner.onmessage?.({ jsonrpc: "2.0", id: message.id, result: {} });
      await sending;
    },
  };
  const options = { server: "shared", redactor: new Redactor(), clock: new FakeClock() };
  const transport = new CustomTransport(inner, options);
  const noop = () => undefined;
  const serverRequests = new ServerRequests({
    server: "shared",
    identity: "",
    handlers: {},
    maxConcurrent: 1,
    log: { info: noop, warn: noop },
  });
  const channel = new SessionChannel(transport, {
    ...options,
    serverRequests,
    isShared,
    onNotification: noop,
    onError: (error) => errors.push(error),
  });
  await transport.start();
  const request = (params: JsonObject, tracker?: RequestTracker) =>
    channel.request("tools/call", params, { cancellation: new CancelScope(), tracker });
  return { sent, channel, request, errors, stopSending };
}

const createTracker = (): RequestTracker => ({
  sendStatus: undefined,
  wireId: undefined,
  onProgress: () => undefined,
});

describe("request ids", () => {
  it("count from 1, after initialize with 0", async () => {
    const { sent, channel, request } = await open(false);
    await channel.initialize({});
    await request({});
    await request({});
    expect(sent.map(({ id }) => id)).toEqual([0, 1, 2]);
  });

  it("have a random prefix on a session that other processes use", async () => {
    const first = await open(true);
    const second = await open(true);
    await first.channel.initialize({});
    await first.request({});
    await second.request({});
    const [initializeId, firstId] = first.sent.map(({ id }) => String(id));
    const secondId = String(second.sent[0]?.id);
    expect(initializeId).toMatch(/^[0-9a-f]{16}-0$/);
    expect(firstId).toMatch(/^[0-9a-f]{16}-1$/);
    expect(secondId).toMatch(/^[0-9a-f]{16}-1$/);
    expect(secondId).not.toBe(firstId);
  });

  it("are the progress token, next to the caller's own _meta", async () => {
    const { sent, request } = await open(true);
    const params = { name: "echo", _meta: { mine: 1 } };
    const tracker = createTracker();
    await request(params, tracker);
    expect(sent[0]?.params).toEqual({ name: "echo", _meta: { mine: 1, progressToken: tracker.wireId } });
    expect(sent[0]?.id).toBe(tracker.wireId);
    expect(params).toEqual({ name: "echo", _meta: { mine: 1 } });
  });

  it("are not a progress token for a request that does not listen to progress", async () => {
    const { sent, request } = await open(false);
    await request({ name: "echo" });
    expect(sent[0]?.params).toEqual({ name: "echo" });
  });
});

describe("messages that cannot be sent", () => {
  it("are at most 10,000 notifications: further ones are dropped, and the session stays open", async () => {
    const { sent, channel, errors, stopSending } = await open(false);
    stopSending();
    for (const _ of times(10_005, String))
      void channel.notify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect(sent).toHaveLength(10_000);
    expect(errors.map(({ message }) => message)).toEqual(
      times(5, () => expect.stringContaining("notifications/roots/list_changed was not sent")),
    );
    expect(channel.isClosed).toBe(false);
  });

  it("are at most 1,000 responses, next to any notifications: then the session is closed", async () => {
    const { channel, errors, stopSending } = await open(false);
    stopSending();
    for (const _ of times(5_000, String))
      void channel.notify({ jsonrpc: "2.0", method: "notifications/cancelled" });
    for (const id of times(1_000, (count) => count)) void channel.notify({ jsonrpc: "2.0", id, result: {} });
    expect(channel.isClosed).toBe(false);
    void channel.notify({ jsonrpc: "2.0", id: 1_000, result: {} });
    expect(channel.isClosed).toBe(true);
    expect(errors).toMatchObject([{ kind: "invalid-response" }]);
  });
});
