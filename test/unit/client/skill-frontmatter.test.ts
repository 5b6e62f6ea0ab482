import { skillEntry } from "@modelcontextprotocol/server/ext/skills";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSkillDocument } from "../../../src/client/skills/parse-frontmatter.js";

const parse = (yaml: string) => parseSkillDocument(`---\n${yaml}\n---\nbody`).frontmatter;

describe("the frontmatter of a skill", () => {
  it.each<[string, string, unknown]>([
    [
      "plain scalars",
      "a: some text # comment\nb: http://x/y#z\nc: it's",
      { a: "some text", b: "http://x/y#z", c: "it's" },
    ],
    [
      "types of YAML 1.2",
      "a: 1.0\nb: yes\nc: true\nd: ~\ne: 0x1f\nf: 2024-01-01\ng:",
      {
        a: 1,
        b: "yes",
        c: true,
        d: null,
        e: 31,
        f: "2024-01-01",
        g: null,
      },
    ],
    [
      "quoted scalars",
      `a: 'it''s: # x'\nb: "tab\\t \\u00e9 \\""\n"c d": e`,
      { a: "it's: # x", b: 'tab\t é "', "c d": "e" },
    ],
    ["a line separator, which is text", "a: b\u2028---\nc: d", { a: "b\u2028---", c: "d" }],
    ["lines that continue", "a: one\n  two\n\n  three\nb: c", { a: "one two\nthree", b: "c" }],
    [
      "literal blocks",
      "a: |\n  one\n    two\n\n  # three\nb: |-\n  x\n",
      { a: "one\n  two\n\n# three\n", b: "x" },
    ],
    [
      "folded blocks",
      "a: >-\n  one\n  two\n\n  three\n    more\n  four",
      { a: "one two\nthree\n  more\nfour" },
    ],
    [
      "nested mappings",
      "metadata:\n  author: x\n  tags:\n    - a\n    - b: 1\n      c: 2\nz: 1",
      {
        metadata: { author: "x", tags: ["a", { b: 1, c: 2 }] },
        z: 1,
      },
    ],
    ["sequences without indentation", "a:\n- x\n- - y\n  - z\nb: 1", { a: ["x", ["y", "z"]], b: 1 }],
    [
      "flow collections",
      'a: [x, "y, z", 1, [true]]\nb: {k: v, "l m": [2]}\nc: []\nd: {}',
      {
        a: ["x", "y, z", 1, [true]],
        b: { k: "v", "l m": [2] },
        c: [],
        d: {},
      },
    ],
    ["comments and blank lines only", "# nothing\n\n", {}],
  ])("supports %s", (_, yaml, expected) => {
    expect(parse(yaml)).toEqual(expected);
  });

  it("starts after a byte order mark and may have Windows line ends", () => {
    expect(parseSkillDocument("\ufeff---\r\nname: a\r\n---\r\n# A\r\n")).toEqual({
      frontmatter: { name: "a" },
      body: "# A\n",
    });
  });

  it.each([
    ["an anchor", "a: &x 1"],
    ["an alias", "a: *x"],
    ["a tag", "a: !!str 1"],
    ["a merge of a reserved key", "__proto__: {x: 1}"],
    ["a complex key", "? a\n: b"],
    ["a repeated key", "a: 1\na: 2"],
    ["a repeated key in a flow mapping", "a: {b: 1, b: 2}"],
    ["a tab as indentation", "a:\n\tb: 1"],
    ["a colon in a plain value", "a: b: c"],
    ["a quoted value of several lines", "a: 'x\n  y'"],
    ["a flow collection of several lines", "a: [x,\n  y]"],
    ["text after a quoted value", "a: 'x' y"],
    ["an unknown escape", 'a: "\\q"'],
    ["infinity", "a: .inf"],
    ["a key that is a number", "1: a"],
    ["a sequence", "- a"],
    ["a scalar", "text"],
    ["wrong indentation", "a:\n    b: 1\n  c: 2"],
    ["a lone carriage return", "a: b\rc: d"],
  ])("is rejected with %s", (_, yaml) => {
    expect(() => parse(yaml)).toThrow(/near line \d+/);
  });

  it("is never read differently than by the server of the official SDK", async () => {
    const token = fc.constantFrom(
      ..."a|b: |- |  |\n|\n|\n|#| #x|'|\"|[|]|{|}|,|:| |>|-|x: y|1|true|~|\\|k: |k: >-\n  |k: \n  |&|*|?|é|''|l:\n- ".split(
        "|",
      ),
      "|",
      "|-\n  ",
    );
    const yamls = fc
      .array(token, { maxLength: 12 })
      .map((tokens) => `name: s\ndescription: d\n${tokens.join("")}`);
    await fc.assert(
      fc.asyncProperty(yamls, async (yaml) => {
        const markdown = `---\n${yaml}\n---\n`;
        const parsed = (() => {
          try {
            return parseSkillDocument(markdown).frontmatter;
          } catch {
            return undefined;
          }
        })();
        const entry = await skillEntry("s", { "SKILL.md": markdown }).catch(() => undefined);
        if (parsed !== undefined && entry !== undefined) expect(parsed).toEqual(entry.frontmatter);
      }),
      { numRuns: 1_000 },
    );
  });

  it("of 64 KiB is parsed in linear time, whatever it contains", () => {
    const tryParse = (yaml: string) => {
      try {
        return parse(yaml);
      } catch (error) {
        return (error as Error).message;
      }
    };
    // Quadratic time would exceed the time limit of a test.
    for (const token of [
      " ",
      "\t",
      "\n",
      "- ",
      "[",
      "'",
      '"',
      "a: \n",
      " a",
      "#",
      "x: 'y'\n",
      "\\",
      "> ",
      ": ",
    ]) {
      const long = token.repeat(65_000 / token.length);
      for (const yaml of [`a: |\n ${long}`, `a: x\n${long}`, `a: ${long}b`, `a: "${long}`, `a: [${long}`])
        expect(tryParse(yaml)).not.toContain("Maximum call stack");
    }
  });
});
