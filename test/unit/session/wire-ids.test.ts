import { describe, expect, it } from "vitest";
import type { JsonRpcMessage } from "../../../src/config/message-transport.js";
import { WireIds } from "../../../src/session/safe-transport.js";

const REQUEST: JsonRpcMessage = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "echo" } };

function createProgress(progressToken: unknown): JsonRpcMessage {
  return { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } };
}

describe("wire ids on a shared session", () => {
  it("differ from connection to connection", () => {
    expect(new WireIds().toWireId(3)).not.toBe(new WireIds().toWireId(3));
  });

  it("are translated back in responses and progress", () => {
    const ids = new WireIds();
    const sent = ids.toWireMessage({
      ...REQUEST,
      params: { name: "echo", _meta: { progressToken: 3, mine: 1 } },
    });
    const id = ids.toWireId(3);
    expect(sent).toEqual({ ...REQUEST, id, params: { name: "echo", _meta: { progressToken: id, mine: 1 } } });
    expect(ids.fromWireMessage({ jsonrpc: "2.0", id, result: {} })).toEqual({
      jsonrpc: "2.0",
      id: 3,
      result: {},
    });
    expect(ids.fromWireMessage(createProgress(id))).toEqual(createProgress(3));
  });

  it("are used in a cancellation", () => {
    const ids = new WireIds();
    const cancel = (requestId: unknown): JsonRpcMessage => ({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId, reason: "enough" },
    });
    expect(ids.toWireMessage(cancel(3))).toEqual(cancel(ids.toWireId(3)));
  });

  it("do not change the original message or the caller's own progress token", () => {
    const ids = new WireIds();
    const request = { ...REQUEST, params: { _meta: { progressToken: "mine" } } };
    const before = structuredClone(request);
    expect(ids.toWireMessage(request).params).toEqual(request.params);
    expect(request).toEqual(before);
  });

  it("of other processes and of the server are not changed", () => {
    const ids = new WireIds();
    const foreign = new WireIds().toWireId(3);
    for (const message of [
      { jsonrpc: "2.0", id: foreign, result: {} },
      { jsonrpc: "2.0", id: 3, result: {} },
      { jsonrpc: "2.0", id: 0, method: "ping" },
      { jsonrpc: "2.0", id: ids.toWireId(3), method: "sampling/createMessage" },
      createProgress(foreign),
      createProgress(undefined),
      { jsonrpc: "2.0", method: "notifications/progress" },
      null,
      "text",
      [],
    ])
      expect(ids.fromWireMessage(message as JsonRpcMessage)).toBe(message);
    const response: JsonRpcMessage = { jsonrpc: "2.0", id: 7, result: {} };
    expect(ids.toWireMessage(response)).toBe(response);
  });
});
