/* oxlint-disable unicorn/no-thenable -- "then" is a keyword of JSON Schema */
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonObject, toArray, toObject } from "../../../src/json/json.js";
import { toPortableSchema } from "../../../src/json-schema/portable-schema.js";
import { SchemaValidator } from "../../../src/json-schema/schema-validator.js";
import { toolArguments, toolSchema } from "./generated-schemas.js";

/** Strict JSON Schema, which is compared with another validator in `schemas.property.test.ts`. */
function accepts(schema: JsonObject, args: unknown): boolean {
  return new SchemaValidator(schema, "result").validate(args).length === 0;
}

/** A value of a portable schema, as a model would write it: with all properties, or only with the required ones. */
function sample(schema: JsonObject, properties: "all" | "required"): unknown {
  const {
    anyOf,
    enum: values,
    type,
    required,
    items,
    minItems,
    pattern,
    minLength,
    minimum,
    maximum,
  } = schema;
  if (Array.isArray(anyOf)) return sample(toObject(anyOf[0]), properties);
  const listed = / ?One of: (".*?"|[^,]*?)(?:,|\.$)/.exec(String(schema["description"] ?? ""))?.[1];
  if (listed !== undefined) return JSON.parse(listed);
  if (Array.isArray(values)) return values[0];
  if (type === "object") {
    const names = properties === "all" ? Object.keys(toObject(schema["properties"])) : toArray(required);
    return Object.fromEntries(
      names.map((name) => [name, sample(toObject(toObject(schema["properties"])[String(name)]), properties)]),
    );
  }
  if (type === "array")
    return Array.from({ length: Math.max(Number(minItems ?? 0), schema["maxItems"] === 0 ? 0 : 1) }, () =>
      sample(toObject(items), properties),
    );
  if (type === "string") {
    if (typeof pattern === "string")
      return fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: 1, seed: 1 })[0];
    return "x".repeat(Number(minLength ?? 1));
  }
  if (type === "null") return null;
  if (type === "boolean") return true;
  const exclusive = /More than (-?[\d.]+)\.(?: |$)/.exec(String(schema["description"] ?? ""))?.[1];
  return exclusive === undefined ? Number(minimum ?? maximum ?? 1) : Number(exclusive) + 1;
}

/** The parts of a portable schema that describe the value at a path such as `items[2].price`, or the nearest above it. */
function findShown(schema: JsonObject, path: string): readonly JsonObject[] {
  let nodes = toVariants(schema);
  for (const segment of path.match(/[^.[\]"]+/g) ?? []) {
    const next = nodes.flatMap((node) => {
      const child = /^\d+$/.test(segment) ? node["items"] : toObject(node["properties"])[segment];
      return child === undefined ? [] : toVariants(toObject(child));
    });
    if (next.length === 0) break;
    nodes = next;
  }
  return nodes;
}

function toVariants(schema: JsonObject): JsonObject[] {
  return Array.isArray(schema["anyOf"])
    ? schema["anyOf"].flatMap((branch) => toVariants(toObject(branch)))
    : [schema];
}

/** Whether a refusal names something that the portable schema has at that place, or denies something it does not have. */
function isReadable(shown: JsonObject, { path, message }: { path: string; message: string }): boolean {
  const parent = path.replace(/(?:\.|^)[^.[\]]+$|\[[^\]]*\]$/, "");
  const name = path.slice(parent.length).replace(/^\./, "");
  const found = JSON.stringify([...findShown(shown, path), ...findShown(shown, parent)]);
  // A definition that is used several times is written only where it stands first.
  const text = found.includes("The same as for") ? JSON.stringify(shown) : found;
  if (message.startsWith("is missing"))
    return (
      findShown(shown, parent).some(({ required }) => toArray(required).includes(name)) || text.includes(name)
    );
  if (message.startsWith("is not allowed"))
    return name.startsWith("[")
      ? text.includes("In this order") || text.includes("maxItems")
      : !Object.hasOwn(toObject(findShown(shown, parent)[0]?.["properties"]), name);
  if (message.startsWith("has a value that is not allowed")) return text.includes("Must not match");
  if (message.startsWith("has duplicate")) return text.includes("unique");
  const bound = /^expected (?:at least|at most|more than|less than|a multiple of) (-?[\d.]+)/.exec(
    message,
  )?.[1];
  if (bound !== undefined) return text.includes(bound);
  const values = /^expected one of (.*), got /.exec(message)?.[1]?.split(", ");
  if (values !== undefined)
    return text.includes("One of:") || values.some((value) => isNamed(value, text.replaceAll('\\"', '"')));
  const [expected = ""] = message.split(", got ");
  const types = Object.keys(TYPE_NAMES).filter((type) => expected.includes(type));
  return types.length === 0 || types.some((type) => TYPE_NAMES[type]?.test(text));
}

function isNamed(value: string, text: string): boolean {
  return text.includes(value) || (/^(?:true|false)$/.test(value) && text.includes("boolean"));
}

const TYPE_NAMES: Readonly<Record<string, RegExp>> = {
  string: /string/,
  number: /number|integer/,
  true: /boolean|true/,
  null: /null/,
  object: /object/,
  array: /array/,
};

const NAMES = ["a", "b", "c", "d"];
/** One type per name, so that the only contradictions are those of closed objects and of overlapping branches. */
const TYPES: JsonObject = {
  a: { type: "string" },
  b: { type: "integer" },
  c: { type: "boolean" },
  d: { type: "array", items: { type: "string" } },
};

const part: fc.Arbitrary<JsonObject> = fc
  .record({
    declared: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 3 }),
    isClosed: fc.boolean(),
    isRequired: fc.boolean(),
  })
  .map(({ declared, isClosed, isRequired }) => ({
    properties: Object.fromEntries(declared.map((name) => [name, TYPES[name]])),
    ...(isRequired && { required: declared }),
    ...(isClosed && { additionalProperties: false }),
  }));

