import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { withDeadline } from "../../../src/async/deadline.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function start(ms: number) {
  const clock = new FakeClock();
  const cancellation = new CancelScope();
  return { clock, cancellation, options: { ms, clock, cancellation, expired: () => "time is up" } };
}

/** Work that takes until it is ended. */
const endless = (cancellation: CancelScope) => cancellation.race(new Promise<never>(() => undefined));

describe("withDeadline", () => {
  it("gives what the work gives", async () => {
    const { options } = start(100);
    await expect(withDeadline(options, async () => "done")).resolves.toBe("done");
  });

  it("ends the work when time is up, not before", async () => {
    const { clock, options } = start(100);
    const work = withDeadline(options, endless);
    clock.advance(99);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(work).rejects.toBe("time is up");
  });

  it("ends this work only", async () => {
    const { clock, cancellation, options } = start(100);
    const work = withDeadline(options, endless);
    clock.advance(100);
    await expect(work).rejects.toBe("time is up");
    expect(cancellation.isCancelled).toBe(false);
  });

  it.each([
    ["succeeded", async () => "done"],
    ["failed", () => Promise.reject(new Error("broken"))],
    [
      "threw before it began",
      () => {
        throw new Error("broken");
      },
    ],
  ])("work that %s leaves no timer", async (_, work: () => Promise<unknown>) => {
    const { clock, options } = start(100);
    await withDeadline(options, work).catch(() => undefined);
    expect(clock.pending).toBe(0);
  });

  it("work that is over is no longer tied to its caller", async () => {
    const { cancellation, options } = start(100);
    const own = await withDeadline(options, async (limited) => limited);
    cancellation.cancel("enough");
    expect(own.isCancelled).toBe(false);
  });

  it("the caller's reason reaches the work", async () => {
    const { cancellation, options } = start(100);
    const work = withDeadline(options, endless);
    cancellation.cancel("enough");
    await expect(work).rejects.toBe("enough");
  });

  it("0 means no deadline", async () => {
    const { clock, cancellation, options } = start(0);
    const own = await withDeadline(options, async (same) => same);
    expect(own).toBe(cancellation);
    expect(clock.pending).toBe(0);
  });
});
