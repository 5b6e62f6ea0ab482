import { describe, expect, it } from "vitest";
import { RequestContext, type RequestContextOptions } from "../../../src/client/request-context.js";
import { RequestDeadline } from "../../../src/client/middleware/attempt-deadline.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** A deadline within a total deadline at `totalAt`; `expired()` returns the limit that has expired. */
function createDeadline(requestMs: number, totalAt: number, limit: "requestMs" | "totalMs" = "requestMs") {
  const clock = new FakeClock();
  const cancellation = new CancelScope();
  const startedAt = clock.now();
  const options = {
    method: "ping",
    params: {},
    requestMs,
    cancellation,
    startedAt,
    totalMs: totalAt - startedAt,
  };
  const context = new RequestContext(options as unknown as RequestContextOptions);
  const deadline = new RequestDeadline(context, { server: "slow", clock, limit });
  const expired = () => {
    try {
      deadline.cancellation.throwIfCancelled();
      return "none";
    } catch (error) {
      return /timeouts\.(\w+)/.exec(String(error))?.[1];
    }
  };
  return { clock, cancellation, deadline, expired };
}

function startDeadline(...limits: Parameters<typeof createDeadline>) {
  const created = createDeadline(...limits);
  created.deadline.start();
  return created;
}

describe("the deadline of an attempt", () => {
  it("is restarted by extend()", () => {
    const { clock, deadline, expired } = startDeadline(100, 1_000);
    clock.advance(90);
    deadline.extend();
    clock.advance(99);
    expect(expired()).toBe("none");
    clock.advance(1);
    expect(expired()).toBe("requestMs");
  });

  it("is not extended beyond the total deadline", () => {
    const { clock, deadline, expired } = startDeadline(100, 150);
    clock.advance(90);
    deadline.extend();
    clock.advance(59);
    expect(expired()).toBe("none");
    clock.advance(1);
    expect(expired()).toBe("totalMs");
  });

  it.each([
    ["ends with the total deadline if requestMs is 0", 0, 150, "totalMs"],
    ["expires at once if the total deadline has passed", 100, -1, "totalMs"],
    ["ends after requestMs without a total deadline", 100, Number.POSITIVE_INFINITY, "requestMs"],
    ["never expires without either", 0, Number.POSITIVE_INFINITY, "none"],
  ])("%s", (_, ms, totalAt, expected) => {
    const { clock, expired } = startDeadline(ms, totalAt);
    clock.advance(1_000_000);
    expect(expired()).toBe(expected);
  });

  it("with limit totalMs ignores requestMs", () => {
    const { clock, expired } = startDeadline(100, 150, "totalMs");
    clock.advance(149);
    expect(expired()).toBe("none");
    clock.advance(1);
    expect(expired()).toBe("totalMs");
  });

  it("sets no timer after end()", () => {
    const { clock, deadline } = startDeadline(100, 1_000);
    deadline.end();
    deadline.extend();
    expect(clock.pending).toBe(0);
  });

  it("has one timer, also if it is extended before start()", () => {
    const { clock, deadline, expired } = createDeadline(100, 1_000);
    deadline.extend();
    deadline.start();
    expect(clock.pending).toBe(1);
    clock.advance(90);
    deadline.extend();
    clock.advance(90);
    expect(expired()).toBe("none");
    deadline.end();
    expect(clock.pending).toBe(0);
  });

  it("does not start after end()", () => {
    const { clock, deadline } = createDeadline(100, 1_000);
    deadline.end();
    deadline.start();
    expect(clock.pending).toBe(0);
  });

  it("is cancelled with its request, but not after end()", () => {
    const running = startDeadline(100, 1_000);
    running.cancellation.cancel(new Error("enough"));
    expect(running.deadline.cancellation.isCancelled).toBe(true);
    const ended = startDeadline(100, 1_000);
    ended.deadline.end();
    ended.cancellation.cancel(new Error("enough"));
    expect(ended.deadline.cancellation.isCancelled).toBe(false);
  });
});
