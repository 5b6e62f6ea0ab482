import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VariableExpansion, type VariableScope } from "../../../../src/config/files/expand-variables.js";

function scope(env: Record<string, string | undefined>, hasBareVariables = false): VariableScope {
  return { env, predefined: new Map(), inputs: new Map(), hasBareVariables };
}

function expand(value: unknown, env: Record<string, string | undefined> = {}) {
  const expansion = new VariableExpansion(scope(env));
  return { value: expansion.expand(value, []), expansion };
}

const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,12}$/);
const plain = fc.string().filter((text) => !text.includes("${"));

describe("variables in any text", () => {
  it("leave what has no reference as it is, also what a shell would run", () => {
    const shell = fc.constantFrom("$(rm -rf /)", "`id`", "$HOME", "$$", "{", "}", "%PATH%", "~");
    fc.assert(
      fc.property(fc.array(fc.oneof(plain, shell)), (parts) => {
        const text = parts.join("");
        fc.pre(!text.includes("${"));
        const { value, expansion } = expand(text, { HOME: "/x" });
        expect(value).toBe(text);
        expect(expansion.problems).toEqual([]);
      }),
    );
  });

  it("are replaced by their values, which are not looked into again", () => {
    fc.assert(
      fc.property(plain, name, fc.string(), plain, (before, variable, value, after) => {
        const found = expand(`${before}\${${variable}}${after}`, { [variable]: value });
        expect(found.value).toBe(`${before}${value}${after}`);
        expect([...found.expansion.variables]).toEqual([variable]);
        expect(found.expansion.problems).toEqual([]);
      }),
    );
  });

  it("take their default where they are not set or empty, and the default may refer to others", () => {
    const safe = fc.string().filter((text) => !/[$}]/.test(text));
    fc.assert(
      fc.property(name, name, safe, fc.constantFrom("", undefined), (first, second, text, unset) => {
        fc.pre(first !== second);
        const env = { [first]: unset, [second]: "inner" };
        expect(expand(`\${${first}:-${text}}`, env).value).toBe(text);
        expect(expand(`\${${first}:-${text}\${${second}}}!`, env).value).toBe(`${text}inner!`);
      }),
    );
  });

  it("without a value and a default are a problem that names them, and nothing else of the text", () => {
    fc.assert(
      fc.property(name, fc.stringMatching(/^[a-z]{8,20}$/), (variable, canary) => {
        const { expansion } = expand({ headers: { a: `${canary} \${${variable}}` } });
        const [problem] = expansion.problems;
        expect(problem?.path).toEqual(["headers", "a"]);
        expect(problem?.message).toContain(variable);
        expect(problem?.message).not.toContain(canary);
      }),
    );
  });

  it("are looked for in texts and never in keys, and everything else is the same afterwards", () => {
    const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), plain);
    const key = fc.constantFrom("a", "${HOME}", "b", "constructor");
    const value = fc.dictionary(key, fc.oneof(leaf, fc.array(leaf), fc.dictionary(key, leaf)));
    fc.assert(
      fc.property(value, (given) => {
        expect(expand(given, { HOME: "/x" }).value).toEqual(JSON.parse(JSON.stringify(given)));
      }),
    );
  });

  it("never throw, never run anything and come to an end, whatever the text", () => {
    const piece = fc.constantFrom("${", "}", ":-", "A", "env:", "input:", "$", "command:", "/", " ", "\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, bare) => {
        const expansion = new VariableExpansion(scope({ A: "a" }, bare));
        expect(expansion.expand(pieces.join(""), [])).toBeTypeOf("string");
      }),
    );
    const deep = "${A:-".repeat(100_000);
    expect(expand(deep).expansion.problems).toHaveLength(1);
    expect(expand(`${deep}${"}".repeat(100_000)}`).expansion.problems.length).toBeGreaterThan(0);
  });

  it("of the object's own machinery are no variables", () => {
    for (const odd of ["constructor", "__proto__", "toString"]) {
      expect(expand(`\${${odd}}`).expansion.problems).toHaveLength(1);
    }
  });
});
