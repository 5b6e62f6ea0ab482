import { describe, expect, it } from "vitest";
import { FAILURE_KINDS } from "../../../src/errors/failure-kinds.js";
import { Backoff } from "../../../src/client/middleware/retry.js";
import { FAILURE_POLICIES } from "../../../src/client/policies/failure-policies.js";
import { RetryBudget } from "../../../src/client/policies/retry-budget.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

describe("the failure policies", () => {
  it("cover every failure kind", () => {
    expect(Object.keys(FAILURE_POLICIES).toSorted()).toEqual(Object.keys(FAILURE_KINDS).toSorted());
  });

  it("always retry only failures of requests that did not run", () => {
    const retried = Object.entries(FAILURE_POLICIES)
      .filter(([, { retry }]) => retry === "always")
      .map(([kind]) => kind);
    expect(retried).toEqual(["not-sent", "rate-limited"]);
  });

  it("count failures of the server for the circuit breaker", () => {
    const counted = Object.entries(FAILURE_POLICIES)
      .filter(([, policy]) => policy.countsForBreaker)
      .map(([kind]) => kind);
    expect(counted).toEqual([
      "not-sent",
      "connection-lost",
      "timeout",
      "unavailable",
      "server-error",
      "invalid-response",
      "too-large",
    ]);
  });
});

describe("backoff delays", () => {
  it("grow randomly from the base delay to the maximum", () => {
    const highest = new Backoff({ baseDelayMs: 100, maxDelayMs: 1_000, random: () => 1 });
    expect([1, 2, 3, 4].map(() => highest.nextMs())).toEqual([300, 900, 1_000, 1_000]);
    const lowest = new Backoff({ baseDelayMs: 100, maxDelayMs: 1_000, random: () => 0 });
    expect([1, 2, 3].map(() => lowest.nextMs())).toEqual([100, 100, 100]);
  });
});

describe("a retry budget", () => {
  it("starts with ten retries and gains one for every ten calls", () => {
    const budget = new RetryBudget(new FakeClock());
    for (let n = 0; n < 10; n += 1) budget.withdraw();
    expect(budget.isEmpty).toBe(true);
    for (let n = 0; n < 11; n += 1) budget.deposit();
    expect(budget.isEmpty).toBe(false);
    budget.withdraw();
    expect(budget.isEmpty).toBe(true);
  });

  it("refills over time, up to ten per minute", () => {
    const clock = new FakeClock();
    const budget = new RetryBudget(clock);
    for (let n = 0; n < 10; n += 1) budget.withdraw();
    clock.advance(6_000);
    expect(budget.isEmpty).toBe(false);
    budget.withdraw();
    expect(budget.isEmpty).toBe(true);
    clock.advance(3_600_000);
    for (let n = 0; n < 10; n += 1) budget.withdraw();
    expect(budget.isEmpty).toBe(true);
  });
});
