import { describe, expect, it } from "vitest";
import { TypedEmitter } from "../../../src/telemetry/typed-emitter.js";

interface Events {
  opened: { id: number };
  closed: string;
}

function createEmitter() {
  const errors: unknown[] = [];
  return { emitter: new TypedEmitter<Events>((error) => errors.push(error)), errors };
}

describe("TypedEmitter", () => {
  it("calls every listener in the order of registration", () => {
    const { emitter } = createEmitter();
    const received: string[] = [];
    emitter.on("opened", ({ id }) => received.push(`first ${id}`));
    emitter.on("opened", ({ id }) => received.push(`second ${id}`));
    emitter.emit("opened", { id: 7 });
    expect(received).toEqual(["first 7", "second 7"]);
  });

  it("does not call listeners of other events", () => {
    const { emitter } = createEmitter();
    emitter.on("opened", () => expect.unreachable());
    emitter.emit("closed", "bye");
    expect(emitter.hasListeners("closed")).toBe(false);
  });

  it("passes the event object itself", () => {
    const { emitter } = createEmitter();
    const received: unknown[] = [];
    const event = { id: 7 };
    emitter.on("opened", (payload) => received.push(payload));
    emitter.emit("opened", event);
    expect(received[0]).toBe(event);
  });

  it("an event without listeners causes no error", () => {
    const { emitter, errors } = createEmitter();
    emitter.emit("opened", { id: 7 });
    expect(errors).toEqual([]);
  });

  it("an unsubscribed listener receives no more events", () => {
    const { emitter } = createEmitter();
    const received: string[] = [];
    const unsubscribe = emitter.on("closed", (reason) => received.push(reason));
    emitter.emit("closed", "once");
    unsubscribe();
    unsubscribe();
    emitter.emit("closed", "twice");
    expect(received).toEqual(["once"]);
  });

  it("unsubscribing during an event does not affect other listeners", () => {
    const { emitter } = createEmitter();
    const received: string[] = [];
    const unsubscribe = emitter.on("closed", () => {
      received.push("first");
      unsubscribe();
    });
    emitter.on("closed", () => received.push("second"));
    emitter.emit("closed", "bye");
    expect(received).toEqual(["first", "second"]);
  });

  it("an error of a listener is reported and does not affect other listeners", () => {
    const { emitter, errors } = createEmitter();
    const received: string[] = [];
    const failure = new Error("listener error");
    emitter.on("closed", () => {
      throw failure;
    });
    emitter.on("closed", (reason) => received.push(reason));
    emitter.emit("closed", "bye");
    expect(received).toEqual(["bye"]);
    expect(errors).toEqual([failure]);
  });

  it("reports whether there are subscribers", () => {
    const { emitter } = createEmitter();
    const before = emitter.hasListeners("closed");
    const unsubscribe = emitter.on("closed", () => undefined);
    const during = emitter.hasListeners("closed");
    unsubscribe();
    expect([before, during, emitter.hasListeners("closed")]).toEqual([false, true, false]);
  });

  it("a listener added during an event receives only later events", () => {
    const { emitter } = createEmitter();
    const received: string[] = [];
    emitter.on("closed", (reason) => {
      if (reason === "first") emitter.on("closed", (late) => received.push(late));
    });
    emitter.emit("closed", "first");
    expect(received).toEqual([]);
  });

  it("a function registered twice stays registered after one unsubscribe", () => {
    const { emitter } = createEmitter();
    const received: string[] = [];
    const listener = (reason: string) => void received.push(reason);
    const unsubscribe = emitter.on("closed", listener);
    emitter.on("closed", listener);
    unsubscribe();
    emitter.emit("closed", "bye");
    expect(received).toEqual(["bye"]);
  });
});
