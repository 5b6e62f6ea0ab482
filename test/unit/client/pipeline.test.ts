import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import { Semaphore } from "../../../src/async/semaphore.js";
import { attemptDeadline } from "../../../src/client/middleware/attempt-deadline.js";
import { limitConcurrency } from "../../../src/client/middleware/concurrency.js";
import { observe } from "../../../src/client/middleware/observe.js";
import type { RequestContext } from "../../../src/client/request-context.js";
import { McpRuntimeError } from "../../../src/errors/mcp-runtime-error.js";
import { Redactor } from "../../../src/errors/redaction.js";
import { deferred, rejection } from "../../fixtures/clients.js";
import { FakeClock } from "../../fixtures/fake-clock.js";
import { createRequest } from "../../fixtures/request-context.js";

const server = "main";

describe("limited concurrency", () => {
  it("lets the next request run when one has ended, also if it failed", async () => {
    const clock = new FakeClock();
    const { promise: gate, resolve: open } = deferred();
    const started: (string | undefined)[] = [];
    let running = 0;
    const handler = limitConcurrency(
      { server, clock },
      new Semaphore(1),
    )(async ({ requestId }) => {
      started.push(requestId);
      running += 1;
      expect(running).toBe(1);
      await gate;
      running -= 1;
      throw new Error(`failed ${requestId}`);
    });
    const calls = ["a", "b"].map((requestId) => rejection(handler(createRequest({ requestId }))));
    open();
    expect((await Promise.all(calls)).map(({ message }) => message)).toEqual(["failed a", "failed b"]);
    expect(started).toEqual(["a", "b"]);
    expect(clock.pending).toBe(0);
  });

  it("ends the wait with the total deadline, or when the caller cancels; nothing is sent", async () => {
    const clock = new FakeClock();
    const semaphore = new Semaphore(1);
    await semaphore.acquire(new CancelScope());
    const sent: RequestContext[] = [];
    const handler = limitConcurrency({ server, clock }, semaphore)(async (request) => sent.push(request));
    const late = rejection(handler(createRequest({ totalMs: 500 })));
    const cancellation = new CancelScope();
    const cancelled = rejection(handler(createRequest({ cancellation })));
    const reason = new Error("stop");
    cancellation.cancel(reason);
    clock.advance(500);
    expect(await late).toMatchObject({ kind: "timeout", message: expect.stringContaining("totalMs") });
    expect(await cancelled).toBe(reason);
    expect(sent).toEqual([]);
  });
});

describe("the deadline of an attempt", () => {
  it("cancels the attempt, is restarted by progress, and is removed afterwards", async () => {
    const clock = new FakeClock();
    const request = createRequest({ requestMs: 100 });
    const { cancellation } = request;
    const handler = attemptDeadline({ server, clock })(({ cancellation: attempt }) =>
      attempt.race(new Promise(() => undefined)),
    );
    const failure = rejection(handler(request));
    clock.advance(90);
    request.onProgress({ progress: 1 });
    clock.advance(90);
    expect(request.cancellation.isCancelled).toBe(false);
    clock.advance(10);
    expect(await failure).toMatchObject({ kind: "timeout", message: expect.stringContaining("100 ms") });
    expect([request.cancellation, request.deadline, clock.pending]).toEqual([cancellation, undefined, 0]);
  });
});

describe("an observed request", () => {
  function createObserver() {
    const ended: RequestContext[] = [];
    const clock = new FakeClock();
    const requestEvents = {
      hasStartListeners: false,
      onEnd: (request: RequestContext) => void ended.push(request),
    };
    const redactor = new Redactor();
    const observed = observe({ server, clock, redactor, requestEvents: requestEvents as never });
    return { observed, ended, clock };
  }

  it("has its latency and outcome when it ends", async () => {
    const { observed, ended, clock } = createObserver();
    const result = { isError: true };
    const handler = observed(async () => {
      clock.advance(40);
      return result;
    });
    expect(await handler(createRequest())).toBe(result);
    expect(ended).toMatchObject([{ latencyMs: 40, kind: "tool-error" }]);
  });

  it("fails with the server, the tool and all attempts", async () => {
    const { observed, ended } = createObserver();
    const request = createRequest();
    request.attempts = 3;
    request.mayHaveRun = true;
    const failure = await rejection(
      observed(() => Promise.reject(new McpRuntimeError("not-sent", "gone")))(request),
    );
    expect(failure).toMatchObject({
      kind: "not-sent",
      server,
      tool: "pay",
      attempts: 3,
      outcomeUnknown: true,
    });
    expect(ended).toMatchObject([{ kind: "not-sent" }]);
  });

  it("keeps the reason of the caller's abort; only the timeout of a signal has a kind", async () => {
    const { observed, ended } = createObserver();
    const stop = new Error("stop");
    const aborted = createRequest({ signal: AbortSignal.abort(stop) });
    expect(await rejection(observed(() => Promise.reject(stop))(aborted))).toBe(stop);
    const expired = new DOMException("late", "TimeoutError");
    const late = createRequest({ signal: AbortSignal.abort(expired) });
    expect(await rejection(observed(() => Promise.reject(expired))(late))).toMatchObject({ kind: "timeout" });
    expect(ended.map(({ kind }) => kind)).toEqual(["cancelled", "timeout"]);
  });
});
