import type { ArgumentProperty, TextToken } from "../config/agent-definition.js";
import { safeClone } from "../json/safe-clone.js";
import { configError, type ConfigIssue } from "../errors/mcp-runtime-error.js";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { formatPath, toJson } from "../json/describe-value.js";
import { isPlainObject, type JsonObject, toObject, walkObjects } from "../json/json.js";
import {
  WILDCARD,
  type JsonPath,
  JsonEditor,
  parseJsonPath,
  SUPPORTED_PATHS,
  getAllAtPath,
  getAtPath,
} from "../json/json-path.js";
import { editSchema, type SchemaEdit } from "../json-schema/edit-schema.js";
import { countTextSteps, StepBudget, tryWithinBudget } from "../json-schema/step-budget.js";
import { truncate } from "../errors/sanitize-text.js";

interface Entry {
  readonly path: JsonPath;
  readonly property: ArgumentProperty;
  readonly getValue: ValueSource;
}

/** Returns the value of an argument for an agent's input, or `undefined` without a value. */
type ValueSource = (agentInput: JsonObject, budget: StepBudget) => unknown;

/**
 * How many values all entries of a tool may create and copy for one call: wildcards, indexes and references to the same
 * value multiply each other. 64 characters of a text count as one value.
 */
const MAX_INJECTED_VALUES = 100_000;

/** What is shown instead of a value that must not be shown. */
export const MASK = "***";
/** A schema with one of these may declare parameters elsewhere. */
const COMPOSITIONS = ["allOf", "anyOf", "oneOf", "if", "$ref", "patternProperties"];
const MAX_NOTE_LENGTH = 500;
/** The largest number of pairs (parameter, injected name) that are compared for a suggestion. */
const MAX_COMPARED_NAMES = 10_000;
const REPLACED = "any value given here is replaced.";

/**
 * Sets the arguments that an agent definition does not leave to the model. A parent path takes precedence over its
 * children, except for an array that is built of them.
 */
export class ArgumentInjector {
  /** Whether there is nothing to inject. */
  readonly isEmpty: boolean;
  /** The top-level arguments that are injected, in full or in part. */
  readonly injectedNames: ReadonlySet<string>;
  /** The schema for the model: sensitive arguments are hidden, other injected ones fixed or annotated. */
  readonly modelSchema: JsonObject;
  /** What was hidden from the model because the input schema is too large. */
  readonly warnings: readonly string[];
  readonly #entries: readonly Entry[];
  readonly #steps: readonly Entry[];
  readonly #sensitive: readonly Entry[];

