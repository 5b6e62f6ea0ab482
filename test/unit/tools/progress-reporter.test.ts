import { describe, expect, it } from "vitest";
import { CancelScope } from "../../../src/async/cancel-scope.js";
import {
  type ProgressListener,
  ProgressReporter,
  type ToolProgress,
} from "../../../src/tools/progress-reporter.js";
import { FakeClock } from "../../fixtures/fake-clock.js";

function createReporter(...listeners: ProgressListener[]) {
  const clock = new FakeClock();
  const received: number[] = [];
  const warnings: string[] = [];
  const listener = ({ progress }: ToolProgress) => received.push(progress);
  const reporter = new ProgressReporter({
    source: { server: "s", tool: "t", toolCallId: undefined },
    listeners: [...listeners, listener],
    clock,
    warn: (message) => warnings.push(message),
  });
  return { clock, received, warnings, reporter };
}

describe("progress", () => {
  it("is passed on at once, then at most ten times per second, with the latest value", () => {
    const { clock, received, reporter } = createReporter();
    for (const progress of [1, 2, 3]) reporter.report({ progress });
    expect(received).toEqual([1]);
    clock.advance(100);
    expect(received).toEqual([1, 3]);
    reporter.report({ progress: 4 });
    clock.advance(99);
    expect(received).toEqual([1, 3]);
    clock.advance(1);
    expect(received).toEqual([1, 3, 4]);
    clock.advance(1_000);
    reporter.report({ progress: 5 });
    expect(received).toEqual([1, 3, 4, 5]);
  });

  it("passes on the last value when the call ends, and nothing after it", async () => {
    const { clock, received, reporter } = createReporter();
    for (const progress of [1, 2]) reporter.report({ progress });
    await reporter.end(new CancelScope());
    expect(received).toEqual([1, 2]);
    reporter.report({ progress: 3 });
    clock.advance(1_000);
    expect(received).toEqual([1, 2]);
    expect(clock.pending).toBe(0);
  });

  it("continues after a listener throws or rejects", async () => {
    const { received, warnings, reporter } = createReporter(
      () => {
        throw new Error("a");
      },
      async () => {
        throw new Error("b");
      },
    );
    reporter.report({ progress: 1 });
    await reporter.end(new CancelScope());
    expect(received).toEqual([1]);
    expect(warnings).toEqual([expect.stringContaining("Error: a"), expect.stringContaining("Error: b")]);
  });
});
