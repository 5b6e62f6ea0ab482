import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PooledClock } from "../../../src/concurrency/pooled-clock.js";

const activeTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("a clock whose timers are pooled", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs each action once, after its own time and in order", () => {
    const clock = new PooledClock();
    const told: string[] = [];
    clock.after(1_000, () => told.push("first"));
    vi.advanceTimersByTime(400);
    clock.after(1_000, () => told.push("second"));
    clock.after(500, () => told.push("shorter"));
    vi.advanceTimersByTime(599);
    expect(told).toEqual(["shorter"]);
    vi.advanceTimersByTime(2);
    expect(told).toEqual(["shorter", "first"]);
    vi.advanceTimersByTime(398);
    expect(told).toHaveLength(2);
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual(["shorter", "first", "second"]);
  });

  it("has one timer for all of one length, also for those that come and go", () => {
    const clock = new PooledClock();
    for (let n = 0; n < 100; n += 1) clock.after(60_000, () => expect.unreachable())();
    const stops = Array.from({ length: 100 }, () => clock.after(60_000, () => expect.unreachable()));
    expect(vi.getTimerCount()).toBe(1);
    for (const stop of stops) stop();
    vi.advanceTimersByTime(60_001);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("an action may take back the next one, and one that throws holds up nobody", () => {
    const clock = new PooledClock();
    const told: string[] = [];
    const failure = new Error("from an action");
    clock.after(200, () => {
      told.push("first");
      stop();
      throw failure;
    });
    const stop = clock.after(200, () => expect.unreachable());
    clock.after(200, () => told.push("last"));
    expect(() => vi.advanceTimersByTime(200)).toThrow(failure);
    vi.advanceTimersByTime(5);
    expect(told).toEqual(["first", "last"]);
  });

  it("an action may set the same timer again", () => {
    const clock = new PooledClock();
    let rounds = 0;
    const again = () => {
      rounds += 1;
      if (rounds < 3) clock.after(100, again);
    };
    clock.after(100, again);
    vi.advanceTimersByTime(1_000);
    expect(rounds).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([0, 5, 99, 100.5, 3_600_001])("also takes %d ms, which are not pooled", (ms) => {
    const clock = new PooledClock();
    const action = vi.fn();
    clock.after(ms, () => expect.unreachable())();
    clock.after(ms, action);
    vi.advanceTimersByTime(ms + 1);
    expect(action).toHaveBeenCalledOnce();
  });
});

it("a pooled timer keeps the process alive while somebody waits, and no longer", () => {
  const clock = new PooledClock();
  const before = activeTimers();
  const stop = clock.after(60_000, () => expect.unreachable());
  expect(activeTimers()).toBe(before + 1);
  stop();
  expect(activeTimers()).toBe(before);
  const stopAgain = clock.after(60_000, () => expect.unreachable());
  expect(activeTimers()).toBe(before + 1);
  stopAgain();
  expect(activeTimers()).toBe(before);
});