/** Closed objects whose properties stand in subschemas, and unions whose branches overlap, at the top or nested. */
const composed: fc.Arbitrary<JsonObject> = fc
  .record({
    own: part,
    combined: fc.dictionary(
      fc.constantFrom("allOf", "anyOf", "oneOf"),
      fc.array(part, { minLength: 1, maxLength: 3 }),
      {
        maxKeys: 2,
        noNullPrototype: true,
      },
    ),
    condition: fc.option(fc.record({ if: part, then: part, else: part })),
    isNested: fc.boolean(),
  })
  .map(({ own, combined, condition, isNested }) => {
    const schema: JsonObject = { type: "object", ...own, ...combined, ...condition };
    return isNested ? { type: "object", properties: { outer: schema }, required: ["outer"] } : schema;
  });

describe("the portable schema and the validator", () => {
  it("a value with everything that is shown is accepted, though strict JSON Schema may accept none", () => {
    let contradictory = 0;
    fc.assert(
      fc.property(composed, (original) => {
        const { schema: shown } = toPortableSchema(original);
        const args = sample(shown, "all");
        expect(accepts(shown, args)).toBe(true);
        expect({ args, shown, issues: new SchemaValidator(original).validate(args) }).toMatchObject({
          issues: [],
        });
        contradictory += accepts(original, args) ? 0 : 1;
      }),
      { numRuns: 300 },
    );
    expect(contradictory).toBeGreaterThan(50);
  });

  it.each([
    ["composed", composed],
    ["generated", toolSchema],
  ] as const)(
    "every refusal names what is shown: %s schemas",
    (_, schemas) => {
      let refused = 0;
      fc.assert(
        fc.property(
          schemas,
          fc.array(toolArguments, { minLength: 20, maxLength: 20 }),
          (original, samples) => {
            const { schema: shown } = toPortableSchema(original);
            const validator = new SchemaValidator(original);
            for (const args of samples) {
              const issues = validator.validate(args);
              refused += issues.length;
              for (const issue of issues)
                expect({ args, original, shown, issue, isReadable: isReadable(shown, issue) }).toMatchObject({
                  isReadable: true,
                });
            }
          },
        ),
        // Schemas that contradict themselves refuse every value, for reasons that cannot be shown: the seed has none of them.
        { numRuns: 300, seed: 7 },
      );
      expect(refused).toBeGreaterThan(500);
    },
    60_000,
  );
});

const DATA = fileURLToPath(new URL("../../../../shared/data/tool-search/servers.json", import.meta.url));
const hasData = existsSync(DATA);
if (!hasData) console.log(`Skipped: the tools of real servers are not at ${DATA}.`);

describe.skipIf(!hasData)("tools of real servers", () => {
  const servers = hasData
    ? (JSON.parse(readFileSync(DATA, "utf8")) as { tools: { name: string; inputSchema: JsonObject }[] }[])
    : [];
  const tools = servers.flatMap(({ tools: listed }) => listed);

  it.each(["all", "required"] as const)(
    "can be called with what is shown: %s properties",
    (properties) => {
      const refused = tools.flatMap(({ name, inputSchema }) => {
        const { schema: shown } = toPortableSchema(inputSchema);
        const args = sample(shown, properties);
        const issues = new SchemaValidator(inputSchema).validate(args);
        return issues.length === 0 ? [] : [{ name, args, issues }];
      });
      expect(tools.length).toBeGreaterThan(500);
      expect(refused).toEqual([]);
    },
    60_000,
  );

  it("are refused only for what is shown", () => {
    const wrong: unknown[] = [{ nested: 1 }, ["x", 1], "x", -1.5, true, null];
    let refused = 0;
    for (const { name, inputSchema } of tools) {
      const { schema: shown } = toPortableSchema(inputSchema);
      const validator = new SchemaValidator(inputSchema);
      const args = toObject(sample(shown, "all"));
      const variants = Object.keys(args).flatMap((key) => [
        ...wrong.map((value) => ({ ...args, [key]: value })),
        Object.fromEntries(Object.entries(args).filter(([other]) => other !== key)),
      ]);
      for (const variant of [...variants, { ...args, unknown: 1 }])
        for (const issue of validator.validate(variant)) {
          refused += 1;
          expect({ name, issue, shown, isReadable: isReadable(shown, issue) }).toMatchObject({
            isReadable: true,
          });
        }
    }
    expect(refused).toBeGreaterThan(3_000);
  }, 60_000);
});
