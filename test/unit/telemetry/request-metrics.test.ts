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
  return { method, tool, trace: { latencyMs, attempts, kind } };
}

describe("RequestMetrics", () => {
  it("counts calls by tool, and failures by kind", () => {
    const metrics = new RequestMetrics();
    metrics.requestEnded(ended({ tool: "a" }));
    metrics.requestEnded(ended({ tool: "a", kind: "timeout", latencyMs: 30 }));
    metrics.requestEnded(ended({ tool: "b", kind: "timeout", latencyMs: 30 }));
    metrics.requestRetried(ended({ tool: "b" }));
    const { tools, ...all } = metrics.snapshot();
    expect(all).toMatchObject({ calls: 3, successes: 1, failures: { timeout: 2 }, retries: 1 });
    expect(tools["a"]).toMatchObject({ calls: 2, successes: 1, failures: { timeout: 1 }, retries: 0 });
    expect(tools["b"]).toMatchObject({ calls: 1, successes: 0, failures: { timeout: 1 }, retries: 1 });
  });

  it("keeps what is no tool call apart, by method", () => {
    const metrics = new RequestMetrics();
    metrics.requestEnded(ended({ method: "tools/list", kind: "unavailable" }));
    metrics.requestRetried(ended({ method: "tools/list" }));
    const { calls, methods } = metrics.snapshot();
    expect(calls).toBe(0);
    expect(methods).toMatchObject({ "tools/list": { calls: 1, failures: { unavailable: 1 }, retries: 1 } });
  });

  it("measures what was sent, and nothing where nothing was", () => {
    const metrics = new RequestMetrics();
    metrics.requestEnded(ended({ tool: "a", kind: "circuit-open", attempts: 0, latencyMs: 0 }));
    expect(metrics.snapshot().latencyMs).toBeUndefined();
    metrics.requestEnded(ended({ tool: "a", latencyMs: 8 }));
    expect(metrics.snapshot().latencyMs).toEqual({ p50: 8, p95: 8, p99: 8, max: 8 });
  });

  it("tells a hundred tools apart and counts the rest together", () => {
    const metrics = new RequestMetrics();
    for (let n = 0; n < 1_000; n += 1) metrics.requestEnded(ended({ tool: `t${n}` }));
    const { calls, tools } = metrics.snapshot();
    expect(calls).toBe(1_000);
    expect(Object.keys(tools)).toHaveLength(101);
    expect(tools["(others)"]).toMatchObject({ calls: 900 });
  });

  it("takes any name for a tool", () => {
    const metrics = new RequestMetrics();
    for (const tool of ["__proto__", "constructor", ""]) metrics.requestEnded(ended({ tool }));
    expect(Object.keys(metrics.snapshot().tools)).toEqual(["__proto__", "constructor", ""]);
  });

  it("gives copies that nobody can change, and that do not change", () => {
    const metrics = new RequestMetrics();
    metrics.requestEnded(ended({ tool: "a", kind: "timeout" }));
    const before = metrics.snapshot();
    metrics.requestEnded(ended({ tool: "a" }));
    metrics.handshakeEnded("successes");
    metrics.sessionLost();
    expect(before).toMatchObject({ calls: 1, handshakes: { successes: 0, failures: 0 }, sessionsLost: 0 });
    const parts = [
      before,
      before.failures,
      before.handshakes,
      before.tools,
      before.tools["a"],
      before.latencyMs,
    ];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
    expect(metrics.snapshot()).toMatchObject({ handshakes: { successes: 1 }, sessionsLost: 1 });
  });
});
