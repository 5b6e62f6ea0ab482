import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import {
  isPlainObject,
  isStringArray,
  type JsonObject,
  setOwnProperty,
  toArray,
  toObject,
} from "../json/json.js";
import {
  ANNOTATIONS,
  type Draft,
  draftOf,
  DYNAMIC_KEYWORDS,
  formOf,
  getInPlaceNodes,
  isSchema,
} from "./keywords.js";
import { type LinearPatterns, toStrictPattern } from "./linear-pattern.js";
import { resolveRef, toFragment } from "./resolve-ref.js";

/** Identifiers that change the base of references. */
const IDENTITY_KEYWORDS: ReadonlySet<string> = new Set(["$dynamicAnchor", "$id", "$recursiveAnchor", "id"]);

const EXCLUSIVE_BOUNDS: Readonly<Record<string, string>> = {
  minimum: "exclusiveMinimum",
  maximum: "exclusiveMaximum",
};

/** Deeper than any handwritten schema, and far below the stack limit. */
const MAX_DEPTH = 200;
const MAX_SCHEMAS = 10_000;
const TOO_MANY_SCHEMAS = `all but the first ${MAX_SCHEMAS} schemas in it`;
const MAX_HOPS = 20;
const MAX_WARNINGS = 20;
const MAX_QUOTE_LENGTH = 80;

/** A sanitized copy of a schema. */
export interface SanitizedSchema {
  readonly schema: JsonObject;
  /** The schema that the `$ref` of a schema points to. Never circular for one value. */
  readonly targets: ReadonlyMap<JsonObject, JsonObject | boolean>;
  readonly draft: Draft;
  readonly warnings: readonly string[];
}

/**
 * Returns a copy that is safe to read and run: without patterns that have a problem, dangling, remote or circular
 * references, malformed keywords and excessive nesting. It accepts everything that the original accepts. The work is
 * linear in the size of the schema.
 */
