import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CircuitBreaker,
  type BreakerState,
  type CircuitPermit,
} from "../../../src/client/policies/circuit-breaker.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

const OPTIONS = { failureThreshold: 3, recoveryTimeoutMs: 1_000, halfOpenMaxCalls: 1, successThreshold: 2 };

function createBreaker(options = OPTIONS) {
  const clock = new FakeClock();
  const changes: BreakerState[] = [];
  const breaker = new CircuitBreaker(options, {
    clock,
    identity: "",
    probe: undefined,
    onChange: (state) => changes.push(state),
  });
  /** Failures count at most once in 250 ms. */
  const fail = (times: number) => {
    for (let n = 0; n < times; n += 1) {
      clock.advance(250);
      breaker.tryAcquire()?.fail();
    }
  };
  return { clock, changes, breaker, fail };
}

describe("a circuit breaker", () => {
  it("opens after consecutive failures and reports when it recovers", () => {
    const { breaker, fail, changes } = createBreaker();
    fail(2);
    expect(breaker.stats()).toMatchObject({ state: "closed", failures: 2, blocked: 0, recoversInMs: 0 });
    fail(1);
    expect(breaker.tryAcquire()).toBeUndefined();
    expect(breaker.stats()).toMatchObject({ state: "open", failures: 3, blocked: 1, recoversInMs: 1_000 });
    expect(changes).toEqual(["open"]);
  });

  it("resets its failures on success, but not on a release", () => {
    const { breaker, fail } = createBreaker();
    fail(2);
    breaker.tryAcquire()?.release();
    expect(breaker.stats().failures).toBe(2);
    breaker.tryAcquire()?.succeed();
    fail(2);
    expect(breaker.stats().state).toBe("closed");
  });

  it("counts at most one failure in 250 ms", () => {
    const { breaker, clock } = createBreaker();
    breaker.tryAcquire()?.fail();
    clock.advance(249);
    breaker.tryAcquire()?.fail();
    expect(breaker.stats().failures).toBe(1);
    clock.advance(1);
    breaker.tryAcquire()?.fail();
    expect(breaker.stats().failures).toBe(2);
  });

  it("counts concurrent failures as one", () => {
    const { breaker } = createBreaker();
    const together = Array.from({ length: 50 }, () => breaker.tryAcquire());
    for (const permit of together) permit?.fail();
    expect(breaker.stats()).toMatchObject({ state: "closed", failures: 1 });
  });

  it("lets one trial call through at a time when half-open, and closes after enough successes", () => {
    const { breaker, clock, fail, changes } = createBreaker();
    fail(3);
    clock.advance(1_000);
    const trial = breaker.tryAcquire();
    expect(trial).toBeDefined();
    expect(breaker.tryAcquire()).toBeUndefined();
    trial?.succeed();
    expect(breaker.stats().state).toBe("half-open");
    breaker.tryAcquire()?.succeed();
    expect(changes).toEqual(["open", "half-open", "closed"]);
    expect(breaker.stats().failures).toBe(0);
  });

  it("opens again after a failed trial call, for the full recovery timeout", () => {
    const { breaker, clock, fail } = createBreaker();
    fail(3);
    clock.advance(1_000);
    breaker.tryAcquire()?.fail();
    expect(breaker.stats()).toMatchObject({ state: "open", recoversInMs: 1_000 });
  });

  it.each(["succeed", "fail", "release"] as const)("frees the slot of a trial call once, by %s", (end) => {
    const { breaker, clock, fail } = createBreaker({ ...OPTIONS, successThreshold: 9 });
    fail(3);
    clock.advance(1_000);
    const trial = breaker.tryAcquire();
    trial?.[end]();
    trial?.release();
    trial?.succeed();
    clock.advance(1_000);
    expect(breaker.tryAcquire()).toBeDefined();
    expect(breaker.tryAcquire()).toBeUndefined();
  });

  it("ignores permits from an earlier state", () => {
    const { breaker, clock, fail } = createBreaker();
    const old = breaker.tryAcquire();
    fail(3);
    clock.advance(1_000);
    const trial = breaker.tryAcquire();
    old?.fail();
    old?.succeed();
    expect(breaker.stats().state).toBe("half-open");
    expect(breaker.tryAcquire()).toBeUndefined();
    trial?.release();
    expect(breaker.tryAcquire()).toBeDefined();
  });

  it("can be forced open and closed", () => {
    const { breaker } = createBreaker();
    breaker.forceOpen();
    expect(breaker.tryAcquire()).toBeUndefined();
    breaker.forceClose();
    expect(breaker.tryAcquire()).toBeDefined();
    expect(breaker.stats()).toMatchObject({ state: "closed", failures: 0 });
  });
});

/** A reference model for sequential attempts. */
function createModel() {
  let [state, failures, successes, openedAt, countedAt] = ["closed", 0, 0, 0, -Infinity];
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
      if (outcome === "fail" && (state === "half-open" || now - countedAt >= 250)) {
        failures += 1;
        countedAt = now;
        if (state === "half-open" || failures >= OPTIONS.failureThreshold) [state, openedAt] = ["open", now];
      }
      return state;
    },
  };
}

describe("a circuit breaker with random attempts", () => {
  const step = fc.record({
    outcome: fc.constantFrom("succeed" as const, "fail" as const, "release" as const),
    waitMs: fc.integer({ min: 0, max: 700 }),
  });

  it("matches the reference model for sequential attempts", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { breaker, clock } = createBreaker();
        const reference = createModel();
        let now = 0;
        for (const { outcome, waitMs } of steps) {
          clock.advance(waitMs);
          now += waitMs;
          const permit = breaker.tryAcquire();
          permit?.[outcome]();
          expect(permit === undefined ? "blocked" : breaker.stats().state).toBe(reference.step(outcome, now));
        }
      }),
    );
  });

  it("recovers after concurrent attempts in any order", () => {
    const action = fc.record({
      acquire: fc.boolean(),
      pick: fc.nat(),
      outcome: step.map(({ outcome }) => outcome),
      waitMs: fc.integer({ min: 0, max: 600 }),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const { breaker, clock } = createBreaker({ ...OPTIONS, halfOpenMaxCalls: 2 });
        const open: CircuitPermit[] = [];
        for (const { acquire, pick, outcome, waitMs } of actions) {
          clock.advance(waitMs);
          const permit = acquire ? breaker.tryAcquire() : undefined;
          if (permit !== undefined) open.push(permit);
          else if (open.length > 0) open.splice(pick % open.length, 1)[0]?.[outcome]();
        }
        for (const permit of open) permit.release();
        clock.advance(OPTIONS.recoveryTimeoutMs);
        expect(breaker.tryAcquire()).toBeDefined();
      }),
    );
  });
});
