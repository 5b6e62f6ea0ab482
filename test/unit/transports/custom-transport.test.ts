import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import type { JsonRpcMessage, MessageTransport } from "../../../src/config/message-transport.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { CustomTransport } from "../../../src/transports/custom-transport.js";
import type { RequestTracker } from "../../../src/transports/transport.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** An adapter over a transport that records messages and knows which requests are pending. */
async function open(
  onSend: (message: JsonRpcMessage, transport: MessageTransport) => void = () => undefined,
) {
  const sent: JsonRpcMessage[] = [];
  const known = new Map<unknown, boolean>();
  const inner: MessageTransport = {
    start: async () => undefined,
    close: async () => undefined,
    send: async (message) => {
      sent.push(message);
      // As over HTTP: the transport no longer knows a cancelled request.
      if (message.method === "notifications/cancelled") known.delete(message.params?.["requestId"]);
      else known.set(message.id, false);
      onSend(message, inner);
    },
    mayHaveBeenSent: (id) => known.get(id) ?? true,
  };
  const options = { server: "custom", redactor: new Redactor(), clock: new FakeClock() };
  const transport = new CustomTransport(inner, options);
  transport.oncancel = (notification) => void transport.notify(notification);
  await transport.start();
  const tracker: RequestTracker = { sendStatus: undefined, wireId: undefined };
  const cancellation = new CancelScope();
  const request = (method = "tools/call") =>
    transport.request({ jsonrpc: "2.0", id: 1, method, params: {} }, { cancellation, tracker });
  const respond = (message: object) => inner.onmessage?.({ jsonrpc: "2.0", ...message } as JsonRpcMessage);
  return { sent, known, inner, transport, tracker, cancellation, request, respond };
}

describe("a pending request", () => {
  it("rejects with the cancellation reason and notifies the server", async () => {
    const { sent, cancellation, request } = await open();
    const response = request();
    cancellation.cancel("enough");
    await expect(response).rejects.toBe("enough");
    expect(sent.map(({ method }) => method)).toEqual(["tools/call", "notifications/cancelled"]);
    expect(sent[1]?.params).toMatchObject({ requestId: 1 });
  });

  it.each([
    ["not sent", false],
    ["sent", true],
  ])(
    "keeps its send status (%s) after cancellation, when the transport no longer knows it",
    async (_, wasSent) => {
      const { known, tracker, cancellation, request } = await open();
      const response = request();
      known.set(1, wasSent);
      expect(tracker.sendStatus?.mayHaveBeenSent()).toBe(wasSent);
      cancellation.cancel("enough");
      await expect(response).rejects.toBe("enough");
      expect(tracker.sendStatus?.mayHaveBeenSent()).toBe(wasSent);
    },
  );

  it("is not cancelled when the response arrived while sending", async () => {
    const { sent, cancellation, request } = await open(({ id }, transport) =>
      transport.onmessage?.({ jsonrpc: "2.0", id, result: {} } as JsonRpcMessage),
    );
    await expect(request()).resolves.toEqual({});
    cancellation.cancel("too late");
    expect(sent).toHaveLength(1);
  });

  it("is not cancelled after its response", async () => {
    const { sent, cancellation, request, respond } = await open();
    const response = request();
    respond({ id: 1, result: { is: "there" } });
    cancellation.cancel("too late");
    await expect(response).resolves.toEqual({ is: "there" });
    expect(sent).toHaveLength(1);
  });

  it("rejects with the reason when the transport is closed", async () => {
    const { transport, request } = await open();
    const response = request();
    await transport.close(new McpRuntimeError("closed", "gone"));
    await expect(response).rejects.toThrow("gone");
  });

  it.each([
    ["initialize", false],
    ["server/discover", false],
    ["tools/call", true],
  ])("%s rejects when the server closes the connection", async (method, outcomeUnknown) => {
    const { inner, request } = await open();
    const response = request(method);
    inner.onclose?.();
    await expect(response).rejects.toMatchObject({ kind: "connection-lost", outcomeUnknown });
  });

  it("ignores responses with another id and reports progress only to its own listener", async () => {
    const { request, respond, tracker } = await open();
    const progress: unknown[] = [];
    tracker.onProgress = (event) => progress.push(event);
    const response = request();
    respond({ id: 2, result: { from: "another" } });
    respond({ id: "abc-1", result: { from: "another" } });
    respond({ method: "notifications/progress", params: { progressToken: 2, progress: 1 } });
    respond({ method: "notifications/progress", params: { progressToken: "1", progress: 2 } });
    respond({ method: "notifications/progress", params: { progressToken: 1, progress: "much" } });
    respond({ id: 1, result: { from: "this" } });
    await expect(response).resolves.toEqual({ from: "this" });
    expect(progress).toEqual([{ progress: 2, total: undefined, message: undefined }]);
  });
});
