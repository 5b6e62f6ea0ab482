import { isPlainObject, type JsonObject, setOwnProperty } from "../json/json.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import { collectAnchors, draftOf, resolvePointer, toFragment, type Draft } from "./json-pointer.js";
import {
  ANNOTATIONS,
  DYNAMIC_KEYWORDS,
  IDENTITY_KEYWORDS,
  isAssertion,
  isNonEmptyArray,
  isStringArray,
  isWellFormed,
  SCHEMA_KEYWORDS,
  SCHEMA_ARRAY_KEYWORDS,
  SCHEMA_MAP_KEYWORDS,
} from "./schema-keywords.js";
import { findPatternProblem } from "./safe-regex.js";

/** Deeper than any handwritten schema, and far below the stack limit. */
const MAX_DEPTH = 200;
const MAX_SCHEMAS = 20_000;
const MAX_WARNINGS = 20;

/** A sanitized copy of a schema. */
export interface SanitizedSchema {
  readonly schema: JsonObject;
  /** All nested schemas, in no particular order. */
  readonly nodes: readonly JsonObject[];
  readonly draft: Draft;
  readonly warnings: readonly string[];
}

/**
 * Returns a copy that is safe to read and run: without invalid or exponential patterns, dangling or remote
 * references, malformed keywords and excessive nesting. It accepts everything that the original accepts. Keywords
 * in `ignored` are omitted without a warning.
 */
export function sanitizeSchema(
  original: JsonObject,
  ignored: ReadonlySet<string> = new Set<string>(),
): SanitizedSchema {
  const sanitizer = new SchemaSanitizer(original, ignored);
  sanitizer.run();
  return sanitizer;
}

interface Step {
  readonly source: JsonObject;
  readonly target: JsonObject;
  readonly depth: number;
  /** Inside a schema with its own `$id`, where `#` refers to that schema. */
  readonly inEmbeddedResource: boolean;
}

/** Uses a list of steps instead of recursion, since the depth of a server's schema is unbounded. */
class SchemaSanitizer implements SanitizedSchema {
  readonly schema: JsonObject = {};
  readonly nodes: JsonObject[] = [];
  readonly draft: Draft;
  readonly #warnings = new Set<string>();
  readonly #steps: Step[] = [];
  #anchors: ReadonlyMap<string, string> | undefined;
  #schemaCount = 0;
  #wasRelaxed = false;

