import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LinearPatterns, toStrictPattern } from "../../../src/json-schema/linear-pattern.js";
import { StepBudget, StepLimitError } from "../../../src/json-schema/step-budget.js";

function compile(source: string): (text: string, steps?: StepBudget) => boolean {
  const patterns = new LinearPatterns("run");
  expect(patterns.add(source)).toBeUndefined();
  const pattern = patterns.get(toStrictPattern(source));
  return (text, steps = new StepBudget(1_000_000)) => pattern?.test(text, steps) === true;
}

describe("a pattern matches what RegExp matches:", () => {
  const texts = [
    "",
    "a",
    "ab",
    "a1",
    "A",
    "é",
    "😀",
    "\ud83d",
    "-",
    "_",
    "]",
    "[",
    "^",
    "\n",
    "\r",
    "\u2028",
  ];
  const spaces = [" ", "\t", "\v", "\u00a0", "\u3000", "\ufeff", "\u0085"];
  const words = [
    "2026-11-18",
    "hello-world",
    "aaa",
    "aaaa",
    "foo",
    "bar",
    "α",
    "中",
    "🇳🇴",
    "\b",
    "\0",
    "\u0001",
  ];

  it.each([
    "^[a-z0-9-]{1,64}$",
    "^\\d{4}-\\d{2}-\\d{2}$",
    "^(a+)+$",
    "(a|a)*b",
    "^.$",
    "^\\s$",
    "^\\S+$",
    "^[^\\s]$",
    "^[\\s\\d]$",
    "\\bfoo\\b",
    "^[^]$",
    "[]",
    "^[[:alpha:]$",
    "^[\\]^-]$",
    "^[\\b]$",
    "^\\u{1F600}$",
    "^\\uD83D\\uDE00$",
    "^\\uD83D$",
    "^\\x61\\u0062$",
    "^\\cA$",
    "^\\0$",
    "^(?<name>a)b$",
    "^a{02,003}$",
    "^(?:a{1,2}){2}$",
    "^\\p{L}+$",
    "^\\p{Letter}$",
    "^\\p{Script=Greek}$",
    "^[\\p{L}\\p{N}-]+$",
    "^\\P{L}$",
    "^\\p{Regional_Indicator}{2}$",
    "^(?=.*\\d)(?=.*[a-z]).{2,}$",
    "^(?!foo|bar)[a-z]+$",
    "a|",
    "",
  ])("%s", (source) => {
    const [test, expression] = [compile(source), new RegExp(source, "u")];
    for (const text of [...texts, ...spaces, ...words])
      expect({ text, isMatch: test(text) }).toEqual({ text, isMatch: expression.test(text) });
  });

  it.each([String.raw`^https\:\/\/`, String.raw`^\w+\-\_\@\ $`, String.raw`^[a\-\:\_]+$`, String.raw`^\\:$`])(
    "%s, which needs no flag",
    (source) => {
      const [test, expression] = [compile(source), new RegExp(source)];
      for (const text of ["https://x", "http://x", "a-_@ ", "a-:_", "b", "a", "-", "\\:", ":"])
        expect({ text, isMatch: test(text) }).toEqual({ text, isMatch: expression.test(text) });
    },
  );

  it.each([
    ["a{0,2048}", 2_048],
    ["[a-c]{1500,1600}", 1_600],
  ])("^%s$, whose count is split", (source, max) => {
    const [test, expression] = [compile(`^${source}$`), new RegExp(`^${source}$`, "u")];
    for (const length of [0, 1, 999, 1_000, 1_001, 1_499, 1_500, max, max + 1])
      expect({ length, isMatch: test("a".repeat(length), new StepBudget(Infinity)) }).toEqual({
        length,
        isMatch: expression.test("a".repeat(length)),
      });
  });

  const atom = fc.constantFrom(
    ..."abA1-_ é😀/:&".split(""),
    ".",
    "\\.",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
  );
  const classItem = fc.constantFrom(
    "a",
    "b-c",
    "0-9",
    "-",
    "é",
    "😀",
    "^",
    "\\]",
    "\\d",
    "\\W",
    "\\s",
    "\\p{L}",
  );
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      atom,
      fc.constantFrom("^", "$", "\\b", "[^]"),
      fc
        .tuple(fc.constantFrom("", "^"), fc.array(classItem, { minLength: 1, maxLength: 4 }))
        .map(([sign, items]) => `[${sign}${items.join("")}]`),
      fc.array(tie("pattern"), { minLength: 2, maxLength: 3 }).map((terms) => terms.join("")),
      fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(${left}|${right})`),
      fc
        .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{0,3}", "{1,}", "*?"))
        .map(([inner, quantifier]) => `(?:${inner})${quantifier}`),
    ),
  }));
  const text = fc.string({
    unit: fc.constantFrom(..."abA1-_ é/:&\n\r\u2028\v".split(""), "😀"),
    maxLength: 8,
  });

  it("any generated one", () => {
    let matches = 0;
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 10, maxLength: 10 }), (source, samples) => {
        fc.pre(isValid(source));
        const [test, expression] = [compile(source), new RegExp(source, "u")];
        for (const sample of samples) {
          const isMatch = expression.test(sample);
          matches += Number(isMatch);
          expect({ source, sample, isMatch: test(sample) }).toEqual({ source, sample, isMatch });
        }
      }),
      { numRuns: 500 },
    );
    expect(matches).toBeGreaterThan(500);
  });
});

function isValid(source: string): boolean {
  try {
    return new RegExp(source, "u").unicode;
  } catch {
    return false;
  }
}

describe("a pattern is not used if it", () => {
  it.each([
    ["does not compile", "(?i)abc"],
    ["does not compile", "(?P<name>a)"],
    ["does not compile", "[a"],
    ["does not compile", "\\Aa\\z"],
    ["is too long", "a".repeat(3_000)],
    ["is too large", "^[a-z]{1,9000}$"],
    ["is too large", "^(?:a{1,1000}){1,1000}$"],
    ["is too large", "^(?:(?:(?:a{50}){50}){50}){50}$"],
    ["uses a backreference", "(a)\\1"],
    ["uses a backreference", "(?<n>a)\\k<n>"],
    ["uses a lookahead", "a(?=b)"],
    ["uses a lookahead", "^(?!a)b|c"],
    ["uses a lookbehind", "(?<=a)b"],
    ["uses a Unicode property that is not supported", "\\p{Script_Extensions=Greek}"],
    ["uses syntax that is not supported", "\\p{ID_Start}"],
  ])("%s: %.40s", (problem, source) => {
    expect(new LinearPatterns("run").add(source)).toBe(problem);
  });

  it("is one of too many in a schema", () => {
    const patterns = new LinearPatterns("run");
    const problems = Array.from({ length: 300 }, (_, index) => patterns.add(`^[a-z]{1,64}${index}$`));
    expect(problems[0]).toBeUndefined();
    expect(problems.filter((problem) => problem === undefined).length).toBeGreaterThan(30);
    expect(problems.at(-1)).toBe("is too large together with the patterns before it");
    // The same pattern again takes nothing.
    expect(patterns.add("^[a-z]{1,64}0$")).toBeUndefined();
  });
});

/** Random enough that every prefix leads to another state. */
function randomText(length: number): string {
  let seed = 7;
  return Array.from({ length }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return (seed >> 16) % 2 === 0 ? "a" : "b";
  }).join("");
}

describe("the steps of a pattern", () => {
  it.each([
    ["^a*a*a*a*b$", "a"],
    ["^\\s*\\s*\\s*\\s*x$", " "],
    ["^(a+)+$", "a"],
    ["(.*)(.*)(.*)x$", "a"],
    ["^(?:a?){30}a{30}$", "a"],
  ])("%s are linear in the text", (source, character) => {
    const test = compile(source);
    const count = (length: number) => {
      const steps = new StepBudget(1_000_000);
      test(`${character.repeat(length)}!`, steps);
      return steps.used;
    };
    count(100_000);
    expect(count(100_000)).toBeLessThan(20_000);
    expect(count(200_000) / count(100_000)).toBeLessThan(2.1);
  });

  it.each([
    "[ab]*a[ab]{900}c",
    "^[ab]*a[ab]{300}$",
    "(?:[ab]*a[ab]{50}c|[ab]*b[ab]{60}d){3}",
    "^(?:a?b?){500}c",
  ])("%s, whose states do not fit into memory, are limited", (source) => {
    const test = compile(source);
    const steps = new StepBudget(300_000);
    expect(() => test(randomText(100_000), steps)).toThrow(StepLimitError);
    // It still works for a text that is short enough.
    expect(test("ab", new StepBudget(300_000))).toBe(new RegExp(source, "u").test("ab"));
  });

  it("of short texts are few once the states are known", () => {
    const test = compile("^[a-z0-9-]{1,64}$");
    test("hello-world");
    const steps = new StepBudget(1_000);
    expect(test("hello-world", steps)).toBe(true);
    expect(steps.used).toBeLessThan(15);
  });
});
