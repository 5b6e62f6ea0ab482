import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { Semaphore } from "../../../src/async/semaphore.js";

/** Acquires a slot, records the name, and releases the slot. */
async function acquireAndRelease(semaphore: Semaphore, name: string, order: string[]): Promise<void> {
  const release = await semaphore.acquire(new CancelScope());
  order.push(name);
  release();
}

describe("Semaphore", () => {
  it("is initially free", async () => {
    const release = await new Semaphore(1).acquire(new CancelScope());
    expect(release).toBeTypeOf("function");
  });

  it("grants one slot at a time, first in, first out", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.acquire(new CancelScope());
    const others = ["second", "third"].map((name) => acquireAndRelease(semaphore, name, order));
    order.push("first");
    release();
    await Promise.all(others);
    expect(order).toEqual(["first", "second", "third"]);
  });

  it("is free again after all slots are released", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    await acquireAndRelease(semaphore, "once", order);
    await acquireAndRelease(semaphore, "twice", order);
    expect(order).toEqual(["once", "twice"]);
  });

  it("a late caller does not overtake the next waiter", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.acquire(new CancelScope());
    const waiting = acquireAndRelease(semaphore, "waiting", order);
    release();
    const late = acquireAndRelease(semaphore, "late", order);
    await Promise.all([waiting, late]);
    expect(order).toEqual(["waiting", "late"]);
  });

  it("releasing twice frees only one slot", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.acquire(new CancelScope());
    const second = semaphore.acquire(new CancelScope());
    const third = acquireAndRelease(semaphore, "third", order);
    release();
    release();
    const releaseSecond = await second;
    expect(order).toEqual([]);
    releaseSecond();
    await third;
    expect(order).toEqual(["third"]);
  });

  it("a cancelled waiter is rejected with the reason and leaves the queue", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const cancelled = new CancelScope();
    const release = await semaphore.acquire(new CancelScope());
    const rejected = semaphore.acquire(cancelled);
    const waiting = acquireAndRelease(semaphore, "waiting", order);
    cancelled.cancel("enough");
    await expect(rejected).rejects.toBe("enough");
    release();
    await waiting;
    expect(order).toEqual(["waiting"]);
  });

  it("an already cancelled caller does not take a free slot", async () => {
    const semaphore = new Semaphore(1);
    const cancellation = new CancelScope();
    cancellation.cancel("before");
    await expect(semaphore.acquire(cancellation)).rejects.toBe("before");
    const order: string[] = [];
    await acquireAndRelease(semaphore, "next", order);
    expect(order).toEqual(["next"]);
  });

  it("a cancellation after acquiring does not affect the queue", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const holder = new CancelScope();
    const releaseFirst = await semaphore.acquire(new CancelScope());
    const second = semaphore.acquire(holder);
    const third = acquireAndRelease(semaphore, "third", order);
    releaseFirst();
    holder.cancel("too late");
    (await second)();
    await third;
    expect(order).toEqual(["third"]);
  });
});

describe("a Semaphore with three slots", () => {
  it("grants three, and a fourth after a release", async () => {
    const semaphore = new Semaphore(3);
    const releases = [
      await semaphore.acquire(new CancelScope()),
      await semaphore.acquire(new CancelScope()),
      await semaphore.acquire(new CancelScope()),
    ];
    let isAcquired = false;
    const fourth = semaphore.acquire(new CancelScope()).then(() => {
      isAcquired = true;
    });
    await Promise.resolve();
    expect(isAcquired).toBe(false);
    releases[1]?.();
    await fourth;
    expect(isAcquired).toBe(true);
  });
});
