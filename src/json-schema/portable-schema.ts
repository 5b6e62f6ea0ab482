import type { JsonObject } from "../json/json.js";
import { toReadable } from "../errors/sanitize-text.js";
import { TOP_LEVEL_NAME } from "./provider-keywords.js";
import { readShape } from "./read-type-model.js";
import { join, type Facts, type Shape } from "./schema-type-model.js";
import { toShortJson } from "./truncate-json.js";
import { toSoundSchema, type SoundSchema } from "./sanitize-schema.js";
import { readable, writeFacts, type TextLimits } from "./write-schema.js";

const MOST_CHARS = 50_000;

interface Detail extends TextLimits {
  readonly levels: number;
  readonly schemas: number;
}

/** From everything to outlines: the first that stays small enough is shown. */
const DETAILS: readonly Detail[] = [
  { levels: 40, schemas: 2_000, descriptionChars: 4_096, valueChars: 8_000 },
  { levels: 16, schemas: 2_000, descriptionChars: 1_024, valueChars: 2_000 },
  { levels: 10, schemas: 2_000, descriptionChars: 512, valueChars: 1_000 },
  { levels: 6, schemas: 2_000, descriptionChars: 256, valueChars: 500 },
  { levels: 4, schemas: 2_000, descriptionChars: 128, valueChars: 200 },
  { levels: 2, schemas: 2_000, descriptionChars: 64, valueChars: 100 },
];
const OUTLINE: Detail = { levels: 1, schemas: Infinity, descriptionChars: 64, valueChars: 60 };

/**
 * The schema of a tool as models see it: what OpenAI, Anthropic and Gemini accept as the parameters
 * of a function, with as much of the original as fits. It accepts what the original accepts, and
 * more. Two things by the letter of JSON Schema are read as they are meant: a schema with
 * `properties` and no `type` is an object, and an argument that one branch of a top-level union or of
 * a condition describes is described so for the branches that do not mention it.
 */
export function toShownSchema(original: JsonObject): { schema: JsonObject; warnings: string[] } {
  const sound = toSoundSchema(original);
  const warnings = [...sound.warnings];
  for (const detail of DETAILS) {
    const shown = show(sound, detail);
    if (shown !== undefined) {
      if (detail !== DETAILS[0]) warnings.push("Too large to be shown in full: details were left out.");
      return { schema: shown, warnings: [...warnings, ...hiddenNames(sound)] };
    }
  }
  warnings.push("Too large to be shown in full: only the first arguments are shown.");
  return { schema: showOutline(sound), warnings: [...warnings, ...hiddenNames(sound)] };
}

function show(sound: SoundSchema, detail: Detail): JsonObject | undefined {
  const budget = { schemasLeft: detail.schemas };
  const facts = readTop(sound, detail, budget);
  if (budget.schemasLeft < 0) return undefined;
  const shown = writeFacts("object", facts, detail);
  return JSON.stringify(shown).length <= MOST_CHARS ? shown : undefined;
}

function readTop({ schema, draft }: SoundSchema, detail: Detail, budget: { schemasLeft: number }): Facts {
  const shape = readShape(schema, {
    root: schema,
    draft,
    levelsLeft: detail.levels,
    openReferences: [],
    budget,
  });
  const [facts = {}] = join(shape.get("object") ?? []);
  return withSpeakableNames(facts, detail);
}

/** A name that a provider would refuse the whole tool for is told in the description instead. */
function withSpeakableNames(facts: Facts, limits: TextLimits): Facts {
  const all = [...(facts.properties ?? [])];
  const properties = new Map(all.filter(([name]) => TOP_LEVEL_NAME.test(name)));
  const told = all
    .filter(([name]) => !TOP_LEVEL_NAME.test(name))
    .map(([name, shape]) => `Also takes ${toShortJson(name)}${describe(shape, limits)}.`);
  return { ...facts, properties, notes: [...(facts.notes ?? []), ...told] };
}

function describe(shape: Shape, limits: TextLimits): string {
  const [facts] = [...shape.values()].flat();
  const description = readable(facts?.description ?? "", limits);
  return ` (${[...shape.keys()].join(" or ")})${description === undefined ? "" : `: ${description.replace(/\.$/, "")}`}`;
}

function hiddenNames({ schema }: SoundSchema): string[] {
  const names = Object.keys((schema["properties"] as JsonObject | undefined) ?? {});
  return names
    .filter((name) => !TOP_LEVEL_NAME.test(name))
    .slice(0, 10)
    .map(
      (name) =>
        `The argument ${toReadable(toShortJson(name))} has a name that providers refuse: it is only described.`,
    );
}

/** What is required comes first, then the others as long as there is room. */
function showOutline(sound: SoundSchema): JsonObject {
  const facts = readTop(sound, OUTLINE, { schemasLeft: OUTLINE.schemas });
  const required = new Set(facts.required);
  const names = [...(facts.properties ?? [])].toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  let room = MOST_CHARS / 2;
  const properties = names.filter(([name, shape]) => {
    room -=
      name.length * 2 +
      JSON.stringify(writeFacts("object", { properties: new Map([[name, shape]]) }, OUTLINE)).length;
    return room > 0;
  });
  return writeFacts("object", { ...facts, properties: new Map(properties) }, OUTLINE);
}
