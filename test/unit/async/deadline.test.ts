import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { withDeadline } from "../../../src/async/clock.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function createOptions(ms: number) {
  const clock = new FakeClock();
  const cancellation = new CancelScope();
  return { clock, cancellation, options: { ms, clock, cancellation, createError: () => "expired" } };
}

/** Work that runs until it is cancelled. */
const endless = (cancellation: CancelScope) => cancellation.race(new Promise<never>(() => undefined));

describe("withDeadline", () => {
  it("resolves like the work", async () => {
    const { options } = createOptions(100);
    await expect(withDeadline(options, async () => "done")).resolves.toBe("done");
  });

  it("cancels the work when the deadline expires, not earlier", async () => {
    const { clock, options } = createOptions(100);
    const work = withDeadline(options, endless);
    clock.advance(99);
    expect(clock.pending).toBe(1);
    clock.advance(1);
    await expect(work).rejects.toBe("expired");
  });

  it("does not cancel the parent scope", async () => {
    const { clock, cancellation, options } = createOptions(100);
    const work = withDeadline(options, endless);
    clock.advance(100);
    await expect(work).rejects.toBe("expired");
    expect(cancellation.isCancelled).toBe(false);
  });

  it.each([
    ["succeeded", async () => "done"],
    ["failed", () => Promise.reject(new Error("broken"))],
    [
      "threw synchronously",
      () => {
        throw new Error("broken");
      },
    ],
  ])("work that %s leaves no timer", async (_, work: () => Promise<unknown>) => {
    const { clock, options } = createOptions(100);
    await withDeadline(options, work).catch(() => undefined);
    expect(clock.pending).toBe(0);
  });

  it("completed work is detached from the parent scope", async () => {
    const { cancellation, options } = createOptions(100);
    const received = await withDeadline(options, async (scope) => scope);
    cancellation.cancel("enough");
    expect(received.isCancelled).toBe(false);
  });

  it("a cancellation of the parent scope reaches the work", async () => {
    const { cancellation, options } = createOptions(100);
    const work = withDeadline(options, endless);
    cancellation.cancel("enough");
    await expect(work).rejects.toBe("enough");
  });

  it("0 means no deadline", async () => {
    const { clock, cancellation, options } = createOptions(0);
    const received = await withDeadline(options, async (scope) => scope);
    expect(received).toBe(cancellation);
    expect(clock.pending).toBe(0);
  });
});
