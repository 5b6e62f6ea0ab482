import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { getChildScript } from "../../fixtures/child-scripts.js";
import { bytesPerCall, type Measurement } from "../../fixtures/endurance.js";

describe.each(["json", "sse"] as const)("5,000 calls on one client (%s)", (responseFormat) => {
  it("leak no memory, listeners or sockets", { timeout: 60_000 }, async () => {
    const { execArgv, path } = getChildScript("test/fixtures/use-client-repeatedly");
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...execArgv,
      "--no-opt",
      "--no-flush-bytecode",
      path,
      responseFormat,
      "4800",
    ]);
    const measurements = JSON.parse(stdout) as Measurement[];
    // The first measurements include pools being filled. A call keeps about 10 bytes then, and fewer with each call.
    expect(bytesPerCall(measurements.slice(2))).toBeLessThan(50);
    expect(measurements.map(({ listeners }) => listeners)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(Math.max(...measurements.map(({ sockets }) => sockets))).toBeLessThanOrEqual(64);
  });
});

it("objects of a call do not outlive it", { timeout: 30_000 }, async () => {
  // A call allocates about 15,000 bytes. When V8 pretenured them, 2,450 bytes survived; now about 570 do,
  // including code that is still being compiled.
  const { execArgv, path } = getChildScript("test/fixtures/use-young-client");
  const { stdout } = await promisify(execFile)(process.execPath, [...execArgv, path, "3000"]);
  expect(stdout).toMatch(/\d/);
  expect(Number(stdout)).toBeLessThan(1_200);
});
