import { isPlainObject, type JsonObject, setOwnProperty } from "../json/json.js";
import { toReadable } from "../errors/sanitize-text.js";
import { anchorsOf, draftOf, resolveFragment, toFragment, type Draft } from "./json-pointer.js";
import {
  ANNOTATIONS,
  DYNAMIC_KEYWORDS,
  IDENTITY_KEYWORDS,
  isAssertion,
  isFilledList,
  isListOfText,
  isWellFormed,
  SCHEMA_KEYWORDS,
  SCHEMA_LIST_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
} from "./schema-keywords.js";
import { patternProblem } from "./safe-regex.js";

/** Deeper than any schema that somebody wrote, and far from the end of the stack. */
const DEEPEST = 200;
const MOST_SCHEMAS = 20_000;
const MOST_WARNINGS = 20;

export interface SoundSchema {
  readonly schema: JsonObject;
  /** Every schema in it, in no order. */
  readonly nodes: readonly JsonObject[];
  readonly draft: Draft;
  readonly warnings: readonly string[];
}

/**
 * A copy that can be read and run without harm: no pattern that fails or explodes, no reference that
 * leads nowhere or away, nothing malformed, no bottomless depth. It accepts all that the original
 * accepts. `ignored` keywords are left out without a word.
 */
export function toSoundSchema(
  original: JsonObject,
  ignored: ReadonlySet<string> = new Set<string>(),
): SoundSchema {
  const copying = new Copying(original, ignored);
  copying.run();
  return copying;
}

interface Step {
  readonly source: JsonObject;
  readonly target: JsonObject;
  readonly depth: number;
  /** Inside a schema with an `$id` of its own, where `#` means something else. */
  readonly embedded: boolean;
}

/** A list of steps instead of recursion: the depth of a schema is its author's choice. */
class Copying implements SoundSchema {
  readonly schema: JsonObject = {};
  readonly nodes: JsonObject[] = [];
  readonly draft: Draft;
  readonly #warnings = new Set<string>();
  readonly #steps: Step[] = [];
  #anchors: ReadonlyMap<string, string> | undefined;
  #schemas = 0;
  #loosened = false;

