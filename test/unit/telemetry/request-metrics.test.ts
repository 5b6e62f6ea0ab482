import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../../src/errors/failure-kinds.js";
import { RequestMetrics } from "../../../src/telemetry/request-metrics.js";

interface Call {
  readonly tool?: string | undefined;
  readonly method?: string;
  readonly kind?: FailureKind | undefined;
  readonly latencyMs?: number;
  readonly attempts?: number;
}

function ended({ tool, method = "tools/call", kind, latencyMs = 10, attempts = 1 }: Call) {
  return { method, tool, latencyMs, attempts, kind };
}

describe("RequestMetrics", () => {
  it("counts calls by tool and failures by kind", () => {
    const metrics = new RequestMetrics();
    metrics.onRequestEnded(ended({ tool: "a" }));
    metrics.onRequestEnded(ended({ tool: "a", kind: "timeout", latencyMs: 30 }));
    metrics.onRequestEnded(ended({ tool: "b", kind: "timeout", latencyMs: 30 }));
    metrics.onRequestRetried(ended({ tool: "b" }));
    const { tools, ...all } = metrics.snapshot();
    expect(all).toMatchObject({ calls: 3, successes: 1, failures: { timeout: 2 }, retries: 1 });
    expect([all.successRate, all.latencyMs?.total]).toEqual([1 / 3, 70]);
    expect(tools["a"]).toMatchObject({ calls: 2, successes: 1, failures: { timeout: 1 }, retries: 0 });
    expect(tools["b"]).toMatchObject({ calls: 1, successes: 0, failures: { timeout: 1 }, retries: 1 });
  });

  it("counts other requests by method", () => {
    const metrics = new RequestMetrics();
    metrics.onRequestEnded(ended({ method: "tools/list", kind: "unavailable" }));
    metrics.onRequestRetried(ended({ method: "tools/list" }));
    const { calls, methods } = metrics.snapshot();
    expect(calls).toBe(0);
    expect(methods).toMatchObject({ "tools/list": { calls: 1, failures: { unavailable: 1 }, retries: 1 } });
  });

  it("measures only requests that were sent", () => {
    const metrics = new RequestMetrics();
    metrics.onRequestEnded(ended({ tool: "a", kind: "circuit-open", attempts: 0, latencyMs: 0 }));
    expect(metrics.snapshot().latencyMs).toBeUndefined();
    metrics.onRequestEnded(ended({ tool: "a", latencyMs: 8 }));
    expect(metrics.snapshot().latencyMs).toEqual({ p50: 8, p95: 8, p99: 8, max: 8, mean: 8, total: 8 });
  });

  it("counts a hundred tools separately and the rest together", () => {
    const metrics = new RequestMetrics();
    for (let n = 0; n < 1_000; n += 1) metrics.onRequestEnded(ended({ tool: `t${n}` }));
    const { calls, tools } = metrics.snapshot();
    expect(calls).toBe(1_000);
    expect(Object.keys(tools)).toHaveLength(101);
    expect(tools["(others)"]).toMatchObject({ calls: 900 });
  });

  it("accepts any tool name", () => {
    const metrics = new RequestMetrics();
    for (const tool of ["__proto__", "constructor", ""]) metrics.onRequestEnded(ended({ tool }));
    expect(Object.keys(metrics.snapshot().tools)).toEqual(["__proto__", "constructor", ""]);
  });

  it("returns frozen snapshots", () => {
    const metrics = new RequestMetrics();
    metrics.onRequestEnded(ended({ tool: "a", kind: "timeout" }));
    const before = metrics.snapshot();
    metrics.onRequestEnded(ended({ tool: "a" }));
    metrics.onHandshakeEnded("successes");
    metrics.onSessionLost();
    expect(before).toMatchObject({ calls: 1, handshakes: { successes: 0, failures: 0 }, sessionsLost: 0 });
    const objects = [
      before,
      before.failures,
      before.handshakes,
      before.tools,
      before.tools["a"],
      before.latencyMs,
    ];
    expect(objects.every((object) => Object.isFrozen(object))).toBe(true);
    expect(metrics.snapshot()).toMatchObject({ handshakes: { successes: 1 }, sessionsLost: 1 });
  });
});
