import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonRpcMessage, MessageTransport } from "../../../src/config/message-transport.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { GuardedTransport } from "../../../src/session/safe-transport.js";
import { JsonRpcClient } from "../../../src/session/json-rpc-client.js";
import type { DeliveryTracker } from "../../../src/session/session.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** An exchange over a transport that does what it is told, and remembers which requests it holds. */
function open(onSend: (message: JsonRpcMessage, transport: MessageTransport) => void = () => undefined) {
  const sent: JsonRpcMessage[] = [];
  const held = new Map<unknown, boolean>();
  const inner: MessageTransport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      sent.push(message);
      // As over HTTP: a request that is cancelled is known no longer.
      if (message.method === "notifications/cancelled") held.delete(message.params?.["requestId"]);
      else held.set(message.id, false);
      onSend(message, inner);
    },
    wasSent: (id) => held.get(id) ?? true,
  };
  const requests = { take: () => false, close: () => undefined };
  const toFailure = (error: unknown) => error as Error;
  const transport = new GuardedTransport(inner, {
    clock: new FakeClock(),
    requests,
    ids: undefined,
    toFailure,
  });
  transport.takeOver();
  const redactor = new Redactor();
  const exchange = new JsonRpcClient({ server: "rpc", redactor, transport, onNotification: () => undefined });
  const delivery: DeliveryTracker = { sending: undefined, wireId: undefined };
  const cancellation = new CancelScope();
  const request = () => exchange.request({ method: "tools/call", params: {}, cancellation, delivery });
  return { sent, held, inner, exchange, delivery, cancellation, request };
}

describe("a request that is under way", () => {
  it("is ended by its cancellation with the reason, and the server is told", async () => {
    const { sent, cancellation, request } = open();
    const answer = request();
    cancellation.cancel("enough");
    await expect(answer).rejects.toBe("enough");
    expect(sent.map(({ method }) => method)).toEqual(["tools/call", "notifications/cancelled"]);
  });

  it.each([
    ["was not sent", false],
    ["was sent", true],
  ])("that %s when it was cancelled says so also when the transport has forgotten it", async (_, wasSent) => {
    const { held, delivery, cancellation, request } = open();
    const answer = request();
    held.set(1, wasSent);
    expect(delivery.sending?.wasSent()).toBe(wasSent);
    cancellation.cancel("enough");
    await expect(answer).rejects.toBe("enough");
    expect(delivery.sending?.wasSent()).toBe(wasSent);
  });

  it("that was answered while it was sent has no more to do with its cancellation", async () => {
    const { sent, cancellation, request } = open(({ id }, transport) =>
      transport.onmessage?.({ jsonrpc: "2.0", id, result: {} } as JsonRpcMessage),
    );
    await expect(request()).resolves.toEqual({});
    cancellation.cancel("too late");
    expect(sent).toHaveLength(1);
  });

  it("that has its answer is not cancelled any more", async () => {
    const { sent, inner, cancellation, request } = open();
    const answer = request();
    inner.onmessage?.({ jsonrpc: "2.0", id: 1, result: { is: "there" } } as JsonRpcMessage);
    cancellation.cancel("too late");
    await expect(answer).resolves.toEqual({ is: "there" });
    expect(sent).toHaveLength(1);
  });

  it("ends with its transport", async () => {
    const { exchange, request } = open();
    const answer = request();
    exchange.breakOff(new Error("gone"));
    await expect(answer).rejects.toThrow("gone");
  });
});
