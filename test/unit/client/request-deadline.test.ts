import { describe, expect, it } from "vitest";
import { type ClientRequest, RequestContext, RequestTrace } from "../../../src/client/request-context.js";
import { RequestDeadline } from "../../../src/client/middleware/request-deadline.js";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

/** A deadline of an exchange that ends at `endsAt`, and which of its limits has passed. */
function limitsOf(requestMs: number, endsAt: number, limit: "requestMs" | "totalMs" = "requestMs") {
  const clock = new FakeClock();
  const cancellation = new CancelScope();
  const request = { method: "ping", requestMs, trace: new RequestTrace() } as Partial<ClientRequest>;
  const exchange = new RequestContext({
    request: request as ClientRequest,
    cancellation,
    onProgress: undefined,
  });
  exchange.deadlineAt = endsAt;
  const deadline = new RequestDeadline(exchange, { server: "slow", clock, limit });
  const passed = () => {
    try {
      deadline.cancellation.throwIfCancelled();
      return "none";
    } catch (error) {
      return /timeouts\.(\w+)/.exec(String(error))?.[1];
    }
  };
  return { clock, cancellation, deadline, passed };
}

function started(...limits: Parameters<typeof limitsOf>) {
  const made = limitsOf(...limits);
  made.deadline.start();
  return made;
}

describe("the deadline of an attempt", () => {
  it("gives the whole time once more", () => {
    const { clock, deadline, passed } = started(100, 1_000);
    clock.advance(90);
    deadline.renew();
    clock.advance(99);
    expect(passed()).toBe("none");
    clock.advance(1);
    expect(passed()).toBe("requestMs");
  });

  it("gives none after the last moment", () => {
    const { clock, deadline, passed } = started(100, 150);
    clock.advance(90);
    deadline.renew();
    clock.advance(59);
    expect(passed()).toBe("none");
    clock.advance(1);
    expect(passed()).toBe("totalMs");
  });

  it.each([
    ["ends with the last moment when it has no time of its own", 0, 150, "totalMs"],
    ["is over at once when the last moment has passed", 100, -1, "totalMs"],
    ["has its own time when there is no last moment", 100, Number.POSITIVE_INFINITY, "requestMs"],
    ["never ends without either", 0, Number.POSITIVE_INFINITY, "none"],
  ])("%s", (_, ms, endsAt, expected) => {
    const { clock, passed } = started(ms, endsAt);
    clock.advance(1_000_000);
    expect(passed()).toBe(expected);
  });

  it("of what is no attempt lasts until the last moment", () => {
    const { clock, passed } = started(100, 150, "totalMs");
    clock.advance(149);
    expect(passed()).toBe("none");
    clock.advance(1);
    expect(passed()).toBe("totalMs");
  });

  it("sets no timer after its end", () => {
    const { clock, deadline } = started(100, 1_000);
    deadline.end();
    deadline.renew();
    expect(clock.pending).toBe(0);
  });

  it("has one timer, also when it is renewed before it starts", () => {
    const { clock, deadline, passed } = limitsOf(100, 1_000);
    deadline.renew();
    deadline.start();
    expect(clock.pending).toBe(1);
    clock.advance(90);
    deadline.renew();
    clock.advance(90);
    expect(passed()).toBe("none");
    deadline.end();
    expect(clock.pending).toBe(0);
  });

  it("never starts after its end", () => {
    const { clock, deadline } = limitsOf(100, 1_000);
    deadline.end();
    deadline.start();
    expect(clock.pending).toBe(0);
  });

  it("ends with its call, and not after its own end", () => {
    const running = started(100, 1_000);
    running.cancellation.cancel(new Error("enough"));
    expect(running.deadline.cancellation.isCancelled).toBe(true);
    const over = started(100, 1_000);
    over.deadline.end();
    over.cancellation.cancel(new Error("enough"));
    expect(over.deadline.cancellation.isCancelled).toBe(false);
  });
});
