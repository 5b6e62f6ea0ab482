import { AsyncLocalStorage } from "node:async_hooks";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/async/clock.js";

const MAX_TIMER_MS = 2_147_483_647;

describe("systemClock", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  it("runs an action once, after the delay", () => {
    const action = vi.fn();
    systemClock.after(100, action);
    vi.advanceTimersByTime(99);
    expect(action).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(action).toHaveBeenCalledOnce();
  });

  it("a cancelled action does not run", () => {
    const cancelTimer = systemClock.after(99, () => expect.unreachable());
    cancelTimer();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a delay above the timer limit does not fire immediately", () => {
    const action = vi.fn();
    const cancelTimer = systemClock.after(Number.MAX_SAFE_INTEGER, action);
    vi.advanceTimersByTime(MAX_TIMER_MS - 1);
    expect(action).not.toHaveBeenCalled();
    cancelTimer();
  });

  it("time is monotonic", () => {
    const before = systemClock.now();
    vi.advanceTimersByTime(5);
    expect(systemClock.now() - before).toBeGreaterThanOrEqual(5);
  });
});

const activeTimers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

describe("a timer with the duration of a deadline", () => {
  it("keeps the process alive only while it is pending", () => {
    const before = activeTimers();
    const stops = [systemClock.after(4_321, vi.fn()), systemClock.after(4_321, vi.fn())];
    expect(activeTimers()).toBe(before + 2);
    for (const stop of stops) stop();
    expect(activeTimers()).toBe(before);
  });

  it("runs its action in the async context of its creator", async () => {
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
