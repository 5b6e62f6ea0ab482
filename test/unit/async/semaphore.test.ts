import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { Semaphore } from "../../../src/async/semaphore.js";

/** Takes the lock, writes down its name, and gives the lock back. */
async function passThrough(semaphore: Semaphore, name: string, order: string[]): Promise<void> {
  const release = await semaphore.enter(new CancelScope());
  order.push(name);
  release();
}

describe("Semaphore", () => {
  it("is free to begin with", async () => {
    const release = await new Semaphore(1).enter(new CancelScope());
    expect(release).toBeTypeOf("function");
  });

  it("lets one in at a time, first come first served", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.enter(new CancelScope());
    const others = ["second", "third"].map((name) => passThrough(semaphore, name, order));
    order.push("first");
    release();
    await Promise.all(others);
    expect(order).toEqual(["first", "second", "third"]);
  });

  it("is free again when everybody has left", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    await passThrough(semaphore, "once", order);
    await passThrough(semaphore, "twice", order);
    expect(order).toEqual(["once", "twice"]);
  });

  it("nobody slips in while the lock passes to the next in line", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.enter(new CancelScope());
    const waiting = passThrough(semaphore, "waiting", order);
    release();
    const late = passThrough(semaphore, "late", order);
    await Promise.all([waiting, late]);
    expect(order).toEqual(["waiting", "late"]);
  });

  it("a lock given back twice lets in one, not two", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const release = await semaphore.enter(new CancelScope());
    const second = semaphore.enter(new CancelScope());
    const third = passThrough(semaphore, "third", order);
    release();
    release();
    const releaseSecond = await second;
    expect(order).toEqual([]);
    releaseSecond();
    await third;
    expect(order).toEqual(["third"]);
  });

  it("who gives up waiting hears the reason and leaves the queue", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const impatient = new CancelScope();
    const release = await semaphore.enter(new CancelScope());
    const gone = semaphore.enter(impatient);
    const patient = passThrough(semaphore, "patient", order);
    impatient.cancel("enough");
    await expect(gone).rejects.toBe("enough");
    release();
    await patient;
    expect(order).toEqual(["patient"]);
  });

  it("who is cancelled already does not take a free lock", async () => {
    const semaphore = new Semaphore(1);
    const cancellation = new CancelScope();
    cancellation.cancel("before");
    await expect(semaphore.enter(cancellation)).rejects.toBe("before");
    const order: string[] = [];
    await passThrough(semaphore, "next", order);
    expect(order).toEqual(["next"]);
  });

  it("a cancellation after the lock was got drives nobody else out of the queue", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const holder = new CancelScope();
    const releaseFirst = await semaphore.enter(new CancelScope());
    const second = semaphore.enter(holder);
    const third = passThrough(semaphore, "third", order);
    releaseFirst();
    holder.cancel("too late");
    (await second)();
    await third;
    expect(order).toEqual(["third"]);
  });
});

describe("a Semaphore with three slots", () => {
  it("lets three in and the fourth when one has left", async () => {
    const semaphore = new Semaphore(3);
    const leave = [
      await semaphore.enter(new CancelScope()),
      await semaphore.enter(new CancelScope()),
      await semaphore.enter(new CancelScope()),
    ];
    let isIn = false;
    const fourth = semaphore.enter(new CancelScope()).then(() => {
      isIn = true;
    });
    await Promise.resolve();
    expect(isIn).toBe(false);
    leave[1]?.();
    await fourth;
    expect(isIn).toBe(true);
  });
});
