import { describe, expect, it } from "vitest";
import { readCompatibilityRows } from "./fixtures/compatibility-rows.js";
import { hasTest } from "./fixtures/test-titles.js";

describe.each([...readCompatibilityRows()])("the comparison with %s", (_, rows) => {
  it("names each behavior once, with a result", () => {
    const names = rows.map(({ behavior }) => behavior);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    const results = rows.filter(({ result }) => result !== "same" && result !== "different");
    expect(results).toEqual([]);
  });

  it("names a test that exists for each behavior that is the same", () => {
    const missing = rows.filter(({ result, evidence }) =>
      evidence === undefined ? result === "same" : !hasTest(evidence),
    );
    expect(missing).toEqual([]);
  });

  it("gives the reason of each difference", () => {
    const unexplained = rows.filter(
      ({ result, reason = "" }) => result === "different" && !/^\S.{10,}\.$/.test(reason),
    );
    expect(unexplained).toEqual([]);
  });
});
