import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";

/** Collects the reasons that a listener of the scope receives. */
function collectReasons(scope: CancelScope): unknown[] {
  const reasons: unknown[] = [];
  scope.onCancel((reason) => reasons.push(reason));
  return reasons;
}

describe("cancel", () => {
  it("passes the reason to every listener", () => {
    const scope = new CancelScope();
    const [first, second] = [collectReasons(scope), collectReasons(scope)];
    scope.cancel("enough");
    expect([first, second]).toEqual([["enough"], ["enough"]]);
  });

  it("only the first reason counts", () => {
    const scope = new CancelScope();
    const reasons = collectReasons(scope);
    scope.cancel("first");
    scope.cancel("second");
    expect(reasons).toEqual(["first"]);
    expect(() => scope.throwIfCancelled()).toThrow("first");
  });

  it("works without a reason", () => {
    const scope = new CancelScope();
    scope.cancel(undefined);
    expect(scope.isCancelled).toBe(true);
  });

  it("is marked as cancelled before the listeners run", () => {
    const scope = new CancelScope();
    const seen: boolean[] = [];
    scope.onCancel(() => seen.push(scope.isCancelled));
    scope.cancel("enough");
    expect(seen).toEqual([true]);
  });
});

describe("onCancel", () => {
  it("calls the listener immediately if already cancelled", () => {
    const scope = new CancelScope();
    scope.cancel("enough");
    expect(collectReasons(scope)).toEqual(["enough"]);
  });

  it("an unsubscribed listener is not called", () => {
    const scope = new CancelScope();
    const unsubscribe = scope.onCancel(() => expect.unreachable());
    unsubscribe();
    scope.cancel("enough");
    expect(scope.isCancelled).toBe(true);
  });

  it("a listener that another one unsubscribes during cancellation is not called", () => {
    const scope = new CancelScope();
    scope.onCancel(() => unsubscribe());
    const unsubscribe = scope.onCancel(() => expect.unreachable());
    scope.cancel("enough");
    expect(scope.isCancelled).toBe(true);
  });
});

describe("attach", () => {
  /** A child that records why it was cancelled. */
  const createChild = () => {
    const reasons: unknown[] = [];
    return { reasons, cancel: (reason: unknown) => void reasons.push(reason) };
  };

  it("cancels every child", () => {
    const scope = new CancelScope();
    const children = [createChild(), createChild(), createChild()];
    for (const child of children) scope.attach(child);
    scope.cancel("enough");
    expect(children.map(({ reasons }) => reasons)).toEqual([["enough"], ["enough"], ["enough"]]);
  });

  it("cancels a child immediately if already cancelled", () => {
    const scope = new CancelScope();
    scope.cancel("enough");
    const child = createChild();
    scope.attach(child);
    expect(child.reasons).toEqual(["enough"]);
  });

  it.each([0, 1, 2])("a detached child is not cancelled (number %i of three)", (detached) => {
    const scope = new CancelScope();
    const children = [createChild(), createChild(), createChild()];
    for (const child of children) scope.attach(child);
    scope.detach(children[detached] as (typeof children)[number]);
    scope.cancel("enough");
    const expected = [0, 1, 2].map((index) => (index === detached ? [] : ["enough"]));
    expect(children.map(({ reasons }) => reasons)).toEqual(expected);
  });

  it("detaching a child does not affect later ones", () => {
    const scope = new CancelScope();
    const [first, second, third] = [createChild(), createChild(), createChild()];
    scope.attach(first);
    scope.attach(second);
    scope.detach(first);
    scope.attach(third);
    scope.detach(second);
    scope.cancel("enough");
    expect([first.reasons, second.reasons, third.reasons]).toEqual([[], [], ["enough"]]);
  });

  it("a child that another one detaches during cancellation is not cancelled", () => {
    const scope = new CancelScope();
    const late = createChild();
    scope.attach({ cancel: () => scope.detach(late) });
    scope.attach(late);
    scope.cancel("enough");
    expect(late.reasons).toEqual([]);
  });

  it("an error of a child is thrown, and the scope is still cancelled", () => {
    const scope = new CancelScope();
    scope.attach({
      cancel: () => {
        throw new Error("fault");
      },
    });
    expect(() => scope.cancel("enough")).toThrow("fault");
    expect(() => scope.throwIfCancelled()).toThrow("enough");
  });
});

describe("throwIfCancelled", () => {
  it("throws the reason itself", () => {
    const reason = new Error("enough");
    const scope = new CancelScope();
    scope.cancel(reason);
    expect(() => scope.throwIfCancelled()).toThrow(reason);
  });

  it("does not throw if not cancelled", () => {
    expect(() => new CancelScope().throwIfCancelled()).not.toThrow();
  });
});

describe("child", () => {
  it("is cancelled with its parent, for the same reason", () => {
    const parent = new CancelScope();
    const reasons = collectReasons(parent.child());
    parent.cancel("enough");
    expect(reasons).toEqual(["enough"]);
  });

  it("can be cancelled alone", () => {
    const parent = new CancelScope();
    parent.child().cancel("only me");
    expect(parent.isCancelled).toBe(false);
  });

  it("of a cancelled parent is already cancelled", () => {
    const parent = new CancelScope();
    parent.cancel("enough");
    expect(() => parent.child().throwIfCancelled()).toThrow("enough");
  });

  it("a disposed child is not cancelled with its parent", () => {
    const parent = new CancelScope();
    const child = parent.child();
    child.dispose();
    parent.cancel("enough");
    expect(child.isCancelled).toBe(false);
  });
});

describe("fromSignal", () => {
  it("follows the signal", () => {
    const controller = new AbortController();
    const reasons = collectReasons(CancelScope.fromSignal(controller.signal));
    controller.abort("enough");
    expect(reasons).toEqual(["enough"]);
  });

  it("an already aborted signal cancels immediately", () => {
    const scope = CancelScope.fromSignal(AbortSignal.abort("before"));
    expect(() => scope.throwIfCancelled()).toThrow("before");
  });

  it("without a signal it is not cancelled", () => {
    expect(CancelScope.fromSignal(undefined).isCancelled).toBe(false);
  });

  it("leaves no listener on the signal after dispose", () => {
    const { signal } = new AbortController();
    const scope = CancelScope.fromSignal(signal);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    scope.dispose();
    scope.dispose();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("race", () => {
  it("resolves like the promise", async () => {
    await expect(new CancelScope().race(Promise.resolve(42))).resolves.toBe(42);
  });

  it("rejects like the promise", async () => {
    const failure = new Error("broken");
    await expect(new CancelScope().race(Promise.reject(failure))).rejects.toBe(failure);
  });

  it("rejects when the scope is cancelled", async () => {
    const scope = new CancelScope();
    const race = scope.race(new Promise(() => undefined));
    scope.cancel("enough");
    await expect(race).rejects.toBe("enough");
  });

  it("rejects immediately if already cancelled", async () => {
    const scope = new CancelScope();
    scope.cancel("before");
    await expect(scope.race(Promise.resolve(42))).rejects.toBe("before");
  });

  it("a promise that rejects after cancellation causes no unhandled rejection", async () => {
    const scope = new CancelScope();
    const gate = new CancelScope();
    const race = scope.race(gate.race(new Promise(() => undefined)));
    scope.cancel("enough");
    gate.cancel(new Error("too late"));
    await expect(race).rejects.toBe("enough");
  });
});
