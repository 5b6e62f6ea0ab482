import { describe, expect, it } from "vitest";
import { Cancellation } from "../../../src/concurrency/cancellation.js";
import { RenewableDeadline, withDeadline } from "../../../src/concurrency/deadline.js";
import { FakeClock } from "../../support/fake-clock.js";

function start(ms: number) {
  const clock = new FakeClock();
  const cancellation = new Cancellation();
  return { clock, cancellation, options: { ms, clock, cancellation, expired: () => "time is up" } };
}

/** Work that takes until it is ended. */
const endless = (cancellation: Cancellation) => cancellation.race(new Promise<never>(() => undefined));

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

describe("a deadline that can be given again", () => {
  const limitsOf = (ms: number, endsAt: number) => {
    const { clock, cancellation } = start(ms);
    const deadline = new RenewableDeadline({ ms, endsAt, clock, cancellation, expired: (limit) => limit });
    const reason = () => {
      try {
        deadline.cancellation.throwIfCancelled();
        return "none";
      } catch (error) {
        return error;
      }
    };
    return { clock, deadline, reason };
  };

  const started = (ms: number, endsAt: number) => {
    const limits = limitsOf(ms, endsAt);
    limits.deadline.start();
    return limits;
  };

  it("gives the whole time once more", () => {
    const { clock, deadline, reason } = started(100, 1_000);
    clock.advance(90);
    deadline.renew();
    clock.advance(99);
    expect(reason()).toBe("none");
    clock.advance(1);
    expect(reason()).toBe("ms");
  });

  it("gives none after the last moment", () => {
    const { clock, deadline, reason } = started(100, 150);
    clock.advance(90);
    deadline.renew();
    clock.advance(59);
    expect(reason()).toBe("none");
    clock.advance(1);
    expect(reason()).toBe("endsAt");
  });

  it.each([
    ["ends with the last moment when it has no time of its own", 0, 150, "endsAt"],
    ["is over at once when the last moment has passed", 100, -1, "endsAt"],
    ["has its own time when there is no last moment", 100, Number.POSITIVE_INFINITY, "ms"],
    ["never ends without either", 0, Number.POSITIVE_INFINITY, "none"],
  ])("%s", (_, ms, endsAt, expected) => {
    const { clock, reason } = started(ms, endsAt);
    clock.advance(1_000_000);
    expect(reason()).toBe(expected);
  });

  it("sets no timer after its end", () => {
    const { clock, deadline } = started(100, 1_000);
    deadline.end();
    deadline.renew();
    expect(clock.pending).toBe(0);
  });

  it("has one timer, also when it is renewed before it starts", () => {
    const { clock, deadline, reason } = limitsOf(100, 1_000);
    deadline.renew();
    deadline.start();
    expect(clock.pending).toBe(1);
    clock.advance(90);
    deadline.renew();
    clock.advance(90);
    expect(reason()).toBe("none");
    deadline.end();
    expect(clock.pending).toBe(0);
  });

  it("never starts after its end", () => {
    const { clock, deadline } = limitsOf(100, 1_000);
    deadline.end();
    deadline.start();
    expect(clock.pending).toBe(0);
  });
});
