import { AsyncLocalStorage } from "node:async_hooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/async/clock.js";

const LONGEST_TIMER_MS = 2_147_483_647;

describe("systemClock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("runs an action once, after its time", () => {
    const action = vi.fn();
    systemClock.after(100, action);
    vi.advanceTimersByTime(99);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(action).toHaveBeenCalledOnce();
  });

  it("an action that was taken back does not run", () => {
    const stop = systemClock.after(99, () => expect.unreachable());
    stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a wait longer than a timer can take does not end at once", () => {
    const action = vi.fn();
    const stop = systemClock.after(Number.MAX_SAFE_INTEGER, action);
    vi.advanceTimersByTime(LONGEST_TIMER_MS - 1);
    expect(action).not.toHaveBeenCalled();
    stop();
  });

  it("time only grows", () => {
    const before = systemClock.now();
    vi.advanceTimersByTime(5);
    expect(systemClock.now() - before).toBeGreaterThanOrEqual(5);
  });
});

const activeTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("a timer of a length that deadlines have", () => {
  it("keeps the process alive while somebody waits, and no longer", () => {
    const before = activeTimers();
    const stops = [systemClock.after(4_321, vi.fn()), systemClock.after(4_321, vi.fn())];
    expect(activeTimers()).toBe(before + 2);
    for (const stop of stops) stop();
    expect(activeTimers()).toBe(before);
  });

  it("runs its action in the async context of whoever set it", async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen = await Promise.all(
      ["ada", "bob", "cyd"].map((user) =>
        storage.run(
          user,
          () => new Promise((resolve) => systemClock.after(101, () => resolve(storage.getStore()))),
        ),
      ),
    );
    expect(seen).toEqual(["ada", "bob", "cyd"]);
  });
});