export function sanitizeSchema(original: JsonObject, patterns: LinearPatterns): SanitizedSchema {
  const sanitizer = new SchemaSanitizer(original, patterns);
  sanitizer.run();
  const { schema, targets, draft, warnings } = sanitizer;
  return { schema, targets, draft, warnings };
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
  readonly targets = new Map<JsonObject, JsonObject | boolean>();
  readonly draft: Draft;
  readonly #original: JsonObject;
  readonly #patterns: LinearPatterns;
  readonly #warnings = new Set<string>();
  readonly #steps: Step[] = [];
  readonly #copies = new Map<JsonObject, JsonObject>();
  readonly #references: { readonly node: JsonObject; readonly target: unknown; readonly text: string }[] = [];
  #wasRelaxed = false;

  constructor(original: JsonObject, patterns: LinearPatterns) {
    this.#original = original;
    this.#patterns = patterns;
    this.draft = draftOf(original);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  run(): void {
    this.#copies.set(this.#original, this.schema);
    this.#steps.push({
      source: this.#original,
      target: this.schema,
      depth: 0,
      inEmbeddedResource: false,
    });
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop())
      for (const [keyword, value] of Object.entries(step.source)) this.#copyKeyword(step, keyword, value);
    this.#resolveReferences();
    for (const node of findCircularReferences(this.targets.keys(), this.targets)) {
      this.#omit("the circular reference", node["$ref"] as string);
      this.targets.delete(node);
      delete node["$ref"];
    }
    if (this.#wasRelaxed) for (const node of this.#copies.values()) relaxNegations(node);
  }

  #copyKeyword(step: Step, keyword: string, value: unknown): void {
    if (IDENTITY_KEYWORDS.has(keyword)) return;
    if (ANNOTATIONS.has(keyword)) return setOwnProperty(step.target, keyword, value);
    if (DYNAMIC_KEYWORDS.has(keyword)) return this.#omit(`the dynamic reference ${keyword}`);
    if (keyword === "dependentRequired" && Object.keys(toObject(value)).length > MAX_SCHEMAS)
      return this.#omit(`more than ${MAX_SCHEMAS} names in "${keyword}"`);
    switch (formOf(keyword, value, this.draft)) {
      case "data":
        return this.#copyData(step, keyword, value);
      case "schema":
        return setOwnProperty(step.target, keyword, this.#copySchema(step, value));
      case "schemas":
        return this.#copyArray(step, keyword, value as readonly unknown[]);
      case "map":
        return this.#copyMap(step, keyword, value as JsonObject);
      case "malformed":
        return this.#omit(`a malformed "${keyword}"`);
      case "unknown":
        // A custom keyword is never evaluated, but a reference may point into it.
        if (isPlainObject(value) && !keyword.startsWith("__"))
          setOwnProperty(step.target, keyword, this.#copySchema(step, value));
    }
  }

  #copyData(step: Step, keyword: string, value: unknown): void {
    if (keyword === "$ref") return this.#copyReference(step, value as string);
    if (keyword !== "pattern") return this.#setValue(step, keyword, value);
    const problem = this.#patterns.add(value as string);
    if (problem !== undefined) return this.#omit("the pattern", value as string, `, which ${problem}`);
    setOwnProperty(step.target, keyword, toStrictPattern(value as string));
  }

  /** In draft 4, `exclusiveMinimum: true` makes `minimum` what `exclusiveMinimum` is in later drafts. */
  #setValue({ source, target }: Step, keyword: string, value: unknown): void {
    const modifier = this.draft === "4" ? EXCLUSIVE_BOUNDS[keyword] : undefined;
    if (modifier !== undefined && source[modifier] === true) target[modifier] = value;
    else if (this.draft !== "4" || !keyword.startsWith("exclusive")) target[keyword] = value;
  }

  #copyReference({ target: node, inEmbeddedResource }: Step, text: string): void {
    if (toFragment(text, this.#original) === undefined) return this.#omit("the remote reference", text);
    const target = inEmbeddedResource ? undefined : resolveRef(text, this.#original);
    this.#references.push({ node, target, text });
  }

  /** A target may be copied after the reference, or not at all: it may exceed the limits, or not be a schema. */
  #resolveReferences(): void {
    for (const { node, target, text } of this.#references) {
      const copy = isPlainObject(target) ? this.#copies.get(target) : target;
      if (isSchema(copy)) {
        this.targets.set(node, copy);
        node["$ref"] = text;
      } else this.#omit("the reference", text, ", which cannot be resolved");
    }
  }

  /** Schemas beyond the limit would accept everything, so a union with one of them is omitted. */
  #copyArray(step: Step, keyword: string, schemas: readonly unknown[]): void {
    if (schemas.length === 0 && keyword !== "items" && keyword !== "prefixItems")
      return this.#omit(`an empty "${keyword}"`);
    const remaining = MAX_SCHEMAS - this.#copies.size;
    const isTooLong = schemas.length > remaining;
    if (isTooLong) this.#omit(TOO_MANY_SCHEMAS);
    if (isTooLong && (keyword === "anyOf" || keyword === "oneOf")) return;
    const copies = schemas.slice(0, remaining).map((schema) => this.#copySchema(step, schema));
    if (isTooLong) Object.defineProperty(copies, DROPPED, { value: true });
    setOwnProperty(step.target, keyword, copies);
  }

  #copyMap(step: Step, keyword: string, map: JsonObject): void {
    const copy: JsonObject = {};
    const isPattern = keyword === "patternProperties";
    const names = Object.keys(map);
    const remaining = MAX_SCHEMAS - this.#copies.size;
    if (names.length > remaining) {
      this.#omit(TOO_MANY_SCHEMAS);
      names.length = remaining;
      Object.defineProperty(copy, DROPPED, { value: true });
    }
    for (const name of names) {
      const schema = map[name];
      const key = isPattern ? toStrictPattern(name) : name;
      const problem = isPattern
        ? (this.#patterns.add(name) ?? (Object.hasOwn(copy, key) ? "is declared twice" : undefined))
        : undefined;
      if (problem !== undefined) {
        this.#omit("the property pattern", name, `, which ${problem}`);
        Object.defineProperty(copy, DROPPED, { value: true });
      } else if (keyword === "dependencies" && isStringArray(schema)) setOwnProperty(copy, key, schema);
      else setOwnProperty(copy, key, this.#copySchema(step, schema));
    }
    setOwnProperty(step.target, keyword, copy);
  }

  #copySchema({ depth, inEmbeddedResource }: Step, source: unknown): JsonObject | boolean {
    if (typeof source === "boolean") return source;
    const known = isPlainObject(source) ? this.#copies.get(source) : undefined;
    if (known !== undefined) return known;
    if (!isPlainObject(source)) this.#omit("something that is not a schema");
    else if (depth >= MAX_DEPTH) this.#omit(`everything nested deeper than ${MAX_DEPTH} levels`);
    else if (this.#copies.size >= MAX_SCHEMAS) this.#omit(TOO_MANY_SCHEMAS);
    else {
      const target: JsonObject = {};
      this.#copies.set(source, target);
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

  #omit(what: string, quoted?: string, reason = ""): void {
    this.#wasRelaxed = true;
    if (this.#warnings.size >= MAX_WARNINGS) return;
    this.#warnings.add(`Omitted ${what}${quoted === undefined ? "" : ` ${quote(quoted)}`}${reason}.`);
  }
}

/** The mark of `properties`, `patternProperties` or a tuple without some of its entries. */
const DROPPED = Symbol("dropped entries");
const NEGATIONS = ["not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "maxContains"];

/**
 * After an omission a schema accepts more. A keyword that negates another schema would then reject more, so it is
 * removed from every schema, since references can reach any of them.
 */
function relaxNegations(node: JsonObject): void {
  for (const keyword of NEGATIONS) if (Object.hasOwn(node, keyword)) delete node[keyword];
  const { properties, patternProperties, prefixItems, items, oneOf, allOf } = node;
  if (hasDropped(properties) || hasDropped(patternProperties)) delete node["additionalProperties"];
  if (hasDropped(prefixItems)) delete node["items"];
  if (hasDropped(items)) delete node["additionalItems"];
  if (oneOf === undefined) return;
  delete node["oneOf"];
  node["allOf"] = [...toArray(allOf), { anyOf: oneOf }];
}

function hasDropped(value: unknown): boolean {
  return typeof value === "object" && value !== null && DROPPED in value;
}

/**
 * Returns schemas whose references would be followed forever for one value. Searches depth-first without recursion;
 * every schema is visited once.
 */
function findCircularReferences(
  nodes: Iterable<JsonObject>,
  targets: SanitizedSchema["targets"],
): Set<JsonObject> {
  const circular = new Set<JsonObject>();
  const visited = new Set<JsonObject>();
  const open = new Set<JsonObject>();
  const path: { readonly node: JsonObject; readonly rest: JsonObject[] }[] = [];
  const visit = (node: JsonObject) => {
    visited.add(node);
    open.add(node);
    path.push({ node, rest: getInPlaceNodes(node, targets) });
  };
  for (const start of nodes) {
    if (!visited.has(start)) visit(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.rest.pop();
      if (next === undefined) {
        open.delete(top.node);
        path.pop();
      } else if (open.has(next)) {
        // Every circle has a reference, because other subschemas are nested in each other.
        const holder = path.findLast(
          ({ node }, index) => targets.get(node) === (path[index + 1]?.node ?? next),
        );
        circular.add(holder?.node ?? top.node);
      } else if (!visited.has(next)) visit(next);
    }
  }
  return circular;
}

/** Follows the references of a schema, whose sibling keywords are ignored, to a schema without one. */
export function followTargets(schema: unknown, targets: SanitizedSchema["targets"]): unknown {
  let current = schema;
  for (let hop = 0; hop < MAX_HOPS && isPlainObject(current); hop += 1) {
    const target = targets.get(current);
    if (target === undefined) return current;
    current = target;
  }
  return current;
}

function quote(text: string): string {
  const beginning = text.slice(0, 2 * MAX_QUOTE_LENGTH);
  return JSON.stringify(truncate(stripHiddenCharacters(beginning), MAX_QUOTE_LENGTH));
}
