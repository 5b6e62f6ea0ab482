import { describe, expect, it } from "vitest";
import { findClosestMatch } from "../../../src/errors/find-closest-match.js";

describe("the closest match", () => {
  it.each([
    ["two swapped letters of a short word", "ulr", "url"],
    ["two swapped pairs", "ehadesr", "headers"],
    ["a swap and a missing letter", "timeuot", "timeouts"],
    ["a wrong letter", "retri", "retry"],
    ["nothing, for another word", "cache", undefined],
    ["nothing, for two edits of a short word", "lru", undefined],
  ])("is found for %s", (_, input, expected) => {
    expect(findClosestMatch(input, ["url", "headers", "timeouts", "retry"])).toBe(expected);
  });

  it("is searched for names of up to 200 characters: the time grows with both lengths", () => {
    const candidates = [`${"n".repeat(199)}a`, `${"n".repeat(200)}a`];
    expect(findClosestMatch(`${"n".repeat(199)}b`, candidates)).toBe(candidates[0]);
    expect(findClosestMatch(`${"n".repeat(200)}b`, candidates)).toBeUndefined();
  });
});
