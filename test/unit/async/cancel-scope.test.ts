import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";

/** Collects the reasons that a cancellation tells. */
function reasonsOf(cancellation: CancelScope): unknown[] {
  const reasons: unknown[] = [];
  cancellation.onCancel((reason) => reasons.push(reason));
  return reasons;
}

describe("cancel", () => {
  it("tells every listener the reason", () => {
    const cancellation = new CancelScope();
    const [first, second] = [reasonsOf(cancellation), reasonsOf(cancellation)];
    cancellation.cancel("enough");
    expect([first, second]).toEqual([["enough"], ["enough"]]);
  });

  it("a late reason changes nothing", () => {
    const cancellation = new CancelScope();
    const reasons = reasonsOf(cancellation);
    cancellation.cancel("first");
    cancellation.cancel("second");
    expect(reasons).toEqual(["first"]);
    expect(() => cancellation.throwIfCancelled()).toThrow("first");
  });

  it("a cancellation without a reason is a cancellation", () => {
    const cancellation = new CancelScope();
    cancellation.cancel(undefined);
    expect(cancellation.isCancelled).toBe(true);
  });

  it("is already cancelled when its listeners hear of it", () => {
    const cancellation = new CancelScope();
    const seen: boolean[] = [];
    cancellation.onCancel(() => seen.push(cancellation.isCancelled));
    cancellation.cancel("enough");
    expect(seen).toEqual([true]);
  });
});

describe("onCancel", () => {
  it("calls at once when it is too late to wait", () => {
    const cancellation = new CancelScope();
    cancellation.cancel("enough");
    expect(reasonsOf(cancellation)).toEqual(["enough"]);
  });

  it("a forgotten listener hears nothing", () => {
    const cancellation = new CancelScope();
    const forget = cancellation.onCancel(() => expect.unreachable());
    forget();
    cancellation.cancel("enough");
    expect(cancellation.isCancelled).toBe(true);
  });

  it("a listener forgotten by another one in the middle hears nothing", () => {
    const cancellation = new CancelScope();
    cancellation.onCancel(() => forget());
    const forget = cancellation.onCancel(() => expect.unreachable());
    cancellation.cancel("enough");
    expect(cancellation.isCancelled).toBe(true);
  });
});

describe("attach", () => {
  /** A part that remembers why it was cancelled. */
  const createPart = () => {
    const reasons: unknown[] = [];
    return { reasons, cancel: (reason: unknown) => void reasons.push(reason) };
  };

  it("ends every part with the work", () => {
    const cancellation = new CancelScope();
    const parts = [createPart(), createPart(), createPart()];
    for (const part of parts) cancellation.attach(part);
    cancellation.cancel("enough");
    expect(parts.map(({ reasons }) => reasons)).toEqual([["enough"], ["enough"], ["enough"]]);
  });

  it("ends a part at once that comes too late", () => {
    const cancellation = new CancelScope();
    cancellation.cancel("enough");
    const part = createPart();
    cancellation.attach(part);
    expect(part.reasons).toEqual(["enough"]);
  });

  it.each([0, 1, 2])("a part that was taken out goes on (number %i of three)", (out) => {
    const cancellation = new CancelScope();
    const parts = [createPart(), createPart(), createPart()];
    for (const part of parts) cancellation.attach(part);
    cancellation.detach(parts[out] as (typeof parts)[number]);
    cancellation.cancel("enough");
    const expected = [0, 1, 2].map((place) => (place === out ? [] : ["enough"]));
    expect(parts.map(({ reasons }) => reasons)).toEqual(expected);
  });

  it("whoever leaves takes nobody along who came later", () => {
    const cancellation = new CancelScope();
    const [first, second, third] = [createPart(), createPart(), createPart()];
    cancellation.attach(first);
    cancellation.attach(second);
    cancellation.detach(first);
    cancellation.attach(third);
    cancellation.detach(second);
    cancellation.cancel("enough");
    expect([first.reasons, second.reasons, third.reasons]).toEqual([[], [], ["enough"]]);
  });

  it("a part that another one takes out in the middle goes on", () => {
    const cancellation = new CancelScope();
    const late = createPart();
    cancellation.attach({ cancel: () => cancellation.detach(late) });
    cancellation.attach(late);
    cancellation.cancel("enough");
    expect(late.reasons).toEqual([]);
  });

  it("a part that throws is a fault, and the work is cancelled all the same", () => {
    const cancellation = new CancelScope();
    cancellation.attach({
      cancel: () => {
        throw new Error("fault");
      },
    });
    expect(() => cancellation.cancel("enough")).toThrow("fault");
    expect(() => cancellation.throwIfCancelled()).toThrow("enough");
  });
});