  constructor(
    readonly original: JsonObject,
    readonly ignored: ReadonlySet<string>,
  ) {
    this.draft = draftOf(original);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings].slice(0, MAX_WARNINGS);
  }

  run(): void {
    this.#steps.push({ source: this.original, target: this.schema, depth: 0, inEmbeddedResource: false });
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      this.nodes.push(step.target);
      for (const [keyword, value] of Object.entries(step.source)) this.#copyKeyword(step, keyword, value);
    }
    if (this.#wasRelaxed) this.nodes.forEach(relaxNegations);
  }

  #copyKeyword(step: Step, keyword: string, value: unknown): void {
    if (this.ignored.has(keyword) || IDENTITY_KEYWORDS.has(keyword)) return;
    if (ANNOTATIONS.has(keyword)) setOwnProperty(step.target, keyword, value);
    else if (DYNAMIC_KEYWORDS.has(keyword)) this.#omit(`the dynamic reference ${keyword}`);
    else if (isAssertion(keyword)) this.#copyAssertion(step, keyword, value);
    else this.#copySchemas(step, keyword, value);
  }

  #copyAssertion(step: Step, keyword: string, value: unknown): void {
    if (!isWellFormed(keyword, value, this.draft)) return this.#omit(`a malformed "${keyword}"`);
    if (keyword === "pattern") {
      const problem = findPatternProblem(String(value));
      if (problem !== undefined) return this.#omit(`the pattern ${quote(String(value))}, which ${problem}`);
    }
    if (keyword === "$ref") return this.#copyReference(step, String(value));
    setOwnProperty(step.target, keyword, value);
  }

  #copyReference(step: Step, reference: string): void {
    const fragment = toFragment(this.original, reference);
    if (fragment === undefined) return this.#omit(`the remote reference ${quote(reference)}`);
    const pointer = this.#toPointer(fragment);
    const target =
      step.inEmbeddedResource || pointer === undefined ? undefined : resolvePointer(this.original, pointer);
    if (!isSchema(target)) return this.#omit(`the reference ${quote(reference)}, which cannot be resolved`);
    setOwnProperty(step.target, "$ref", pointer);
  }

  #toPointer(fragment: string): string | undefined {
    if (fragment === "#" || fragment.startsWith("#/")) return fragment;
    this.#anchors ??= collectAnchors(this.original);
    return this.#anchors.get(fragment.slice(1));
  }

  #copySchemas(step: Step, keyword: string, value: unknown): void {
    if (SCHEMA_ARRAY_KEYWORDS.has(keyword) && Array.isArray(value)) {
      if (value.length === 0 && keyword !== "items" && keyword !== "prefixItems") {
        return this.#omit(`an empty "${keyword}"`);
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
      SCHEMA_ARRAY_KEYWORDS.has(keyword) ||
      SCHEMA_MAP_KEYWORDS.has(keyword)
    ) {
      return this.#omit(`a malformed "${keyword}"`);
    }
    // A custom keyword is never evaluated, but a reference may point into it.
    if (isPlainObject(value) && !keyword.startsWith("__")) {
      setOwnProperty(step.target, keyword, this.#copySchema(step, value));
    }
  }

  #copyMap(step: Step, keyword: string, map: JsonObject): void {
    const copy: JsonObject = {};
    for (const [name, schema] of Object.entries(map)) {
      const problem = keyword === "patternProperties" ? findPatternProblem(name) : undefined;
      if (problem !== undefined) {
        this.#omit(`the property pattern ${quote(name)}, which ${problem}`);
        Object.defineProperty(copy, DROPPED_PATTERN, { value: true });
      } else if (keyword === "dependencies" && isStringArray(schema)) setOwnProperty(copy, name, schema);
      else setOwnProperty(copy, name, this.#copySchema(step, schema));
    }
    setOwnProperty(step.target, keyword, copy);
  }

  #copySchema({ depth, inEmbeddedResource }: Step, source: unknown): JsonObject | boolean {
    if (typeof source === "boolean") return source;
    if (!isPlainObject(source)) this.#omit("something that is not a schema");
    else if (depth >= MAX_DEPTH) this.#omit(`everything nested deeper than ${MAX_DEPTH} levels`);
    else if (this.#schemaCount >= MAX_SCHEMAS) this.#omit(`all but the first ${MAX_SCHEMAS} schemas in it`);
    else {
      this.#schemaCount += 1;
      const target: JsonObject = {};
      const isResource = typeof (source["$id"] ?? source["id"]) === "string";
      this.#steps.push({
        source,
        target,
        depth: depth + 1,
        inEmbeddedResource: inEmbeddedResource || isResource,
      });
      return target;
    }
    return true;
  }

  #omit(what: string): void {
    this.#wasRelaxed = true;
    this.#warnings.add(`Omitted ${what}.`);
  }
}

const DROPPED_PATTERN = Symbol("dropped pattern");

/**
 * After an omission a schema accepts more. A keyword that negates another schema would then reject more, so it is
 * removed from every schema, since references can reach any of them.
 */
function relaxNegations(node: JsonObject): void {
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
  if (!isNonEmptyArray(oneOf)) return;
  delete node["oneOf"];
  const allOf = isNonEmptyArray(node["allOf"]) ? node["allOf"] : [];
  node["allOf"] = [...allOf, { anyOf: oneOf }];
}

function isSchema(value: unknown): value is JsonObject | boolean {
  return typeof value === "boolean" || isPlainObject(value);
}

function quote(text: string): string {
  const visible = stripHiddenCharacters(text);
  return JSON.stringify(visible.length > 80 ? `${visible.slice(0, 79)}…` : visible);
}
