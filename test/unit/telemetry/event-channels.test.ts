import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { listenToChannel, openChannels } from "../../../src/telemetry/event-channels.js";
import { TypedEmitter } from "../../../src/telemetry/typed-emitter.js";

interface Events {
  spoken: { word: string };
  thought: { word: string };
}

function openHub() {
  return new TypedEmitter<Events>(() => undefined, openChannels<Events>(["spoken"]));
}

describe("channels", () => {
  it("carry an event to whoever subscribes in the process, by its name", () => {
    const heard: unknown[] = [];
    const hear = (message: unknown) => heard.push(message);
    subscribe("langchain-mcp-runtime:spoken", hear);
    const event = { word: "hello" };
    openHub().emit("spoken", event);
    unsubscribe("langchain-mcp-runtime:spoken", hear);
    openHub().emit("spoken", { word: "unheard" });
    expect(heard).toEqual([event]);
    expect(heard[0]).toBe(event);
  });

  it("are no reason to make an event while nobody listens", () => {
    const hub = openHub();
    const audience = hub.audienceOf("spoken");
    const before = audience.isThere;
    const stop = listenToChannel("spoken", () => undefined);
    const during = audience.isThere;
    stop();
    expect([before, during, audience.isThere]).toEqual([false, true, false]);
  });

  it("carry only what has one", () => {
    const heard: unknown[] = [];
    const stop = listenToChannel("thought", (message) => heard.push(message));
    openHub().emit("thought", { word: "hm" });
    stop();
    expect(heard).toEqual([]);
  });

  it.each([
    ["rejects", () => Promise.reject(new Error("my fault"))],
    [
      "throws",
      () => {
        throw new Error("my fault");
      },
    ],
  ])("a listener that %s ends no process: it is warned about", async (_, listener) => {
    const warned = once(process, "warning");
    const stop = listenToChannel("spoken", listener);
    const heard: unknown[] = [];
    const stopOther = listenToChannel("spoken", (message) => heard.push(message));
    openHub().emit("spoken", { word: "hello" });
    const [warning] = (await warned) as [Error];
    stop();
    stopOther();
    expect(warning).toMatchObject({
      name: "McpRuntimeWarning",
      message: "A listener to langchain-mcp-runtime:spoken failed: Error: my fault",
    });
    expect(heard).toHaveLength(1);
    expect(channel("langchain-mcp-runtime:spoken").hasSubscribers).toBe(false);
  });
});
