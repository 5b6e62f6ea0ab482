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
});
