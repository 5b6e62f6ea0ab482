import { describe, expect, it } from "vitest";
import { Cancellation } from "../../../src/concurrency/cancellation.js";
import { Mutex } from "../../../src/concurrency/mutex.js";

/** Takes the lock, writes down its name, and gives the lock back. */
async function passThrough(mutex: Mutex, name: string, order: string[]): Promise<void> {
  const release = await mutex.lock(new Cancellation());
  order.push(name);
  release();
}

describe("Mutex", () => {
  it("is free to begin with", async () => {
    const release = await new Mutex().lock(new Cancellation());
    expect(release).toBeTypeOf("function");
  });

  it("lets one in at a time, first come first served", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const release = await mutex.lock(new Cancellation());
    const others = ["second", "third"].map((name) => passThrough(mutex, name, order));
    order.push("first");
    release();
    await Promise.all(others);
    expect(order).toEqual(["first", "second", "third"]);
  });

  it("is free again when everybody has left", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    await passThrough(mutex, "once", order);
    await passThrough(mutex, "twice", order);
    expect(order).toEqual(["once", "twice"]);
  });

  it("nobody slips in while the lock passes to the next in line", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const release = await mutex.lock(new Cancellation());
    const waiting = passThrough(mutex, "waiting", order);
    release();
    const late = passThrough(mutex, "late", order);
    await Promise.all([waiting, late]);
    expect(order).toEqual(["waiting", "late"]);
  });

  it("a lock given back twice lets in one, not two", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const release = await mutex.lock(new Cancellation());
    const second = mutex.lock(new Cancellation());
    const third = passThrough(mutex, "third", order);
    release();
    release();
    const releaseSecond = await second;
    expect(order).toEqual([]);
    releaseSecond();
    await third;
    expect(order).toEqual(["third"]);
  });

  it("who gives up waiting hears the reason and leaves the queue", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const impatient = new Cancellation();
    const release = await mutex.lock(new Cancellation());
    const gone = mutex.lock(impatient);
    const patient = passThrough(mutex, "patient", order);
    impatient.cancel("enough");
    await expect(gone).rejects.toBe("enough");
    release();
    await patient;
    expect(order).toEqual(["patient"]);
  });

  it("who is cancelled already does not take a free lock", async () => {
    const mutex = new Mutex();
    const cancellation = new Cancellation();
    cancellation.cancel("before");
    await expect(mutex.lock(cancellation)).rejects.toBe("before");
    const order: string[] = [];
    await passThrough(mutex, "next", order);
    expect(order).toEqual(["next"]);
  });

  it("a cancellation after the lock was got drives nobody else out of the queue", async () => {
    const mutex = new Mutex();
    const order: string[] = [];
    const holder = new Cancellation();
    const releaseFirst = await mutex.lock(new Cancellation());
    const second = mutex.lock(holder);
    const third = passThrough(mutex, "third", order);
    releaseFirst();
    holder.cancel("too late");
    (await second)();
    await third;
    expect(order).toEqual(["third"]);
  });
});
