import { describe, expect, it } from "vitest";
import { findPatternProblem } from "../../../src/json-schema/safe-regex.js";

describe("a common pattern is safe:", () => {
  it.each([
    "^[a-z]+$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(foo|bar)$",
    "^(\\d{3}-)+$",
    "^[a-z0-9]+(-[a-z0-9]+)*$",
    "^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$",
    "^(?=.*\\d)(?=.*[a-z]).{8,}$",
    "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
    "^(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}$",
    "^\\p{L}+$",
    "(a|b)*",
    "^\\(\\d+\\)$",
    "[)(+*]+",
    "",
  ])("%s", (pattern) => {
    expect(findPatternProblem(pattern)).toBeUndefined();
  });
});

describe("an exponential pattern is rejected:", () => {
  it.each([
    "^(a+)+$",
    "^(a*)*$",
    "(a|a)*b",
    "(a|aa)+$",
    "(\\w|\\d)+$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "^(\\w+\\s?)*$",
    "(?:(?:a+)+)+",
    "(.*)*x",
    "(x+x+)+y",
    "(a?){30}a{30}",
    "(\\w+)\\1+",
    "(?:[a-z]+-?)+$",
    "^(?:一|[一-龥])+$",
  ])("%s", (pattern) => {
    expect(findPatternProblem(pattern)).toBe("could take exponential time");
  });
});

describe("an unusable pattern is rejected:", () => {
  it.each([
    ["Python's flags", "(?i)abc", "does not compile"],
    ["Python's named groups", "(?P<name>a)", "does not compile"],
    ["an unclosed bracket", "[a", "does not compile"],
    ["a needless escape, which the u flag forbids", "^\\-$", "does not compile"],
    ["a pattern of 3,000 characters", "a".repeat(3_000), "is too long"],
  ])("%s", (_, pattern, problem) => {
    expect(findPatternProblem(pattern)).toBe(problem);
  });
});

it("a pattern with many alternatives is checked quickly", () => {
  const letters = Array.from({ length: 600 }, (_, index) => String.fromCodePoint(0x4e00 + index));
  expect(findPatternProblem(`^(${letters.join("|")})+$`)).toBeUndefined();
  expect(findPatternProblem(`${"(".repeat(600)}a${")+".repeat(600)}`)).toBe("could take exponential time");
});
