import { describe, expect, it } from "vitest";
import { FAILURE_KINDS } from "../../../src/errors/failure-kinds.js";
import { Backoff } from "../../../src/client/policies/backoff.js";
import { FAILURE_POLICIES } from "../../../src/client/policies/failure-policies.js";
import { RetryTokens } from "../../../src/client/policies/retry-budget.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

describe("the matrix", () => {
  it("has a row for each kind", () => {
    expect(Object.keys(FAILURE_POLICIES).toSorted()).toEqual(Object.keys(FAILURE_KINDS).toSorted());
  });

  it("repeats nothing that may have run unless it is idempotent", () => {
    const repeated = Object.entries(FAILURE_POLICIES)
      .filter(([, { retry: repeat }]) => repeat === "always")
      .map(([kind]) => kind);
    expect(repeated).toEqual(["not-sent", "rate-limited"]);
  });

  it("counts for the breaker what says that a server is not well", () => {
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

describe("waits", () => {
  it("grow with the dice, from the base to the limit", () => {
    const highest = new Backoff({ baseDelayMs: 100, maxDelayMs: 1_000, random: () => 1 });
    expect([1, 2, 3, 4].map(() => highest.nextMs())).toEqual([300, 900, 1_000, 1_000]);
    const lowest = new Backoff({ baseDelayMs: 100, maxDelayMs: 1_000, random: () => 0 });
    expect([1, 2, 3].map(() => lowest.nextMs())).toEqual([100, 100, 100]);
  });
});

describe("retry tokens", () => {
  it("are ten to begin with, and then one for every ten calls", () => {
    const tokens = new RetryTokens(new FakeClock());
    for (let n = 0; n < 10; n += 1) tokens.spend();
    expect(tokens.isEmpty).toBe(true);
    for (let n = 0; n < 11; n += 1) tokens.earn();
    expect(tokens.isEmpty).toBe(false);
    tokens.spend();
    expect(tokens.isEmpty).toBe(true);
  });

  it("come back with time, ten a minute and no more", () => {
    const clock = new FakeClock();
    const tokens = new RetryTokens(clock);
    for (let n = 0; n < 10; n += 1) tokens.spend();
    clock.advance(6_000);
    expect(tokens.isEmpty).toBe(false);
    tokens.spend();
    expect(tokens.isEmpty).toBe(true);
    clock.advance(3_600_000);
    for (let n = 0; n < 10; n += 1) tokens.spend();
    expect(tokens.isEmpty).toBe(true);
  });
});
