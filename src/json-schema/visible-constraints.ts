import { printValue } from "../errors/sanitize-text.js";
import { formatPath, truncateJson } from "../json/describe-value.js";
import { type JsonObject, toArray, toObject } from "../json/json.js";
import { toSegments, type ValidationError, type ValuePath } from "./validation-context.js";
import { findMissing } from "./explain-validation.js";
import { LinearPatterns } from "./linear-pattern.js";
import { NOTE_LABELS } from "./read-type-model.js";
import { sanitizeSchema } from "./sanitize-schema.js";
import { SchemaEvaluator } from "./schema-evaluator.js";
import { countTextSteps, isLimitError, StepBudget } from "./step-budget.js";

/** The steps to decide what is readable, about 10 ms: the validation itself may have used most of what a call may take. */
const MAX_STEPS = 100_000;
const STEPS_PER_ERROR = 10;
const VALUES_PER_STEP = 8;

/** Keywords for the items after a tuple. */
const ITEM_KEYWORDS = ["items", "additionalItems", "unevaluatedItems"];

const SAME_PATH = new RegExp(`${NOTE_LABELS.same} (\\S+)\\.$`);

/** The parts of the portable schema about one value. */
interface ShownValue {
  readonly nodes: readonly JsonObject[];
  /** Their descriptions. */
  readonly text: string;
  /** Whether the value itself is shown, and not only one above it. */
  readonly isExact: boolean;
  /** Whether it is shown at another path, so that the portable schema does not reject it here. */
  readonly isRepeated: boolean;
}

/**
 * The constraints that models see in the portable schema of a tool. Only arguments that violate one of these are
 * refused: a model can only correct what it can read.
 *
 * Strict JSON Schema can contradict what a model is shown. With `additionalProperties: false` next to properties that
 * are declared in `allOf` or `then`, an argument "is missing" and "is not allowed" in turn; with overlapping `oneOf`
 * branches, a good value matches too many. In such cases the server decides.
 */
export class VisibleConstraints {
  readonly #root: JsonObject;
  readonly #evaluator: SchemaEvaluator;
  readonly #steps = new StepBudget(MAX_STEPS);
  /** What is shown at the paths of the current errors: those of a union share theirs. */
  readonly #found = new Map<ValuePath | undefined, ShownValue>();

  constructor(portable: JsonObject) {
    this.#root = portable;
    const patterns = new LinearPatterns("run");
    this.#evaluator = new SchemaEvaluator(sanitizeSchema(this.#root, patterns), patterns);
  }

  /**
   * Returns the errors of a value whose constraint is part of the portable schema; else those of that schema itself. All
   * errors are kept if deciding takes too many steps.
   */
  selectReadable(errors: readonly ValidationError[], value: unknown): readonly ValidationError[] {
    const shownErrors: ValidationError[] = [];
    this.#steps.reset();
    try {
      this.#evaluator.collectErrors(value, this.#steps, shownErrors);
      const readable = this.#selectViolated(errors, shownErrors);
      // The portable schema may reject the value for a weaker reason that it does show.
      return readable.length > 0 ? readable : shownErrors;
    } catch (error) {
      if (!isLimitError(error)) throw error;
      return shownErrors.length > 0 ? shownErrors : errors;
    } finally {
      this.#found.clear();
    }
  }

