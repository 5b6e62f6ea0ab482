import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { McpRuntimeError } from "../../../src/index.js";
import { MANAGER_DEFAULTS, type ReconnectionOptions } from "../../../src/manager/index.js";
import { ReconnectSchedule } from "../../../src/manager/reconnect-schedule.js";
import { times } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function createFixture(
  isRemote: boolean,
  options: ReconnectionOptions | false = {},
  failure: Error = new Error("unreachable"),
  random = 0,
) {
  const clock = new FakeClock();
  const attempts: number[] = [];
  const exhausted: unknown[] = [];
  let isReachable = false;
  const schedule = new ReconnectSchedule({
    clock,
    random: () => random,
    isRemote,
    settings: options === false ? undefined : { ...MANAGER_DEFAULTS.reconnection, ...options },
    reconnect: async () => {
      attempts.push(clock.now());
      if (!isReachable) throw failure;
    },
    onExhausted: (error) => exhausted.push(error),
  });
  return {
    schedule,
    clock,
    attempts,
    exhausted,
    restore: () => {
      isReachable = true;
    },
    /** Advances the clock in steps, so that promises can settle in between. */
    async advance(ms: number) {
      for (let remaining = ms; remaining > 0; remaining -= 500) {
        clock.advance(Math.min(500, remaining));
        await new Promise(setImmediate);
      }
    },
  };
}

describe("a lost connection", () => {
  it.each([
    { name: "remote server is retried up to a fifth later", isRemote: true, attempts: [5_500, 16_500] },
    { name: "local program is retried in time", isRemote: false, attempts: [5_000, 15_000] },
  ])("of a $name", async ({ isRemote, attempts }) => {
    const fixture = createFixture(isRemote, { delaysMs: [5_000, 10_000], maxAttempts: 2 }, undefined, 0.5);
    fixture.schedule.start();
    await fixture.advance(30_000);
    expect(fixture.attempts).toEqual(attempts);
  });

  it("of a local program is retried four times", async () => {
    const fixture = createFixture(false);
    expect(fixture.schedule.start()).toBe(true);
    await fixture.advance(60_000);
    expect(fixture.attempts).toEqual([500, 1_500, 3_500, 7_500]);
    expect(fixture.exhausted).toHaveLength(1);
    expect(fixture.clock.pending).toBe(0);
  });

  it("of a remote server is retried without limit, with delays of 15 s to 5 minutes", async () => {
    const fixture = createFixture(true);
    fixture.schedule.start();
    await fixture.advance(1_800_000);
    const delays = fixture.attempts.map((time, n) => time - (fixture.attempts[n - 1] ?? 0));
    expect(delays).toEqual([
      500, 1_000, 2_000, 4_000, 15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 300_000, 300_000,
    ]);
    expect(fixture.exhausted).toEqual([]);
    fixture.schedule.stop();
    expect(fixture.clock.pending).toBe(0);
  });

  it("of a local program is retried although a request has failed in the meantime", async () => {
    const fixture = createFixture(false);
    fixture.schedule.start();
    fixture.schedule.continueAfter(new McpRuntimeError("connection-lost", "lost"));
    await fixture.advance(1_000);
    expect(fixture.attempts).toEqual([500]);
  });

  it("is not retried after it is restored", async () => {
    const fixture = createFixture(true);
    fixture.schedule.start();
    fixture.restore();
    await fixture.advance(60_000);
    expect(fixture.attempts).toEqual([500]);
    expect(fixture.clock.pending).toBe(0);
  });

  it("is not retried after stop, even if an attempt is running", async () => {
    const fixture = createFixture(true);
    fixture.schedule.start();
    fixture.clock.advance(500);
    fixture.schedule.stop();
    await fixture.advance(60_000);
    expect(fixture.attempts).toEqual([500]);
  });

  it("is not restored after more than five losses within 30 s", async () => {
    const fixture = createFixture(false);
    fixture.restore();
    const losses = [];
    for (const _ of times(6, (n) => n)) {
      losses.push(fixture.schedule.start());
      await fixture.advance(2_000);
    }
    expect(losses).toEqual([true, true, true, true, true, false]);
    expect(fixture.attempts).toHaveLength(5);
    await fixture.advance(30_000);
    expect(fixture.schedule.start()).toBe(true);
  });

  it("is retried with other delays, of which the last one is repeated, and as often as an option says", async () => {
    const fixture = createFixture(true, { delaysMs: [1_000, 3_000], maxAttempts: 4 });
    fixture.schedule.start();
    await fixture.advance(60_000);
    expect(fixture.attempts).toEqual([1_000, 4_000, 7_000, 10_000]);
    expect(fixture.exhausted).toHaveLength(1);
    expect(fixture.clock.pending).toBe(0);
  });

  it("of a local program is retried without limit, if an option says so", async () => {
    const fixture = createFixture(false, { maxAttempts: Number.POSITIVE_INFINITY });
    fixture.schedule.start();
    await fixture.advance(60_000);
    expect(fixture.attempts).toHaveLength(6);
    expect(fixture.exhausted).toEqual([]);
  });

  it("may be lost as often as an option says", async () => {
    const fixture = createFixture(true, { maxLosses: 1, lossWindowMs: 5_000 });
    fixture.restore();
    expect(fixture.schedule.start()).toBe(true);
    await fixture.advance(2_000);
    expect(fixture.schedule.start()).toBe(false);
    await fixture.advance(5_000);
    expect(fixture.schedule.start()).toBe(true);
  });

  it("is not retried with reconnection: false", async () => {
    const fixture = createFixture(true, false);
    expect(fixture.schedule.start()).toBe(false);
    expect(fixture.clock.pending).toBe(0);
  });
});