  /** @throws McpRuntimeError `invalid-config` for an unsupported path */
  constructor(properties: Readonly<Record<string, ArgumentProperty>>, inputSchema: JsonObject) {
    const entries = toEntries(properties);
    const outermost = outermostPaths(entries);
    this.#entries = entries;
    this.isEmpty = entries.length === 0;
    this.injectedNames = new Set(entries.map(({ path }) => String(path[0])));
    this.#steps = sortEntries(outermost);
    this.#sensitive = entries.filter(({ property }) => property.isSensitive);
    const { schema, warnings } = toModelSchema(inputSchema, outermost, this.#sensitive);
    this.modelSchema = schema;
    this.warnings = warnings;
  }

  /**
   * Returns the arguments to send.
   *
   * @throws StepLimitError if the entries create or copy too many values
   */
  inject(args: JsonObject, agentInput: JsonObject): JsonObject {
    const budget = new StepBudget(MAX_INJECTED_VALUES);
    const call: InjectedCall = { agentInput, budget, editor: new JsonEditor(budget) };
    let result: unknown = args;
    for (const step of this.#steps) result = applyEntry(result, step, call);
    return toObject(result);
  }

  /** Describes the injected arguments that are not parameters of the tool: their names are probably misspelled. */
  describeUnknown(inputSchema: JsonObject): string[] {
    const isOpen = COMPOSITIONS.some((keyword) => keyword in inputSchema);
    const { properties } = inputSchema;
    if (isOpen || !isPlainObject(properties)) return [];
    const parameters = Object.keys(properties);
    const isCompared = parameters.length * this.injectedNames.size <= MAX_COMPARED_NAMES;
    return [...this.injectedNames]
      .filter((name) => !Object.hasOwn(properties, name))
      .map((name) => {
        const closest = isCompared ? findClosestMatch(name, parameters) : undefined;
        const hint = closest === undefined ? "" : ` (did you mean "${closest}"?)`;
        return `argumentProperties names "${name}", which is not a parameter of the tool${hint}.`;
      });
  }

  /** Returns the values that the agent's input does not have, each as a sentence with the paths of both. */
  describeMissing(agentInput: JsonObject): string[] {
    return this.#entries.flatMap(({ path, property }) =>
      toInputReferences(property)
        .filter(({ paths }) => paths.every((candidate) => getAtPath(agentInput, candidate) === undefined))
        .map(
          ({ text }) =>
            `${formatPath(path)} is taken from "${text}" of the agent's input, which has no value`,
        ),
    );
  }

  /** Returns a copy of injected arguments for logs, with `***` for sensitive values. */
  mask(args: JsonObject): JsonObject {
    const budget = new StepBudget(MAX_INJECTED_VALUES);
    const masked = tryWithinBudget(() => maskPaths(args, this.#sensitive, 0, budget));
    return toObject(cloneValue(masked ?? maskParameters(args, this.#sensitive)));
  }

  /**
   * Returns the sensitive values of injected arguments as strings, for redaction.
   *
   * @throws StepLimitError if there are too many
   */
  collectSecrets(args: JsonObject): readonly string[] {
    const budget = new StepBudget(MAX_INJECTED_VALUES);
    return this.#sensitive.flatMap(({ path }) =>
      getAllAtPath(args, path, budget).flatMap((value) => {
        const texts = collectTexts(value);
        budget.spend(texts.length);
        return texts;
      }),
    );
  }
}

/** One call into which arguments are injected. */
interface InjectedCall {
  readonly agentInput: JsonObject;
  readonly budget: StepBudget;
  readonly editor: JsonEditor;
}

function toEntries(properties: Readonly<Record<string, ArgumentProperty>>): Entry[] {
  const issues: ConfigIssue[] = [];
  const entries: Entry[] = [];
  const seen = new Set<string>();
  for (const [key, property] of Object.entries(properties)) {
    const addIssue = (message: string) =>
      issues.push({ path: formatPath(["argumentProperties", key]), message });
    const path = parseJsonPath(key);
    const getValue =
      property.variant === "arrayBuilder" ? toArraySource(path ?? [], entries) : toValueSource(property);
    const normalized = path?.map((segment) => `${typeof segment}:${String(segment)}`).join("\n") ?? "";
    if (path === undefined || typeof path[0] !== "string")
      addIssue(`is not a supported argument path; supported: ${SUPPORTED_PATHS}`);
    else if (getValue === undefined)
      addIssue(`has an unsupported argumentPath; supported: ${SUPPORTED_PATHS}`);
    else if (seen.has(normalized))
      addIssue("is a duplicate: another key is the same path in another notation");
    else entries.push({ path, property, getValue });
    seen.add(normalized);
  }
  if (issues.length > 0) throw configError("A tool of the agent definition", issues);
  return entries;
}

function outermostPaths(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ path }) => !entries.some((candidate) => isAncestor(candidate.path, path)));
}

function isAncestor(parent: JsonPath, path: JsonPath): boolean {
  if (parent.length >= path.length) return false;
  for (let index = 0; index < parent.length; index += 1) {
    const segment = parent[index];
    const candidate = path[index];
    if (segment !== candidate && (segment !== WILDCARD || typeof candidate !== "number")) return false;
  }
  return true;
}

/**
 * Exact paths are applied before `[*]` paths, so that the items they create exist, and again after them,
 * because the exact path takes precedence.
 */
function sortEntries(entries: readonly Entry[]): Entry[] {
  const wildcard = entries.filter(({ path }) => path.includes(WILDCARD));
  const exact = entries.filter(({ path }) => !path.includes(WILDCARD));
  return wildcard.length === 0 ? exact : [...exact, ...wildcard, ...exact];
}

/**
 * Builds an array of the entries at `base[0]`, `base[1]` … and below. An entry without a value leaves a gap.
 * Only entries of exactly this base are used: a value, possibly a secret, is never sent in another argument.
 */
function toArraySource(base: JsonPath, entries: readonly Entry[]): ValueSource {
  let items: readonly Entry[] | undefined;
  return (agentInput, budget) => {
    // Not before the first call: `entries` has to be complete.
    items ??= outermostPaths(
      entries.filter(
        ({ path }) =>
          typeof path[base.length] === "number" && base.every((segment, index) => segment === path[index]),
      ),
    );
    const editor = new JsonEditor(budget);
    let array: unknown = [];
    for (const { path, getValue } of items) {
      const relativePath = path.slice(base.length);
      const value = getValue(agentInput, budget) ?? (relativePath.length === 1 ? null : undefined);
      if (value !== undefined) array = editor.set(array, relativePath, () => value);
    }
    return array;
  };
}

function applyEntry(
  args: unknown,
  { path, property, getValue }: Entry,
  { agentInput, budget, editor }: InjectedCall,
): unknown {
  const value = getValue(agentInput, budget);
  if (value !== undefined) return editor.set(args, path, () => copyValue(value, budget));
  // A sensitive argument is hidden from the model, so a value that the model sent for it is removed.
  return property.isSensitive ? editor.remove(args, path) : args;
}

/** `depth` is the number of path segments that lead to `value`. */
function maskPaths(value: unknown, sensitive: readonly Entry[], depth: number, budget: StepBudget): unknown {
  const editor = new JsonEditor(budget);
  let masked = value;
  for (const { path } of sensitive) masked = editor.replace(masked, path.slice(depth), MASK);
  return masked;
}

/** Masks the parameters that have a sensitive value somewhere. */
function maskParameters(args: JsonObject, sensitive: readonly Entry[]): JsonObject {
  const names = new Set<unknown>(sensitive.map(({ path }) => path[0]));
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, names.has(name) ? MASK : value]),
  );
}