  #selectViolated(errors: readonly ValidationError[], shownErrors: readonly ValidationError[]) {
    const violations = new Set<string>();
    this.#addViolations(shownErrors, violations);
    const isViolated = (error: ValidationError) =>
      this.#toKeys(error).some((key) => violations.has(key)) || this.#find(error.path).isRepeated;
    return this.#select(errors, (error) => isViolated(error) && this.#hasConstraint(error));
  }

  #addViolations(errors: readonly ValidationError[], violations: Set<string>): void {
    for (const error of errors) {
      for (const key of this.#toKeys(error)) violations.add(key);
      for (const branch of error.branches) this.#addViolations(branch, violations);
    }
  }

  /** Identifies the constraint and the value of an error. A missing property has an entry of its own. */
  #toKeys({ keyword, schema, value, path }: ValidationError): string[] {
    const segments = toSegments(path);
    this.#steps.spend(STEPS_PER_ERROR * (1 + segments.length));
    const location = formatPath(segments);
    if (keyword !== "required")
      return (SAME_KEYWORDS[keyword] ?? [keyword]).map((name) => `${name} ${location}`);
    return this.#findMissing(schema, value).map((name) => `required ${JSON.stringify(name)} ${location}`);
  }

  #findMissing(schema: JsonObject, value: unknown): string[] {
    this.#steps.spend(2 * toArray(schema["required"]).length);
    return findMissing("required", schema, value).map(({ name }) => name);
  }

  #select(
    errors: readonly ValidationError[],
    isShown: (error: ValidationError) => boolean,
  ): ValidationError[] {
    return errors.flatMap((error) => {
      if (error.branches.length > 0) return this.#selectUnion(error, isShown);
      if (error.keyword === "required") return this.#selectRequired(error, isShown);
      return (error.keyword === "false" ? this.#isClosed(error) : isShown(error) || this.#isNoted(error))
        ? [error]
        : [];
    });
  }

  /** A union rejects a value if each branch does, for a readable reason. That several match is not refused. */
  #selectUnion(error: ValidationError, isShown: (error: ValidationError) => boolean): ValidationError[] {
    // A constraint of one branch may be merged with those of the others, so that the portable schema accepts the value.
    const branches = error.branches.map((branch) =>
      this.#select(branch, (nested) => isShown(nested) || this.#hasConstraint(nested)),
    );
    return branches.some(({ length }) => length === 0) ? [] : [{ ...error, branches }];
  }

  /** Only the names that the portable schema requires, or mentions in a note. */
  #selectRequired(error: ValidationError, isShown: (error: ValidationError) => boolean): ValidationError[] {
    const { schema, value, path } = error;
    const { text } = this.#find(path);
    const names = this.#findMissing(schema, value).filter(
      (name) => isShown({ ...error, schema: { required: [name] } }) || this.#mentions(text, name),
    );
    return names.length === 0 ? [] : [{ ...error, schema: { ...schema, required: names } }];
  }

  /** Whether the object or tuple at the parent path has no such property or item. */
  #isClosed({ schema, path }: ValidationError): boolean {
    if (path === undefined) return false;
    const { nodes, text, isExact } = this.#find(path.parent);
    const { key } = path;
    this.#steps.spend(STEPS_PER_ERROR + nodes.length);
    if (!isExact || text.includes(NOTE_LABELS.omitted)) return false;
    if (typeof key === "number")
      return ITEM_KEYWORDS.some((keyword) => schema[keyword] === false) && text.includes(NOTE_LABELS.tuple);
    return (
      !nodes.some(({ properties }) => Object.hasOwn(toObject(properties), key)) && !this.#mentions(text, key)
    );
  }

  /** Whether the portable schema has the constraint, though it may accept the value for another reason. */
  #hasConstraint({ keyword, schema, path }: ValidationError): boolean {
    const { nodes, isExact } = this.#find(path);
    if (!isExact) return false;
    this.#steps.spend(STEPS_PER_ERROR + nodes.length);
    if (keyword === "type") {
      const types = new Set([schema["type"]].flat());
      return nodes.some(({ type }) => types.has(type) || (type === "number" && types.has("integer")));
    }
    if (keyword === "required")
      return nodes.some(({ required }) => toArray(required).includes(toArray(schema["required"])[0]));
    if (keyword === "const" || keyword === "enum")
      return nodes.some((node) => valuesOf(schema, keyword).some((value) => this.#isListed(value, node)));
    return nodes.some((node) => node[keyword] !== undefined && node[keyword] === schema[keyword]);
  }

  /** Whether a sentence in the description states the constraint. */
  #isNoted({ keyword, schema, path }: ValidationError): boolean {
    const { text, isExact } = this.#find(path);
    if (text === "") return false;
    this.#steps.spend(STEPS_PER_ERROR + countTextSteps(text));
    if (!isExact) return this.#isNotedAbove(text, keyword, schema);
    const label = (NOTE_LABELS as Readonly<Record<string, string>>)[keyword];
    if (label !== undefined) return text.includes(label);
    if (keyword === "const" || keyword === "enum") return text.includes(NOTE_LABELS.values);
    if (keyword === "dependentRequired" || keyword === "dependencies")
      return Object.values(toObject(schema[keyword])).some((names) =>
        toArray(names).some((name) => this.#mentions(text, printValue(name))),
      );
    const limit = schema[keyword];
    return (typeof limit === "number" || typeof limit === "string") && this.#mentions(text, String(limit));
  }

  /** Whether the description of an object states the type or the values of properties that it does not list. */
  #isNotedAbove(text: string, keyword: string, schema: JsonObject): boolean {
    if (keyword === "const" || keyword === "enum")
      return valuesOf(schema, keyword).some((value) => {
        this.#steps.spend(STEPS_PER_ERROR + countTextSteps(text));
        return text.includes(truncateJson(value));
      });
    const types = keyword === "type" ? [schema["type"]].flat() : [];
    return types.some(
      (type) =>
        this.#mentions(text, printValue(type)) || (type === "integer" && this.#mentions(text, "number")),
    );
  }

  /** Whether a node names a value: in its `enum`, or as its only type. */
  #isListed(value: unknown, { type, enum: values }: JsonObject): boolean {
    const listed = values === undefined ? undefined : toArray(values);
    this.#steps.spend(1 + Math.trunc((listed?.length ?? 0) / VALUES_PER_STEP));
    if (listed !== undefined) return listed.includes(value);
    return (value === null && type === "null") || (typeof value === "boolean" && type === "boolean");
  }

  /** Whether a text has a name or number, not only as a part of another. */
  #mentions(text: string, word: string): boolean {
    if (word === "") return false;
    this.#steps.spend(1 + countTextSteps(text));
    for (let index = text.indexOf(word); index !== -1; index = text.indexOf(word, index + 1)) {
      this.#steps.spend(1);
      if (!isWordCharacter(text[index - 1]) && !isWordCharacter(text[index + word.length])) return true;
    }
    return false;
  }

  /** Returns the variants at a path with their descriptions; those of the nearest value above it if it is not shown. */
  #find(path: ValuePath | undefined): ShownValue {
    const known = this.#found.get(path);
    if (known !== undefined) return known;
    const found = this.#findAt(toSegments(path), (node) => this.#findSame(node));
    this.#found.set(path, found);
    return found;
  }

  #findAt(
    segments: readonly (string | number)[],
    findSame?: (node: JsonObject) => readonly JsonObject[],
  ): ShownValue {
    let nodes = toVariants(this.#root);
    let isExact = true;
    let isRepeated = false;
    for (const segment of segments) {
      const children = nodes.flatMap((node) => toVariants(childOf(node, segment)));
      const same = findSame === undefined ? [] : children.flatMap(findSame);
      const next = [...children, ...same];
      this.#steps.spend(STEPS_PER_ERROR + nodes.length + next.length);
      isRepeated ||= same.length > 0;
      isExact = next.length > 0;
      const container = typeof segment === "number" ? "array" : "object";
      nodes = isExact ? next : nodes.filter(({ type }) => type === undefined || type === container);
      if (!isExact) break;
    }
    const texts = nodes.flatMap(({ description }) => (typeof description === "string" ? description : []));
    const text = texts.join("\n");
    this.#steps.spend(1 + countTextSteps(text));
    return { nodes, text, isExact, isRepeated };
  }

  /**
   * Follows the note of a node that was written in full only where it occurs first. That node does not refer to another
   * one.
   */
  #findSame({ description }: JsonObject): readonly JsonObject[] {
    const [, path] = SAME_PATH.exec(typeof description === "string" ? description : "") ?? [];
    const segments = path?.match(/\[\]|[^.[\]]+/g)?.map((key) => (key === "[]" ? 0 : key));
    const found = segments === undefined ? undefined : this.#findAt(segments);
    return found?.isExact === true ? found.nodes : [];
  }
}

function toVariants(schema: unknown): readonly JsonObject[] {
  if (schema === undefined) return [];
  const node = toObject(schema);
  const { anyOf } = node;
  return anyOf === undefined ? [node] : toArray(anyOf).flatMap(toVariants);
}

function childOf({ properties, items }: JsonObject, segment: string | number): unknown {
  if (typeof segment === "number") return items;
  return Object.hasOwn(toObject(properties), segment) ? toObject(properties)[segment] : undefined;
}

function valuesOf(schema: JsonObject, keyword: "const" | "enum"): readonly unknown[] {
  return keyword === "const" ? [schema["const"]] : toArray(schema["enum"]);
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\w$]/.test(character);
}

/** The portable schema writes `const` as `enum`, and both may be written as a type. */
const SAME_KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  const: ["const", "enum", "type"],
  enum: ["enum", "type"],
};
