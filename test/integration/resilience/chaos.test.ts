import { beforeAll, describe, expect, it } from "vitest";
import { type ChaosReport, chaosSeed, runChaos } from "../../fixtures/chaos.js";

const seed = chaosSeed();

describe.each(["json", "sse"] as const)("32 callers on a failing network (%s)", (answers) => {
  let report: ChaosReport;

  beforeAll(async () => {
    console.info(`chaos (${answers}): CHAOS_SEED=${seed}`);
    report = await runChaos({ seed, forMs: 5_000, answers, callers: 32 });
  }, 120_000);

  it("meet resets, cuts, delays and black holes, and still get results", () => {
    const { reset, truncate, delay, blackhole } = report.faults;
    expect(reset + truncate + blackhole).toBeGreaterThan(0);
    expect(delay).toBeGreaterThan(0);
    expect(report.outcomes["result"]).toBeGreaterThan(0);
  });

  it("never hang", () => {
    expect(report.violations.hung).toEqual([]);
  });

  it("end in a result, in a kind of failure, or with their own reason", () => {
    expect(report.violations.strayEndings).toEqual([]);
  });

  it("get no other call's result", () => {
    expect(report.violations.wrongResults).toEqual([]);
  });

  it("never run a tool twice that is not idempotent", () => {
    expect(report.violations.paidTwice).toEqual([]);
  });

  it("are not told that a call has not run when it has", () => {
    expect(report.violations.falseDenials).toEqual([]);
  });

  it("leave no rejection unhandled", () => {
    expect(report.violations.unhandledRejections).toEqual([]);
  });

  it("work again when the network does", () => {
    expect(report.violations.notHealed).toEqual([]);
  });

  it("leave nothing open", () => {
    expect(report.violations.leftOpen).toEqual([]);
  });
});
