import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LATENCY_ERROR, LatencyHistogram } from "../../../src/telemetry/latency-histogram.js";

/** The smallest value that so large a part of all is not greater than. */
function exactQuantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1] ?? 0;
}

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of values) histogram.record(value);
  return histogram;
}

/** From less than a microsecond to an hour, as evenly over the powers of ten as over the numbers. */
const latency = fc.oneof(
  fc.double({ min: 0, max: 3_600_000, noNaN: true }),
  fc.double({ min: -4, max: 6.5, noNaN: true }).map((exponent) => 10 ** exponent),
  fc.nat(50),
);
const MICROSECOND = 0.001;

describe("LatencyHistogram", () => {
  it("knows every quantile to its error, whatever was recorded", () => {
    fc.assert(
      fc.property(
        fc.array(latency, { minLength: 1, maxLength: 300 }),
        fc.constantFrom(0.01, 0.5, 0.9, 0.95, 0.99, 1),
        (values, part) => {
          const exact = exactQuantile(values, part);
          const told = histogramOf(values).quantileMs(part);
          expect(Math.abs(told - exact)).toBeLessThanOrEqual(exact * LATENCY_ERROR + MICROSECOND);
        },
      ),
    );
  });

  it("never tells more than the longest, or less than the shortest", () => {
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

  it("a larger part is never a shorter time", () => {
    fc.assert(
      fc.property(fc.array(latency, { minLength: 1, maxLength: 100 }), (values) => {
        const histogram = histogramOf(values);
        const told = [0.5, 0.95, 0.99, 1].map((part) => histogram.quantileMs(part));
        expect(told).toEqual(told.toSorted((a, b) => a - b));
      }),
    );
  });

  it.each([
    ["nothing", [], 0],
    ["one", [12.5], 12.5],
    ["less than nothing, when a clock goes back", [-5], 0],
    ["more than it tells apart", [Number.POSITIVE_INFINITY], 4_294_967.295],
  ])("of %s it tells what there is", (_, values, p50) => {
    expect(histogramOf(values).quantileMs(0.5)).toBe(p50);
  });
});
