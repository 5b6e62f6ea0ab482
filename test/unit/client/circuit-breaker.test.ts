import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CircuitBreaker,
  type BreakerState,
  type Permit,
} from "../../../src/client/policies/circuit-breaker.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const OPTIONS = { failureThreshold: 3, recoveryTimeoutMs: 1_000, halfOpenMaxCalls: 1, successThreshold: 2 };

function setUp(options = OPTIONS) {
  const clock = new FakeClock();
  const changes: BreakerState[] = [];
  const breaker = new CircuitBreaker(options, { clock, onChange: (state) => changes.push(state) });
  const fail = (times: number) => {
    for (let n = 0; n < times; n += 1) breaker.enter()?.fail();
  };
  return { clock, changes, breaker, fail };
}

describe("a circuit breaker", () => {
  it("opens after so many failures in a row, and says when it recovers", () => {
    const { breaker, fail, changes } = setUp();
    fail(2);
    expect(breaker.stats()).toEqual({ state: "closed", failures: 2, blocked: 0, recoversInMs: 0 });
    fail(1);
    expect(breaker.enter()).toBeUndefined();
    expect(breaker.stats()).toEqual({ state: "open", failures: 3, blocked: 1, recoversInMs: 1_000 });
    expect(changes).toEqual(["open"]);
  });

  it("forgets failures at a success, and not at what says nothing", () => {
    const { breaker, fail } = setUp();
    fail(2);
    breaker.enter()?.release();
    expect(breaker.stats().failures).toBe(2);
    breaker.enter()?.succeed();
    fail(2);
    expect(breaker.stats().state).toBe("closed");
  });

  it("takes what broke together for one failure", () => {
    const { breaker } = setUp();
    const together = Array.from({ length: 50 }, () => breaker.enter());
    for (const permit of together) permit?.fail();
    expect(breaker.stats()).toMatchObject({ state: "closed", failures: 1 });
  });

  it("lets one probe at a time through after a while, and closes after enough", () => {
    const { breaker, clock, fail, changes } = setUp();
    fail(3);
    clock.advance(1_000);
    const probe = breaker.enter();
    expect(probe).toBeDefined();
    expect(breaker.enter()).toBeUndefined();
    probe?.succeed();
    expect(breaker.stats().state).toBe("half-open");
    breaker.enter()?.succeed();
    expect(changes).toEqual(["open", "half-open", "closed"]);
    expect(breaker.stats().failures).toBe(0);
  });

  it("opens again at a failed probe, for the whole time", () => {
    const { breaker, clock, fail } = setUp();
    fail(3);
    clock.advance(1_000);
    breaker.enter()?.fail();
    expect(breaker.stats()).toMatchObject({ state: "open", recoversInMs: 1_000 });
  });

  it.each(["succeed", "fail", "release"] as const)("gets a probe's slot back once, by %s", (end) => {
    const { breaker, clock, fail } = setUp({ ...OPTIONS, successThreshold: 9 });
    fail(3);
    clock.advance(1_000);
    const probe = breaker.enter();
    probe?.[end]();
    probe?.release();
    probe?.succeed();
    clock.advance(1_000);
    expect(breaker.enter()).toBeDefined();
    expect(breaker.enter()).toBeUndefined();
  });

  it("does not listen to what was let through in an earlier state", () => {
    const { breaker, clock, fail } = setUp();
    const old = breaker.enter();
    fail(3);
    clock.advance(1_000);
    const probe = breaker.enter();
    old?.fail();
    old?.succeed();
    expect(breaker.stats().state).toBe("half-open");
    expect(breaker.enter()).toBeUndefined();
    probe?.release();
    expect(breaker.enter()).toBeDefined();
  });

  it("can be forced open and closed", () => {
    const { breaker } = setUp();
    breaker.forceOpen();
    expect(breaker.enter()).toBeUndefined();
    breaker.forceClose();
    expect(breaker.enter()).toBeDefined();
    expect(breaker.stats()).toMatchObject({ state: "closed", failures: 0 });
  });
});

/** What the rules say, in the plainest way; only one attempt is under way at a time. */
function model() {
  let [state, failures, successes, openedAt] = ["closed", 0, 0, 0];
  return {
    step(outcome: "succeed" | "fail" | "release", now: number): string {
      if (state === "open" && now - openedAt >= OPTIONS.recoveryTimeoutMs)
        [state, successes] = ["half-open", 0];
      if (state === "open") return "blocked";
      if (outcome === "succeed") {
        failures = 0;
        successes += state === "half-open" ? 1 : 0;
        if (state === "half-open" && successes >= OPTIONS.successThreshold) state = "closed";
      }
      if (outcome === "fail") {
        failures += 1;
        if (state === "half-open" || failures >= OPTIONS.failureThreshold) [state, openedAt] = ["open", now];
      }
      return state;
    },
  };
}

describe("whatever happens", () => {
  const step = fc.record({
    outcome: fc.constantFrom("succeed" as const, "fail" as const, "release" as const),
    waitMs: fc.integer({ min: 0, max: 700 }),
  });

  it("one after the other, it does what the rules say", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { breaker, clock } = setUp();
        const rules = model();
        let now = 0;
        for (const { outcome, waitMs } of steps) {
          clock.advance(waitMs);
          now += waitMs;
          const permit = breaker.enter();
          permit?.[outcome]();
          expect(permit === undefined ? "blocked" : breaker.stats().state).toBe(rules.step(outcome, now));
        }
      }),
    );
  });

  it("all at once, it never lets more probes through than it may, and never stays shut", () => {
    const action = fc.record({
      enter: fc.boolean(),
      pick: fc.nat(),
      outcome: step.map(({ outcome }) => outcome),
      waitMs: fc.integer({ min: 0, max: 600 }),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const { breaker, clock } = setUp({ ...OPTIONS, halfOpenMaxCalls: 2 });
        const open: Permit[] = [];
        for (const { enter, pick, outcome, waitMs } of actions) {
          clock.advance(waitMs);
          const permit = enter ? breaker.enter() : undefined;
          if (permit !== undefined) open.push(permit);
          else if (open.length > 0) open.splice(pick % open.length, 1)[0]?.[outcome]();
        }
        for (const permit of open) permit.release();
        clock.advance(OPTIONS.recoveryTimeoutMs);
        expect(breaker.enter()).toBeDefined();
      }),
    );
  });
});
