import { beforeAll, describe, expect, it } from "vitest";
import { type ChaosReport, getChaosSeed, runChaos } from "../../fixtures/chaos.js";

const seed = getChaosSeed();

describe.each(["json", "sse"] as const)("32 callers on a failing network (%s)", (answers) => {
  let report: ChaosReport;

  beforeAll(async () => {
    console.info(`chaos (${answers}): CHAOS_SEED=${seed}`);
    report = await runChaos({ seed, forMs: 5_000, responseFormat: answers, callers: 32 });
  }, 120_000);

  it("get results despite resets, truncation, delays and black holes", () => {
    const { reset, truncate, delay, blackhole } = report.faults;
    expect(reset + truncate + blackhole).toBeGreaterThan(0);
    expect(delay).toBeGreaterThan(0);
    expect(report.outcomes["result"]).toBeGreaterThan(0);
  });

  it("never hang", () => {
    expect(report.violations.hung).toEqual([]);
  });

  it("end with a result, a failure kind, or their abort reason", () => {
    expect(report.violations.unexpectedOutcomes).toEqual([]);
  });

  it("never get the result of another call", () => {
    expect(report.violations.wrongResults).toEqual([]);
  });

  it("never run a non-idempotent tool twice", () => {
    expect(report.violations.executedTwice).toEqual([]);
  });

  it("never get an error that denies a call that ran", () => {
    expect(report.violations.wronglyNotExecuted).toEqual([]);
  });

  it("leave no rejection unhandled", () => {
    expect(report.violations.unhandledRejections).toEqual([]);
  });

  it("recover when the network does", () => {
    expect(report.violations.notRecovered).toEqual([]);
  });

  it("leave nothing open", () => {
    expect(report.violations.leftOpen).toEqual([]);
  });
});
