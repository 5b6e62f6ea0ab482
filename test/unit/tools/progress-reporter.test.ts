import { describe, expect, it } from "vitest";
import {
  type ProgressListener,
  ProgressReport,
  type ToolProgress,
} from "../../../src/tools/progress-reporter.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function setUp(...listeners: ProgressListener[]) {
  const clock = new FakeClock();
  const heard: number[] = [];
  const warnings: string[] = [];
  const listener = ({ progress }: ToolProgress) => heard.push(progress);
  const report = new ProgressReport({
    about: { server: "s", tool: "t", toolCallId: undefined },
    listeners: [...listeners, listener],
    clock,
    warn: (message) => warnings.push(message),
  });
  return { clock, heard, warnings, report };
}

describe("progress", () => {
  it("is told at once, then ten times a second at most, with the newest", () => {
    const { clock, heard, report } = setUp();
    for (const progress of [1, 2, 3]) report.hear({ progress });
    expect(heard).toEqual([1]);
    clock.advance(100);
    expect(heard).toEqual([1, 3]);
    report.hear({ progress: 4 });
    clock.advance(99);
    expect(heard).toEqual([1, 3]);
    clock.advance(1);
    expect(heard).toEqual([1, 3, 4]);
    clock.advance(1_000);
    report.hear({ progress: 5 });
    expect(heard).toEqual([1, 3, 4, 5]);
  });

  it("tells the last one when the call ends, and nothing after it", async () => {
    const { clock, heard, report } = setUp();
    for (const progress of [1, 2]) report.hear({ progress });
    await report.end();
    expect(heard).toEqual([1, 2]);
    report.hear({ progress: 3 });
    clock.advance(1_000);
    expect(heard).toEqual([1, 2]);
    expect(clock.pending).toBe(0);
  });

  it("goes on past a listener that throws or rejects", async () => {
    const { heard, warnings, report } = setUp(
      () => {
        throw new Error("a");
      },
      async () => {
        throw new Error("b");
      },
    );
    report.hear({ progress: 1 });
    await report.end();
    expect(heard).toEqual([1]);
    expect(warnings).toEqual([expect.stringContaining("Error: a"), expect.stringContaining("Error: b")]);
  });
});