  constructor(
    readonly original: JsonObject,
    readonly ignored: ReadonlySet<string>,
  ) {
    this.draft = draftOf(original);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings].slice(0, MOST_WARNINGS);
  }

  run(): void {
    this.#steps.push({ source: this.original, target: this.schema, depth: 0, embedded: false });
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      this.nodes.push(step.target);
      for (const [keyword, value] of Object.entries(step.source)) this.#copyKeyword(step, keyword, value);
    }
    if (this.#loosened) this.nodes.forEach(loosen);
  }

  #copyKeyword(step: Step, keyword: string, value: unknown): void {
    if (this.ignored.has(keyword) || IDENTITY_KEYWORDS.has(keyword)) return;
    if (ANNOTATIONS.has(keyword)) setOwnProperty(step.target, keyword, value);
    else if (DYNAMIC_KEYWORDS.has(keyword)) this.#drop(`the dynamic reference ${keyword}`);
    else if (isAssertion(keyword)) this.#copyAssertion(step, keyword, value);
    else this.#copySchemas(step, keyword, value);
  }

  #copyAssertion(step: Step, keyword: string, value: unknown): void {
    if (!isWellFormed(keyword, value, this.draft)) return this.#drop(`a malformed "${keyword}"`);
    if (keyword === "pattern") {
      const problem = patternProblem(String(value));
      if (problem !== undefined) return this.#drop(`the pattern ${quote(String(value))}, which ${problem}`);
    }
    if (keyword === "$ref") return this.#copyReference(step, String(value));
    setOwnProperty(step.target, keyword, value);
  }

  #copyReference(step: Step, reference: string): void {
    const fragment = toFragment(this.original, reference);
    if (fragment === undefined) return this.#drop(`the remote reference ${quote(reference)}`);
    const pointer = this.#toPointer(fragment);
    const found =
      step.embedded || pointer === undefined ? undefined : resolveFragment(this.original, pointer);
    if (!isSchema(found)) return this.#drop(`the reference ${quote(reference)}, which leads nowhere`);
    setOwnProperty(step.target, "$ref", pointer);
  }

  #toPointer(fragment: string): string | undefined {
    if (fragment === "#" || fragment.startsWith("#/")) return fragment;
    this.#anchors ??= anchorsOf(this.original);
    return this.#anchors.get(fragment.slice(1));
  }

  #copySchemas(step: Step, keyword: string, value: unknown): void {
    if (SCHEMA_LIST_KEYWORDS.has(keyword) && Array.isArray(value)) {
      if (value.length === 0 && keyword !== "items" && keyword !== "prefixItems") {
        return this.#drop(`an empty "${keyword}"`);
      }
      const copies = value.map((schema) => this.#copySchema(step, schema));
      return setOwnProperty(step.target, keyword, copies);
    }
    if (SCHEMA_MAP_KEYWORDS.has(keyword) && isPlainObject(value)) return this.#copyMap(step, keyword, value);
    if (SCHEMA_KEYWORDS.has(keyword) && isSchema(value)) {
      return setOwnProperty(step.target, keyword, this.#copySchema(step, value));
    }
    if (
      SCHEMA_KEYWORDS.has(keyword) ||
      SCHEMA_LIST_KEYWORDS.has(keyword) ||
      SCHEMA_MAP_KEYWORDS.has(keyword)
    ) {
      return this.#drop(`a malformed "${keyword}"`);
    }
    // Somebody's own keyword: nobody reads it, but a reference may point into it.
    if (isPlainObject(value) && !keyword.startsWith("__")) {
      setOwnProperty(step.target, keyword, this.#copySchema(step, value));
    }
  }

  #copyMap(step: Step, keyword: string, map: JsonObject): void {
    const copy: JsonObject = {};
    for (const [name, schema] of Object.entries(map)) {
      const problem = keyword === "patternProperties" ? patternProblem(name) : undefined;
      if (problem !== undefined) {
        this.#drop(`the property pattern ${quote(name)}, which ${problem}`);
        Object.defineProperty(copy, DROPPED_PATTERN, { value: true });
      } else if (keyword === "dependencies" && isListOfText(schema)) setOwnProperty(copy, name, schema);
      else setOwnProperty(copy, name, this.#copySchema(step, schema));
    }
    setOwnProperty(step.target, keyword, copy);
  }

  #copySchema({ depth, embedded }: Step, source: unknown): JsonObject | boolean {
    if (typeof source === "boolean") return source;
    if (!isPlainObject(source)) this.#drop("something that is no schema");
    else if (depth >= DEEPEST) this.#drop(`whatever is nested deeper than ${DEEPEST} levels`);
    else if (this.#schemas >= MOST_SCHEMAS) this.#drop(`all but the first ${MOST_SCHEMAS} schemas in it`);
    else {
      this.#schemas += 1;
      const target: JsonObject = {};
      const isResource = typeof (source["$id"] ?? source["id"]) === "string";
      this.#steps.push({ source, target, depth: depth + 1, embedded: embedded || isResource });
      return target;
    }
    return true;
  }

  #drop(what: string): void {
    this.#loosened = true;
    this.#warnings.add(`Left out ${what}.`);
  }
}

const DROPPED_PATTERN = Symbol("dropped pattern");

/**
 * Where something was left out, more is accepted than before. A keyword that turns "accepts more"
 * into "refuses more" cannot stay beside it, nor anywhere that a reference could reach it from.
 */
function loosen(node: JsonObject): void {
  for (const keyword of [
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
    "maxContains",
  ]) {
    delete node[keyword];
  }
  const { patternProperties, oneOf } = node;
  if (isPlainObject(patternProperties) && DROPPED_PATTERN in patternProperties)
    delete node["additionalProperties"];
  if (!isFilledList(oneOf)) return;
  delete node["oneOf"];
  const allOf = isFilledList(node["allOf"]) ? node["allOf"] : [];
  node["allOf"] = [...allOf, { anyOf: oneOf }];
}

function isSchema(value: unknown): value is JsonObject | boolean {
  return typeof value === "boolean" || isPlainObject(value);
}

function quote(text: string): string {
  const readable = toReadable(text);
  return JSON.stringify(readable.length > 80 ? `${readable.slice(0, 79)}…` : readable);
}