describe("throwIfCancelled", () => {
  it("throws the very reason", () => {
    const reason = new Error("enough");
    const cancellation = new CancelScope();
    cancellation.cancel(reason);
    expect(() => cancellation.throwIfCancelled()).toThrow(reason);
  });

  it("lets work go on that nobody ended", () => {
    expect(() => new CancelScope().throwIfCancelled()).not.toThrow();
  });
});

describe("child", () => {
  it("ends with its parent, for the same reason", () => {
    const parent = new CancelScope();
    const reasons = reasonsOf(parent.child());
    parent.cancel("enough");
    expect(reasons).toEqual(["enough"]);
  });

  it("ends alone", () => {
    const parent = new CancelScope();
    parent.child().cancel("only me");
    expect(parent.isCancelled).toBe(false);
  });

  it("of a cancelled parent is born cancelled", () => {
    const parent = new CancelScope();
    parent.cancel("enough");
    expect(() => parent.child().throwIfCancelled()).toThrow("enough");
  });

  it("a released child outlives its parent", () => {
    const parent = new CancelScope();
    const child = parent.child();
    child.release();
    parent.cancel("enough");
    expect(child.isCancelled).toBe(false);
  });
});

describe("fromSignal", () => {
  it("follows the signal", () => {
    const controller = new AbortController();
    const reasons = reasonsOf(CancelScope.fromSignal(controller.signal));
    controller.abort("enough");
    expect(reasons).toEqual(["enough"]);
  });

  it("a signal that was aborted before is heard at once", () => {
    const cancellation = CancelScope.fromSignal(AbortSignal.abort("before"));
    expect(() => cancellation.throwIfCancelled()).toThrow("before");
  });

  it("without a signal nothing ever ends it from outside", () => {
    expect(CancelScope.fromSignal(undefined).isCancelled).toBe(false);
  });

  it("leaves no listener on the signal once it is released", () => {
    const { signal } = new AbortController();
    const cancellation = CancelScope.fromSignal(signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    cancellation.release();
    cancellation.release();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("race", () => {
  it("gives what the promise gives", async () => {
    await expect(new CancelScope().race(Promise.resolve(42))).resolves.toBe(42);
  });

  it("fails as the promise fails", async () => {
    const failure = new Error("broken");
    await expect(new CancelScope().race(Promise.reject(failure))).rejects.toBe(failure);
  });

  it("is lost at once when the work is cancelled", async () => {
    const cancellation = new CancelScope();
    const race = cancellation.race(new Promise(() => undefined));
    cancellation.cancel("enough");
    await expect(race).rejects.toBe("enough");
  });

  it("is lost before it starts when the work was cancelled before", async () => {
    const cancellation = new CancelScope();
    cancellation.cancel("before");
    await expect(cancellation.race(Promise.resolve(42))).rejects.toBe("before");
  });

  it("a promise that fails after the race was lost disturbs nobody", async () => {
    const cancellation = new CancelScope();
    const gate = new CancelScope();
    const race = cancellation.race(gate.race(new Promise(() => undefined)));
    cancellation.cancel("enough");
    gate.cancel(new Error("too late"));
    await expect(race).rejects.toBe("enough");
  });
});
