import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ArgumentProperty } from "../../../src/config/agent-definition.js";
import type { JsonObject } from "../../../src/json/json.js";
import { ArgumentInjector } from "../../../src/tools/argument-injector.js";

const SECRET = "s3cr3t";
const name = fc.constantFrom("a", "b", "__proto__", "constructor");

/** Paths that overlap, contain each other or match nothing, each in one notation only. */
const path = fc
  .tuple(name, fc.array(fc.oneof(name, fc.constantFrom("0", "1", "*")), { maxLength: 3 }))
  .map(
    ([first, rest]) =>
      `$['${first}']${rest.map((segment) => (/^[\d*]$/.test(segment) ? `[${segment}]` : `['${segment}']`)).join("")}`,
  );

const property = fc.oneof<fc.Arbitrary<ArgumentProperty>[]>(
  fc.constant({ variant: "static", value: SECRET, isSensitive: true }),
  fc.constant({ variant: "static", value: { a: ["open"] }, isSensitive: false }),
  fc.boolean().map((isSensitive) => ({ variant: "argument", argumentPath: "gone", isSensitive })),
  fc.constant({ variant: "argument", argumentPath: "key", isSensitive: true }),
  fc.constant({ variant: "arrayBuilder", isSensitive: false }),
);
const properties = fc.dictionary(path, property, { maxKeys: 5 });

/** Arguments or schemas that use the same names. */
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

describe("for any properties, arguments and schema", () => {
  it("nothing sensitive is shown or logged, and no input is mutated", () => {
    fc.assert(
      fc.property(properties, args, schemas, (argumentProperties, modelArgs, schema) => {
        const before = fc.stringify([argumentProperties, modelArgs, schema]);
        const injector = new ArgumentInjector(argumentProperties, schema);
        const injected = injector.inject(modelArgs, { key: SECRET });
        expect(JSON.stringify(injector.mask(injected))).not.toContain(SECRET);
        expect(JSON.stringify(injector.modelSchema)).not.toContain(SECRET);
        expect(fc.stringify([argumentProperties, modelArgs, schema])).toBe(before);
      }),
      { numRuns: 2_000 },
    );
  });

  it("without [*], injecting twice is the same as injecting once", () => {
    fc.assert(
      fc.property(properties, args, (argumentProperties, modelArgs) => {
        // Overlapping [*] paths depend on the items that the other path creates.
        const exact = Object.entries(argumentProperties).filter(([key]) => !key.includes("*"));
        const injector = new ArgumentInjector(Object.fromEntries(exact), {});
        const injected = injector.inject(modelArgs, { key: SECRET });
        expect(JSON.stringify(injector.inject(injected, { key: SECRET }))).toBe(JSON.stringify(injected));
      }),
      { numRuns: 1_000 },
    );
  });
});