/** The strings and numbers in a value, as strings. Names of properties are part of the tool's interface, and not secret. */
export function collectTexts(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(collectTexts);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}

function toModelSchema(
  schema: JsonObject,
  entries: readonly Entry[],
  sensitive: readonly Entry[],
): ReturnType<typeof editSchema> {
  const budget = new StepBudget(MAX_INJECTED_VALUES);
  const edits = entries.map(({ path, property }) => {
    const mask = (value: unknown) => {
      const descendants = sensitive.filter((entry) => isAncestor(path, entry.path));
      return tryWithinBudget(() => maskPaths(value, descendants, path.length, budget));
    };
    return { path, edit: toEdit(property, mask) };
  });
  return editSchema(schema, edits);
}

function toEdit(property: ArgumentProperty, mask: (value: unknown) => unknown): SchemaEdit {
  if (property.isSensitive) return { type: "hide" };
  if (property.variant === "argument")
    return { type: "annotate", text: `Taken from the agent's input if present there: then ${REPLACED}` };
  const value = staticValue(property);
  if (value === undefined) return { type: "annotate", text: `Set automatically: ${REPLACED}` };
  if (typeof value !== "object" || value === null) return { type: "fix", value };
  const masked = mask(value);
  if (masked === undefined) return { type: "annotate", text: `Set automatically: ${REPLACED}` };
  const json = truncate(toJson(masked), MAX_NOTE_LENGTH);
  return { type: "annotate", text: `Always ${json}: ${REPLACED}` };
}

/** Copies a value for a call. The same value may be used in any number of places. */
function copyValue(value: unknown, budget: StepBudget): unknown {
  budget.spend(countSteps(value));
  return cloneValue(value);
}

/** The steps that it takes to copy a value. Not recursive, because it may be nested deeply. */
function countSteps(value: unknown): number {
  if (typeof value === "string") return countTextSteps(value);
  if (typeof value !== "object" || value === null) return 0;
  let steps = 0;
  for (const node of walkObjects(value))
    for (const child of Object.values(node) as unknown[])
      steps += 1 + (typeof child === "string" ? countTextSteps(child) : 0);
  return steps;
}

/** Copies a value, so that changes to what is sent, shown or logged do not affect the definition. */
function cloneValue(value: unknown): unknown {
  return safeClone(value, { nonJson: "preserve", maxDepth: Number.POSITIVE_INFINITY }).copy;
}

/** Returns `undefined` for an unsupported `argumentPath`. */
function toValueSource(
  property: Exclude<ArgumentProperty, { variant: "arrayBuilder" }>,
): ValueSource | undefined {
  switch (property.variant) {
    case "static":
      return () => property.value;
    case "argument": {
      const path = parseJsonPath(property.argumentPath);
      return path === undefined ? undefined : (input) => getAtPath(input, path);
    }
    case "textBuilder": {
      const renderers = property.tokens.map(toTokenRenderer);
      return (input, budget) =>
        renderers
          .map((render) => {
            const text = render(input);
            budget.spend(1 + countTextSteps(text));
            return text;
          })
          .join("");
    }
  }
}

/** The values of the agent's input that a property is made of, as written in the definition. */
function toInputReferences(property: ArgumentProperty): { text: string; paths: JsonPath[] }[] {
  if (property.variant === "argument") {
    const { argumentPath: text } = property;
    return [{ text, paths: [parseJsonPath(text) ?? []] }];
  }
  if (property.variant !== "textBuilder") return [];
  const variables = property.tokens.filter(({ type }) => type === "variable");
  return variables.map(({ rawString }) => ({
    text: rawString.trim(),
    paths: agentInputPaths(rawString.trim()),
  }));
}

/** Returns the value if it does not depend on the agent's input. */
function staticValue(property: ArgumentProperty): unknown {
  if (property.variant === "static") return property.value;
  if (property.variant !== "textBuilder") return undefined;
  const isStatic = property.tokens.every(({ type }) => type !== "variable");
  return isStatic ? property.tokens.map(({ rawString }) => rawString).join("") : undefined;
}

/** Expression tokens are not evaluated, neither here nor by the platform they come from: they are literal text. */
function toTokenRenderer({ type, rawString }: TextToken): (input: JsonObject) => string {
  if (type !== "variable") return () => rawString;
  const paths = agentInputPaths(rawString.trim());
  return (input) => {
    const values = paths.map((path) => getAtPath(input, path));
    return toText(values.find((value) => value !== undefined));
  };
}

/** `input` is the whole input; `input.user.name` and `user.name` are the same path in it. */
function agentInputPaths(variable: string): JsonPath[] {
  const withoutPrefix = variable.replace(/^input(?:\.|(?=\[)|$)/i, "");
  if (withoutPrefix === "") return [[]];
  return [...new Set([withoutPrefix, variable])].map((text) => parseJsonPath(text) ?? text.split("."));
}

/** Strings as they are, other values as JSON, `null` and `undefined` as an empty string. */
function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // Cyclic, or nested too deeply for the stack.
    return "";
  }
}
