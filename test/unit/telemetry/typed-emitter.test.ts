import { describe, expect, it } from "vitest";
import { TypedEmitter } from "../../../src/telemetry/typed-emitter.js";

interface Events {
  opened: { id: number };
  closed: string;
}

function openHub() {
  const errors: unknown[] = [];
  return { hub: new TypedEmitter<Events>((error) => errors.push(error)), errors };
}

describe("EventHub", () => {
  it("tells every listener, in the order they came", () => {
    const { hub } = openHub();
    const heard: string[] = [];
    hub.on("opened", ({ id }) => heard.push(`first ${id}`));
    hub.on("opened", ({ id }) => heard.push(`second ${id}`));
    hub.emit("opened", { id: 7 });
    expect(heard).toEqual(["first 7", "second 7"]);
  });

  it("tells nobody of another event", () => {
    const { hub } = openHub();
    hub.on("opened", () => expect.unreachable());
    hub.emit("closed", "bye");
    expect(hub.audienceOf("closed").isThere).toBe(false);
  });

  it("passes the very event on", () => {
    const { hub } = openHub();
    const heard: unknown[] = [];
    const event = { id: 7 };
    hub.on("opened", (same) => heard.push(same));
    hub.emit("opened", event);
    expect(heard[0]).toBe(event);
  });

  it("an event that nobody listens to is no problem", () => {
    const { hub, errors } = openHub();
    hub.emit("opened", { id: 7 });
    expect(errors).toEqual([]);
  });

  it("who stopped listening hears nothing more", () => {
    const { hub } = openHub();
    const heard: string[] = [];
    const stop = hub.on("closed", (reason) => heard.push(reason));
    hub.emit("closed", "once");
    stop();
    stop();
    hub.emit("closed", "twice");
    expect(heard).toEqual(["once"]);
  });

  it("who stops in the middle of an event takes nobody along", () => {
    const { hub } = openHub();
    const heard: string[] = [];
    const stop = hub.on("closed", () => {
      heard.push("first");
      stop();
    });
    hub.on("closed", () => heard.push("second"));
    hub.emit("closed", "bye");
    expect(heard).toEqual(["first", "second"]);
  });

  it("a listener that throws is reported and keeps the event from nobody", () => {
    const { hub, errors } = openHub();
    const heard: string[] = [];
    const failure = new Error("my fault");
    hub.on("closed", () => {
      throw failure;
    });
    hub.on("closed", (reason) => heard.push(reason));
    hub.emit("closed", "bye");
    expect(heard).toEqual(["bye"]);
    expect(errors).toEqual([failure]);
  });

  it("knows whether anybody listens", () => {
    const { hub } = openHub();
    const audience = hub.audienceOf("closed");
    const before = audience.isThere;
    const stop = hub.on("closed", () => undefined);
    const during = audience.isThere;
    stop();
    expect([before, during, audience.isThere]).toEqual([false, true, false]);
  });

  it("who begins to listen in the middle of an event waits for the next one", () => {
    const { hub } = openHub();
    const heard: string[] = [];
    hub.on("closed", (reason) => {
      if (reason === "first") hub.on("closed", (late) => heard.push(late));
    });
    hub.emit("closed", "first");
    expect(heard).toEqual([]);
  });

  it("a function that listens twice goes on listening when it stops once", () => {
    const { hub } = openHub();
    const heard: string[] = [];
    const listener = (reason: string) => void heard.push(reason);
    const stop = hub.on("closed", listener);
    hub.on("closed", listener);
    stop();
    hub.emit("closed", "bye");
    expect(heard).toEqual(["bye"]);
  });
});
