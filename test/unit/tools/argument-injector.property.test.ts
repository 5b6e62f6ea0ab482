import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/argument-property.js";
import type { JsonObject } from "../../../src/json/json.js";
import { compileArgumentProperties } from "../../../src/tools/argument-injector.js";

const SECRET = "s3cr3t";
const name = fc.constantFrom("a", "b", "__proto__", "constructor");

/** Paths that meet, cover each other and lead nowhere; each is written in one way only. */
const path = fc
  .tuple(name, fc.array(fc.oneof(name, fc.constantFrom("0", "1", "*")), { maxLength: 3 }))
  .map(
    ([first, rest]) =>
      `$['${first}']${rest.map((step) => (/^[\d*]$/.test(step) ? `[${step}]` : `['${step}']`)).join("")}`,
  );

const property = fc.oneof<fc.Arbitrary<ArgumentProperty>[]>(
  fc.constant({ variant: "static", value: SECRET, isSensitive: true }),
  fc.constant({ variant: "static", value: { a: ["open"] }, isSensitive: false }),
  fc.boolean().map((isSensitive) => ({ variant: "argument", argumentPath: "gone", isSensitive })),
  fc.constant({ variant: "argument", argumentPath: "key", isSensitive: true }),
  fc.constant({ variant: "arrayBuilder", isSensitive: false }),
);
const properties = fc.dictionary(path, property, { maxKeys: 5 });

/** Arguments, or schemas, with the same names in them. */
function objects(...keys: string[]): fc.Arbitrary<JsonObject> {
  const { node } = fc.letrec<{ node: unknown; object: JsonObject }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(1, null, "text"),
      tie("object"),
      fc.array(tie("node"), { maxLength: 3 }),
    ),
    object: fc.dictionary(fc.oneof(name, fc.constantFrom(...keys)), tie("node"), { maxKeys: 4 }),
  }));
  return fc.dictionary(fc.oneof(name, fc.constantFrom(...keys)), node, { maxKeys: 4 });
}
const args = objects("c");
const schemas = objects("properties", "items", "required", "anyOf", "allOf", "prefixItems", "then");

describe("whatever the properties, the arguments and the schema are", () => {
  it("nothing sensitive is shown or logged, and nothing that was lent is changed", () => {
    fc.assert(
      fc.property(properties, args, schemas, (rules, given, schema) => {
        const before = fc.stringify([rules, given, schema]);
        const { fill, masked, shownSchema } = compileArgumentProperties(rules, schema);
        const filled = fill(given, { key: SECRET });
        expect(JSON.stringify(masked(filled))).not.toContain(SECRET);
        expect(JSON.stringify(shownSchema)).not.toContain(SECRET);
        expect(fc.stringify([rules, given, schema])).toBe(before);
      }),
      { numRuns: 2_000 },
    );
  });

  it("without [*], what is filled stays the same when it is filled again", () => {
    fc.assert(
      fc.property(properties, args, (rules, given) => {
        // Two paths whose [*] cross depend on what the other one creates.
        const exact = Object.entries(rules).filter(([key]) => !key.includes("*"));
        const { fill } = compileArgumentProperties(Object.fromEntries(exact), {});
        const filled = fill(given, { key: SECRET });
        expect(JSON.stringify(fill(filled, { key: SECRET }))).toBe(JSON.stringify(filled));
      }),
      { numRuns: 1_000 },
    );
  });
});
