import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../src/concurrency/clock.js";

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
    const stop = systemClock.after(100, () => expect.unreachable());
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
