import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencyHistogram } from "../../../src/telemetry/request-metrics.js";

/** Of a quantile, in addition to one microsecond of rounding. */
const MAX_RELATIVE_ERROR = 1 / 32;

/** The smallest value that is not exceeded by this share of all values. */
function exactQuantile(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1] ?? 0;
}

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** From below a microsecond to an hour, distributed both linearly and logarithmically. */
const latency = fc.oneof(
  fc.double({ min: 0, max: 3_600_000, noNaN: true }),
  fc.double({ min: -4, max: 6.5, noNaN: true }).map((exponent) => 10 ** exponent),
  fc.nat(50),
);
const MICROSECOND = 0.001;

describe("LatencyHistogram", () => {
  it("every quantile is within the maximum relative error", () => {
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.01, 0.5, 0.9, 0.95, 0.99, 1),
        (values, quantile) => {
          const exact = exactQuantile(values, quantile);
          const actual = histogramOf(values).quantileMs(quantile);
          expect(Math.abs(actual - exact)).toBeLessThanOrEqual(exact * MAX_RELATIVE_ERROR + MICROSECOND);
        },
      ),
    );
  });

  it("quantiles are never outside of the recorded range", () => {
    fc.assert(
      fc.property(fc.array(latency, { minLength: 1, maxLength: 50 }), (values) => {
        const histogram = histogramOf(values);
        const [low, high] = [histogram.quantileMs(0.0001), histogram.quantileMs(1)];
        expect(low).toBeGreaterThanOrEqual(Math.min(...values) - MICROSECOND);
        expect(high).toBeLessThanOrEqual(histogram.maxMs);
        expect(Math.abs(histogram.maxMs - Math.max(...values))).toBeLessThanOrEqual(MICROSECOND);
      }),
    );
  });

  it("quantiles are monotonic", () => {
    fc.assert(
      fc.property(fc.array(latency, { minLength: 1, maxLength: 100 }), (values) => {
        const histogram = histogramOf(values);
        const quantiles = [0.5, 0.95, 0.99, 1].map((quantile) => histogram.quantileMs(quantile));
        expect(quantiles).toEqual(quantiles.toSorted((a, b) => a - b));
      }),
    );
  });

  it.each([
    ["no values", [], 0],
    ["one value", [12.5], 12.5],
    ["a negative time, if a clock goes back", [-5], 0],
    ["a time above the maximum", [Number.POSITIVE_INFINITY], 4_294_967.295],
  ])("the median of %s", (_, values, p50) => {
    expect(histogramOf(values).quantileMs(0.5)).toBe(p50);
  });
});
