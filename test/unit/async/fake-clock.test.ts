import { describe, expect, it } from "vitest";
import { FakeClock } from "../../fixtures/fake-clock.js";

describe("FakeClock", () => {
  it("does not advance on its own", () => {
    const clock = new FakeClock();
    expect([clock.now(), clock.now()]).toEqual([0, 0]);
  });

  it("does not fire early", () => {
    const clock = new FakeClock();
    clock.after(100, () => expect.unreachable());
    clock.advance(99);
    expect(clock.pending).toBe(1);
  });

  it("fires in order, each at its own time", () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.after(20, () => fired.push(`second at ${clock.now()}`));
    clock.after(10, () => fired.push(`first at ${clock.now()}`));
    clock.after(20, () => fired.push(`third at ${clock.now()}`));
    clock.advance(50);
    expect(fired).toEqual(["first at 10", "second at 20", "third at 20"]);
    expect(clock.now()).toBe(50);
  });

  it("fires timers that are added during advance", () => {
    const clock = new FakeClock();
    const fired: number[] = [];
    clock.after(10, () => clock.after(10, () => fired.push(clock.now())));
    clock.advance(20);
    expect(fired).toEqual([20]);
  });

  it("does not fire a cancelled timer", () => {
    const clock = new FakeClock();
    const cancelTimer = clock.after(10, () => expect.unreachable());
    cancelTimer();
    clock.advance(10);
    expect(clock.pending).toBe(0);
  });

  it("knows which timers were set at the current time", () => {
    const clock = new FakeClock();
    clock.after(100, () => undefined);
    expect([clock.hasTimerIn(100), clock.hasTimerIn(99)]).toEqual([true, false]);
    clock.advance(1);
    expect([clock.hasTimerIn(100), clock.hasTimerIn(99)]).toEqual([false, true]);
  });

  it("fires timers within a time until a promise settles, also those that are set later", async () => {
    const clock = new FakeClock();
    const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
    const work = async () => {
      await wait(10);
      await new Promise(setImmediate);
      await wait(10);
      return clock.now();
    };
    clock.after(21, () => expect.unreachable());
    expect(await clock.advanceUntilSettled(work(), 20)).toBe(20);
    expect(clock.pending).toBe(1);
    await expect(clock.advanceUntilSettled(Promise.reject(new Error("no")), 0)).rejects.toThrow("no");
  });
});
