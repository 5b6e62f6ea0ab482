import { describe, expect, it } from "vitest";
import type { JsonRpcMessage } from "../../../src/config/message-transport.js";
import { WireIds } from "../../../src/session/wire-ids.js";

const REQUEST: JsonRpcMessage = { jsonrpc: "2.0", id: 3, method: "tools/call", params: { name: "echo" } };

function progressOf(progressToken: unknown): JsonRpcMessage {
  return { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress: 1 } };
}

describe("ids on a session that others use as well", () => {
  it("differ from connection to connection", () => {
    expect(new WireIds().toWire(3)).not.toBe(new WireIds().toWire(3));
  });

  it("come back as they were, in answers and in progress", () => {
    const ids = new WireIds();
    const sent = ids.outgoing({ ...REQUEST, params: { name: "echo", _meta: { progressToken: 3, mine: 1 } } });
    const id = ids.toWire(3);
    expect(sent).toEqual({ ...REQUEST, id, params: { name: "echo", _meta: { progressToken: id, mine: 1 } } });
    expect(ids.incoming({ jsonrpc: "2.0", id, result: {} })).toEqual({ jsonrpc: "2.0", id: 3, result: {} });
    expect(ids.incoming(progressOf(id))).toEqual(progressOf(3));
  });

  it("are the same in a cancellation", () => {
    const ids = new WireIds();
    const cancel = (requestId: unknown): JsonRpcMessage => ({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId, reason: "enough" },
    });
    expect(ids.outgoing(cancel(3))).toEqual(cancel(ids.toWire(3)));
  });

  it("leave what was lent as it was, and a token of the caller's own", () => {
    const ids = new WireIds();
    const own = { ...REQUEST, params: { _meta: { progressToken: "mine" } } };
    const before = structuredClone(own);
    expect(ids.outgoing(own).params).toEqual(own.params);
    expect(own).toEqual(before);
  });

  it("of others, and of the server, are left alone", () => {
    const ids = new WireIds();
    const foreign = new WireIds().toWire(3);
    for (const message of [
      { jsonrpc: "2.0", id: foreign, result: {} },
      { jsonrpc: "2.0", id: 3, result: {} },
      { jsonrpc: "2.0", id: 0, method: "ping" },
      { jsonrpc: "2.0", id: ids.toWire(3), method: "sampling/createMessage" },
      progressOf(foreign),
      progressOf(undefined),
      { jsonrpc: "2.0", method: "notifications/progress" },
      null,
      "text",
      [],
    ])
      expect(ids.incoming(message as JsonRpcMessage)).toBe(message);
    const answer: JsonRpcMessage = { jsonrpc: "2.0", id: 7, result: {} };
    expect(ids.outgoing(answer)).toBe(answer);
  });
});
