import type { JsonObject } from "../json/json.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import {
  SUPPORTED_PROPERTY_NAME,
  truncateReadable,
  writeConstraints,
  type TextLimits,
} from "./write-schema.js";
import { readTypeModel } from "./read-type-model.js";
import { mergeVariants, type TypeConstraints, type TypeModel } from "./schema-type-model.js";
import { truncateJson } from "../json/truncate-json.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";

const MAX_SCHEMA_CHARS = 50_000;

interface DetailLevel extends TextLimits {
  readonly maxDepth: number;
  readonly maxSchemas: number;
}

/** From full detail to outlines: the first level that fits the size limit is used. */
const DETAIL_LEVELS: readonly DetailLevel[] = [
  { maxDepth: 40, maxSchemas: 2_000, descriptionChars: 4_096, valueChars: 8_000 },
  { maxDepth: 16, maxSchemas: 2_000, descriptionChars: 1_024, valueChars: 2_000 },
  { maxDepth: 10, maxSchemas: 2_000, descriptionChars: 512, valueChars: 1_000 },
  { maxDepth: 6, maxSchemas: 2_000, descriptionChars: 256, valueChars: 500 },
  { maxDepth: 4, maxSchemas: 2_000, descriptionChars: 128, valueChars: 200 },
  { maxDepth: 2, maxSchemas: 2_000, descriptionChars: 64, valueChars: 100 },
];
const OUTLINE_LEVEL: DetailLevel = {
  maxDepth: 1,
  maxSchemas: Infinity,
  descriptionChars: 64,
  valueChars: 60,
};

/**
 * Converts the schema of a tool to the one that models see: accepted by OpenAI, Anthropic and Gemini, with as much
 * of the original as fits. It accepts everything that the original accepts, and possibly more.
 *
 * Two constructs are read as intended instead of strictly: a schema with `properties` and without `type` is an
 * object, and an argument that only one branch of a top-level union or condition describes is described that way
 * for the other branches, too.
 */
export function toPortableSchema(original: JsonObject): { schema: JsonObject; warnings: string[] } {
  const sanitized = sanitizeSchema(original);
  const warnings = [...sanitized.warnings];
  for (const level of DETAIL_LEVELS) {
    const rendered = render(sanitized, level);
    if (rendered !== undefined) {
      if (level !== DETAIL_LEVELS[0])
        warnings.push("The schema is too large to be shown in full: details were omitted.");
      return { schema: rendered, warnings: [...warnings, ...warnUnsupportedNames(sanitized)] };
    }
  }
  warnings.push("The schema is too large to be shown in full: only the first arguments are shown.");
  return { schema: renderOutline(sanitized), warnings: [...warnings, ...warnUnsupportedNames(sanitized)] };
}

function render(sanitized: SanitizedSchema, level: DetailLevel): JsonObject | undefined {
  const budget = { schemasLeft: level.maxSchemas };
  const constraints = readRoot(sanitized, level, budget);
  if (budget.schemasLeft < 0) return undefined;
  const rendered = writeConstraints("object", constraints, level);
  return JSON.stringify(rendered).length <= MAX_SCHEMA_CHARS ? rendered : undefined;
}

function readRoot(
  { schema, draft }: SanitizedSchema,
  level: DetailLevel,
  budget: { schemasLeft: number },
): TypeConstraints {
  const model = readTypeModel(schema, {
    root: schema,
    draft,
    remainingDepth: level.maxDepth,
    openReferences: [],
    budget,
  });
  const [constraints = {}] = mergeVariants(model.get("object") ?? []);
  return omitUnsupportedNames(constraints, level);
}

/** Moves property names for which a provider would reject the whole tool into the description. */
function omitUnsupportedNames(constraints: TypeConstraints, limits: TextLimits): TypeConstraints {
  const all = [...(constraints.properties ?? [])];
  const properties = new Map(all.filter(([name]) => SUPPORTED_PROPERTY_NAME.test(name)));
  const omitted = all
    .filter(([name]) => !SUPPORTED_PROPERTY_NAME.test(name))
    .map(([name, model]) => `Also accepts ${truncateJson(name)}${describeModel(model, limits)}.`);
  return { ...constraints, properties, notes: [...(constraints.notes ?? []), ...omitted] };
}

function describeModel(model: TypeModel, limits: TextLimits): string {
  const [constraints] = [...model.values()].flat();
  const description = truncateReadable(constraints?.description ?? "", limits);
  return ` (${[...model.keys()].join(" or ")})${description === undefined ? "" : `: ${description.replace(/\.$/, "")}`}`;
}

function warnUnsupportedNames({ schema }: SanitizedSchema): string[] {
  const names = Object.keys((schema["properties"] as JsonObject | undefined) ?? {});
  return names
    .filter((name) => !SUPPORTED_PROPERTY_NAME.test(name))
    .slice(0, 10)
    .map(
      (name) =>
        `The argument ${stripHiddenCharacters(truncateJson(name))} has a name that providers reject: it is only mentioned in the description.`,
    );
}

/** Writes required arguments first, then the others until the size limit is reached. */
function renderOutline(sanitized: SanitizedSchema): JsonObject {
  const constraints = readRoot(sanitized, OUTLINE_LEVEL, { schemasLeft: OUTLINE_LEVEL.maxSchemas });
  const required = new Set(constraints.required);
  const sorted = [...(constraints.properties ?? [])].toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  let remainingChars = MAX_SCHEMA_CHARS / 2;
  const properties = sorted.filter(([name, model]) => {
    remainingChars -=
      name.length * 2 +
      JSON.stringify(writeConstraints("object", { properties: new Map([[name, model]]) }, OUTLINE_LEVEL))
        .length;
    return remainingChars > 0;
  });
  return writeConstraints("object", { ...constraints, properties: new Map(properties) }, OUTLINE_LEVEL);
}
