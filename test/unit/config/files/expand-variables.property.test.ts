import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VariableExpander, type VariableScope } from "../../../../src/config/files/expand-variables.js";

function scope(env: Record<string, string | undefined>, hasBareVariables = false): VariableScope {
  return { env, predefined: new Map(), inputs: new Map(), hasBareVariables };
}

function expand(value: unknown, env: Record<string, string | undefined> = {}) {
  const expander = new VariableExpander(scope(env));
  return { value: expander.expand(value, []), expansion: expander };
}

const name = fc.stringMatching(/^[A-Z][A-Z0-9_]{0,12}$/);
const plain = fc.string().filter((text) => !text.includes("${"));

describe("variable expansion", () => {
  it("leaves text without references unchanged, including shell syntax", () => {
    const shell = fc.constantFrom("$(rm -rf /)", "`id`", "$HOME", "$$", "{", "}", "%PATH%", "~");
    fc.assert(
      fc.property(fc.array(fc.oneof(plain, shell)), (parts) => {
        const text = parts.join("");
        fc.pre(!text.includes("${"));
        const { value, expansion: expander } = expand(text, { HOME: "/x" });
        expect(value).toBe(text);
        expect(expander.problems).toEqual([]);
      }),
    );
  });

  it("replaces variables by their values, which are not expanded again", () => {
    fc.assert(
      fc.property(plain, name, fc.string(), plain, (before, variable, value, after) => {
        const result = expand(`${before}\${${variable}}${after}`, { [variable]: value });
        expect(result.value).toBe(`${before}${value}${after}`);
        expect([...result.expansion.variables]).toEqual([variable]);
        expect(result.expansion.problems).toEqual([]);
      }),
    );
  });

  it("uses the default for unset and empty variables, which may contain references", () => {
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

  it("reports unset variables without a default by name, without the rest of the text", () => {
    fc.assert(
      fc.property(name, fc.stringMatching(/^[a-z]{8,20}$/), (variable, canary) => {
        const { expansion: expander } = expand({ headers: { a: `${canary} \${${variable}}` } });
        const [problem] = expander.problems;
        expect(problem?.path).toEqual(["headers", "a"]);
        expect(problem?.message).toContain(variable);
        expect(problem?.message).not.toContain(canary);
      }),
    );
  });

  it("expands strings but not keys, and leaves everything else unchanged", () => {
    const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), plain);
    const key = fc.constantFrom("a", "${HOME}", "b", "constructor");
    const value = fc.dictionary(key, fc.oneof(leaf, fc.array(leaf), fc.dictionary(key, leaf)));
    fc.assert(
      fc.property(value, (input) => {
        expect(expand(input, { HOME: "/x" }).value).toEqual(JSON.parse(JSON.stringify(input)));
      }),
    );
  });

  it("never throws and always terminates", () => {
    const piece = fc.constantFrom("${", "}", ":-", "A", "env:", "input:", "$", "command:", "/", " ", "\n");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, bare) => {
        const expander = new VariableExpander(scope({ A: "a" }, bare));
        expect(expander.expand(pieces.join(""), [])).toBeTypeOf("string");
      }),
    );
    const deep = "${A:-".repeat(100_000);
    expect(expand(deep).expansion.problems).toHaveLength(1);
    expect(expand(`${deep}${"}".repeat(100_000)}`).expansion.problems.length).toBeGreaterThan(0);
  });

  it("does not treat inherited properties as variables", () => {
    for (const inherited of ["constructor", "__proto__", "toString"]) {
      expect(expand(`\${${inherited}}`).expansion.problems).toHaveLength(1);
    }
  });
});