describe("a server that could not be connected", () => {
  it.each([
    { kind: "not-sent", times: [500, 1_500, 3_500, 7_500, 22_500, 52_500] },
    { kind: "unauthorized", times: [15_000, 45_000] },
  ] as const)(
    "because of $kind is tried again, rarely if its credentials were rejected",
    async (expected) => {
      const failure = new McpRuntimeError(expected.kind, "failed");
      const fixture = createFixture(true, {}, failure);
      fixture.schedule.continueAfter(failure);
      await fixture.advance(60_000);
      expect(fixture.attempts).toEqual(expected.times);
    },
  );

  it("is tried with growing delays when an attempt is made in between", async () => {
    const failure = new McpRuntimeError("not-sent", "failed");
    const fixture = createFixture(true, {}, failure);
    for (const _ of times(3, (n) => n)) fixture.schedule.continueAfter(failure);
    await fixture.advance(5_000);
    expect(fixture.attempts).toEqual([2_000]);
  });

  it.each([
    { seconds: 20, from: 19_000, to: 20_500 },
    { seconds: 1_000_000, from: 3_600_000, to: 3_600_000 },
  ])("is not tried before the time that it has sent, up to an hour ($seconds s)", async (expected) => {
    const retryAt = new Date(Date.now() + expected.seconds * 1_000);
    const failure = new McpRuntimeError("rate-limited", "busy", { retryAt });
    const fixture = createFixture(true, {}, failure);
    fixture.schedule.continueAfter(failure);
    await fixture.advance(expected.to);
    expect(fixture.attempts).toHaveLength(1);
    expect(fixture.attempts[0]).toBeGreaterThanOrEqual(expected.from);
  });

  it("is not tried again if it is a local program", () => {
    const fixture = createFixture(false);
    fixture.schedule.continueAfter(new McpRuntimeError("not-sent", "failed"));
    expect(fixture.clock.pending).toBe(0);
  });

  it("does not keep the process alive", async () => {
    const program = `
      import { createMcpTools } from "langchain-mcp-runtime";
      const down = { url: "http://127.0.0.1:1/mcp", optional: true, retry: false };
      const mcp = await createMcpTools({ down }, { startupWaitMs: 60_000 });
      console.log(mcp.servers.failed.join());`;
    const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
      timeout: 20_000,
    });
    expect((await run).stdout).toBe("down\n");
  });
});
