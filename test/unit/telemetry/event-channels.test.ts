import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { subscribeSafely, createChannels, TypedEmitter } from "../../../src/telemetry/typed-emitter.js";

interface Events {
  sent: { text: string };
  internal: { text: string };
}

function createEmitter() {
  return new TypedEmitter<Events>(() => undefined, createChannels<Events>(["sent"]));
}

describe("channels", () => {
  it("publish an event to subscribers in the process", () => {
    const received: unknown[] = [];
    const onMessage = (message: unknown) => received.push(message);
    subscribe("langchain-mcp-runtime:sent", onMessage);
    const event = { text: "hello" };
    createEmitter().emit("sent", event);
    unsubscribe("langchain-mcp-runtime:sent", onMessage);
    createEmitter().emit("sent", { text: "ignored" });
    expect(received).toEqual([event]);
    expect(received[0]).toBe(event);
  });

  it("count as subscribers only while there is a listener", () => {
    const emitter = createEmitter();
    const before = emitter.hasListeners("sent");
    const unsubscribeFailing = subscribeSafely("sent", () => undefined);
    const during = emitter.hasListeners("sent");
    unsubscribeFailing();
    expect([before, during, emitter.hasListeners("sent")]).toEqual([false, true, false]);
  });

  it("publish only events that have a channel", () => {
    const received: unknown[] = [];
    const unsubscribeFailing = subscribeSafely("internal", (message) => received.push(message));
    createEmitter().emit("internal", { text: "hm" });
    unsubscribeFailing();
    expect(received).toEqual([]);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("listener error"))],
    [
      "throws",
      () => {
        throw new Error("listener error");
      },
    ],
  ])("a listener that %s causes a process warning", async (_, listener) => {
    const warned = once(process, "warning");
    const unsubscribeFailing = subscribeSafely("sent", listener);
    const received: unknown[] = [];
    const unsubscribeOther = subscribeSafely("sent", (message) => received.push(message));
    createEmitter().emit("sent", { text: "hello" });
    const [warning] = (await warned) as [Error];
    unsubscribeFailing();
    unsubscribeOther();
    expect(warning).toMatchObject({
      name: "McpRuntimeWarning",
      message: expect.stringMatching(/langchain-mcp-runtime:sent .*Error: listener error/),
    });
    expect(received).toHaveLength(1);
    expect(channel("langchain-mcp-runtime:sent").hasSubscribers).toBe(false);
  });
});
