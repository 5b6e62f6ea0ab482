import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonRpcMessage, MessageTransport } from "../../../src/config/message-transport.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { SafeTransport } from "../../../src/session/safe-transport.js";
import { JsonRpcClient } from "../../../src/session/json-rpc-client.js";
import type { DeliveryTracker } from "../../../src/session/session.js";
import { createCustomTransport } from "../../fixtures/custom-transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** A client over a fake transport that records messages and knows which requests are pending. */
function open(onSend: (message: JsonRpcMessage, transport: MessageTransport) => void = () => undefined) {
  const sent: JsonRpcMessage[] = [];
  const known = new Map<unknown, boolean>();
  const inner = createCustomTransport(
    (message) => {
      sent.push(message);
      // As over HTTP: the transport no longer knows a cancelled request.
      if (message.method === "notifications/cancelled") known.delete(message.params?.["requestId"]);
      else known.set(message.id, false);
      onSend(message, inner);
    },
    { close: async () => undefined, mayHaveBeenSent: (id) => known.get(id) ?? true },
  );
  const serverRequests = { handle: () => false, close: () => undefined };
  const toError = (error: unknown) => error as Error;
  const transport = new SafeTransport(inner, {
    clock: new FakeClock(),
    serverRequests,
    wireIds: undefined,
    toError,
  });
  transport.attach();
  const redactor = new Redactor();
  const rpc = new JsonRpcClient({ server: "rpc", redactor, transport, onNotification: () => undefined });
  const tracker: DeliveryTracker = { sendStatus: undefined, wireId: undefined };
  const cancellation = new CancelScope();
  const request = () => rpc.request({ method: "tools/call", params: {}, cancellation, tracker });
  return { sent, held: known, inner, exchange: rpc, delivery: tracker, cancellation, request };
}

describe("a pending request", () => {
  it("rejects with the cancellation reason and notifies the server", async () => {
    const { sent, cancellation, request } = open();
    const response = request();
    cancellation.cancel("enough");
    await expect(response).rejects.toBe("enough");
    expect(sent.map(({ method }) => method)).toEqual(["tools/call", "notifications/cancelled"]);
  });

  it.each([
    ["not sent", false],
    ["sent", true],
  ])(
    "keeps its send status (%s) after cancellation, when the transport no longer knows it",
    async (_, wasSent) => {
      const { held, delivery, cancellation, request } = open();
      const response = request();
      held.set(1, wasSent);
      expect(delivery.sendStatus?.mayHaveBeenSent()).toBe(wasSent);
      cancellation.cancel("enough");
      await expect(response).rejects.toBe("enough");
      expect(delivery.sendStatus?.mayHaveBeenSent()).toBe(wasSent);
    },
  );

  it("is not cancelled when the response arrived while sending", async () => {
    const { sent, cancellation, request } = open(({ id }, transport) =>
      transport.onmessage?.({ jsonrpc: "2.0", id, result: {} } as JsonRpcMessage),
    );
    await expect(request()).resolves.toEqual({});
    cancellation.cancel("too late");
    expect(sent).toHaveLength(1);
  });

  it("is not cancelled after its response", async () => {
    const { sent, inner, cancellation, request } = open();
    const response = request();
    inner.onmessage?.({ jsonrpc: "2.0", id: 1, result: { is: "there" } } as JsonRpcMessage);
    cancellation.cancel("too late");
    await expect(response).resolves.toEqual({ is: "there" });
    expect(sent).toHaveLength(1);
  });

  it("rejects when the transport closes", async () => {
    const { exchange, request } = open();
    const response = request();
    exchange.rejectAll(new Error("gone"));
    await expect(response).rejects.toThrow("gone");
  });
});
