import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { delay } from "../../../src/async/clock.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

describe("delay", () => {
  it("resolves after the delay, not earlier", async () => {
    const clock = new FakeClock();
    const wait = delay(100, clock, new CancelScope());
    clock.advance(99);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(wait).resolves.toBeUndefined();
  });

  it("a cancellation rejects immediately and leaves no timer", async () => {
    const clock = new FakeClock();
    const cancellation = new CancelScope();
    const wait = delay(100, clock, cancellation);
    cancellation.cancel("enough");
    expect(clock.pending).toBe(0);
    await expect(wait).rejects.toBe("enough");
  });

  it("an already cancelled scope rejects without waiting", async () => {
    const clock = new FakeClock();
    const cancellation = new CancelScope();
    cancellation.cancel("before");
    await expect(delay(100, clock, cancellation)).rejects.toBe("before");
    expect(clock.pending).toBe(0);
  });

  it("a cancellation after the delay has no effect", async () => {
    const clock = new FakeClock();
    const cancellation = new CancelScope();
    const wait = delay(100, clock, cancellation);
    clock.advance(100);
    cancellation.cancel("too late");
    await expect(wait).resolves.toBeUndefined();
  });
});
