import { describe, expect, it } from "vitest";
import { retry, type RetryDependencies } from "../../../src/client/middleware/retry.js";
import { RetryBudgets } from "../../../src/client/policies/retry-budget.js";
import type { RequestContext } from "../../../src/client/request-context.js";
import { SERVER_DEFAULTS } from "../../../src/config/server-config.js";
import type { FailureKind } from "../../../src/errors/failure-kinds.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { createRequest } from "../../fixtures/request-context.js";

interface Attempt {
  readonly kind?: FailureKind;
  readonly outcomeUnknown?: boolean;
  readonly wasSent?: boolean;
}

const SETTINGS = { maxRetries: 2, baseDelayMs: 100, maxDelayMs: 100, freshSession: false };

/** Runs a request whose attempts end as given; without a kind, with the result "done". */
async function run(
  attempts: readonly Attempt[],
  request: RequestContext = createRequest(),
  settings: Partial<RetryDependencies["lifecycle"]["config"]["retry"]> = {},
) {
  const clock = new FakeClock();
  const delays: number[] = [];
  const freshSessions: boolean[] = [];
  const handler = retry({
    clock,
    random: () => 0.5,
    lifecycle: { config: { retry: { ...SETTINGS, ...settings }, timeouts: SERVER_DEFAULTS.timeouts } },
    retryBudgets: new RetryBudgets(clock, () => 100),
    requestEvents: { onRetry: (_request, _failure, waitMs) => void delays.push(waitMs) },
  })(async () => {
    const { kind, outcomeUnknown = false, wasSent = true } = attempts[request.attempts] ?? {};
    request.attempts += 1;
    request.sendStatus = { mayHaveBeenSent: () => wasSent } as never;
    freshSessions.push(request.useFreshSession);
    if (kind !== undefined) throw new McpRuntimeError(kind, kind, { outcomeUnknown });
    return "done";
  });
  const settled = handler(request).catch((error: unknown) => (error as McpRuntimeError).kind);
  const outcome = await clock.advanceUntilSettled(settled, 10_000);
  return { outcome, attempts: request.attempts, delays, freshSessions, request };
}

describe("a failed request is retried", () => {
  it.each<[name: string, failure: Attempt, isIdempotent: boolean, attempts: number]>([
    ["not if it may have run", { kind: "connection-lost", outcomeUnknown: true }, false, 1],
    ["if it may have run and is idempotent", { kind: "connection-lost", outcomeUnknown: true }, true, 2],
    ["if it was not sent", { kind: "not-sent", wasSent: false }, false, 2],
    ["if the server declined it", { kind: "rate-limited" }, false, 2],
    ["if the connection broke before it was sent", { kind: "connection-lost", wasSent: false }, false, 2],
    ["not after a timeout, even if it was not sent", { kind: "timeout", wasSent: false }, false, 1],
    ["after a timeout if it is idempotent", { kind: "timeout" }, true, 2],
    ["not after an error of the server", { kind: "server-error", outcomeUnknown: true }, false, 1],
    ["not if it would fail again", { kind: "not-found" }, true, 1],
    ["not without permission", { kind: "denied" }, true, 1],
    ["not if the circuit is open", { kind: "circuit-open" }, true, 1],
  ])("%s", async (_, failure, isIdempotent, attempts) => {
    const result = await run([failure], createRequest({ isIdempotent }));
    expect(result.attempts).toBe(attempts);
    expect(result.outcome).toBe(attempts === 1 ? failure.kind : "done");
  });

  it("at most maxRetries times", async () => {
    const lost: Attempt = { kind: "not-sent", wasSent: false };
    expect(await run([lost, lost, lost, lost])).toMatchObject({ outcome: "not-sent", attempts: 3 });
    expect(await run([lost], createRequest(), { maxRetries: 0 })).toMatchObject({ attempts: 1 });
  });

  it("not beyond its total deadline", async () => {
    const request = createRequest({ totalMs: 100 });
    expect(await run([{ kind: "not-sent" }], request)).toMatchObject({ attempts: 1, delays: [] });
  });

  it("not after a handshake that used up its time, even if it is idempotent", async () => {
    const request = createRequest({ isIdempotent: true });
    request.connectWaitMs = 10_000;
    expect(await run([{ kind: "timeout", wasSent: false }], request)).toMatchObject({ attempts: 1 });
  });

  it("on a session of its own, if that is set and the session may be the cause", async () => {
    const unavailable: Attempt = { kind: "unavailable", outcomeUnknown: true };
    const idempotent = () => createRequest({ isIdempotent: true });
    const fresh = await run([unavailable], idempotent(), { freshSession: true });
    expect(fresh.freshSessions).toEqual([false, true]);
    const declined = await run([{ kind: "rate-limited" }], idempotent(), { freshSession: true });
    expect(declined.freshSessions).toEqual([false, false]);
  });

  it("and the last failure still says that an earlier attempt may have run", async () => {
    const attempts: Attempt[] = [
      { kind: "connection-lost", outcomeUnknown: true },
      { kind: "not-found", wasSent: false },
    ];
    const { outcome, request } = await run(attempts, createRequest({ isIdempotent: true }));
    expect([outcome, request.mayHaveRun]).toEqual(["not-found", true]);
  });
});
