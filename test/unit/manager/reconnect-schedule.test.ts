import { describe, expect, it } from "vitest";
import { ReconnectLadder } from "../../../src/manager/reconnect-schedule.js";
import { times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function ladder(isRemote: boolean) {
  const clock = new FakeClock();
  const triedAt: number[] = [];
  const givenUp: unknown[] = [];
  let works = false;
  const steps = new ReconnectLadder({
    clock,
    isRemote,
    reopen: async () => {
      triedAt.push(clock.now());
      if (!works) throw new Error("still gone");
    },
    onGivenUp: (error) => givenUp.push(error),
  });
  return {
    steps,
    clock,
    triedAt,
    givenUp,
    work: () => {
      works = true;
    },
    /** Promises settle between two steps. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 500) {
        clock.advance(Math.min(500, left));
        await new Promise(setImmediate);
      }
    },
  };
}

describe("a lost connection", () => {
  it("of a program is tried four times, and then given up", async () => {
    const at = ladder(false);
    expect(at.steps.begin()).toBe(true);
    await at.pass(60_000);
    expect(at.triedAt).toEqual([500, 1_500, 3_500, 7_500]);
    expect(at.givenUp).toHaveLength(1);
    expect(at.clock.pending).toBe(0);
  });

  it("of a server elsewhere is tried on, every 15 s and then less often, down to every 5 minutes", async () => {
    const at = ladder(true);
    at.steps.begin();
    await at.pass(1_800_000);
    const waits = at.triedAt.map((moment, n) => moment - (at.triedAt[n - 1] ?? 0));
    expect(waits).toEqual([
      500, 1_000, 2_000, 4_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000, 300_000,
    ]);
    expect(at.givenUp).toEqual([]);
    at.steps.stop();
    expect(at.clock.pending).toBe(0);
  });

  it("is tried no more once it is there", async () => {
    const at = ladder(true);
    at.steps.begin();
    at.work();
    await at.pass(60_000);
    expect(at.triedAt).toEqual([500]);
    expect(at.clock.pending).toBe(0);
  });

  it("is tried no more when nobody wants it, also when a try is under way", async () => {
    const at = ladder(true);
    at.steps.begin();
    at.clock.advance(500);
    at.steps.stop();
    await at.pass(60_000);
    expect(at.triedAt).toEqual([500]);
  });

  it("is left alone when it is lost more than five times in 30 s, and not for ever", async () => {
    const at = ladder(false);
    at.work();
    const losses = [];
    for (const _ of times(6, (n) => n)) {
      losses.push(at.steps.begin());
      await at.pass(2_000);
    }
    expect(losses).toEqual([true, true, true, true, true, false]);
    expect(at.triedAt).toHaveLength(5);
    await at.pass(30_000);
    expect(at.steps.begin()).toBe(true);
  });
});
