import type { ArgumentProperty } from "../config/argument-property.js";
import { copyUntrusted } from "../json/safe-clone.js";
import { configError } from "../errors/config-error.js";
import { formatPath } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { EVERY_ITEM, type JsonPath, parseJsonPath, READABLE_PATHS } from "../json/json-path.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";
import { editSchemaAt, type SchemaEdit } from "../json-schema/edit-schema.js";
import { type ArgumentSource, fixedValueOf, toSource } from "./argument-value.js";
import { detachReferences } from "../json-schema/inline-root-refs.js";
import { allAt, removeAt, replaceAt, setAt } from "../json/edit-at-path.js";
import { cutText, toJson } from "../json-schema/truncate-json.js";

/** Fills in the arguments that an agent does not leave to the model. */
export interface ArgumentFiller {
  /** There is nothing to fill in. */
  readonly isEmpty: boolean;
  /** The top-level arguments in which something is filled in. */
  readonly filledNames: ReadonlySet<string>;
  /** What the model sees: sensitive arguments are not there, the others that we fill in are pinned. */
  readonly shownSchema: JsonObject;
  /** The arguments as they are sent. */
  readonly fill: (args: JsonObject, agentInput: JsonObject) => JsonObject;
  /** A copy of filled arguments for logs, with `***` for everything sensitive. */
  readonly masked: (args: JsonObject) => JsonObject;
  /** What is sensitive in filled arguments, as it would stand in a text. */
  readonly secretsIn: (args: JsonObject) => readonly string[];
}

interface Entry {
  readonly path: JsonPath;
  readonly property: ArgumentProperty;
  readonly valueFor: ArgumentSource;
}

const MASK = "***";
const LONGEST_NOTE = 500;
const REPLACED = "whatever is given here is replaced.";

/** As for all tools but those of an agent. */
const FILLS_NOTHING: Omit<ArgumentFiller, "shownSchema"> = {
  isEmpty: true,
  filledNames: new Set(),
  fill: (args) => args,
  masked: (args) => asObject(copyOf(args)),
  secretsIn: () => [],
};

/**
 * Reads the properties once, for all calls of a tool. A parent path wins over its children, but for
 * a list that is built of them. A path that cannot be read is an error of kind `definition`.
 */
export function compileArgumentProperties(
  properties: Readonly<Record<string, ArgumentProperty>>,
  inputSchema: JsonObject,
): ArgumentFiller {
  const entries = toEntries(properties);
  if (entries.length === 0) return { ...FILLS_NOTHING, shownSchema: inputSchema };
  const rules = topmost(entries);
  const steps = inOrder(rules);
  const sensitive = entries.filter(({ property }) => property.isSensitive);
  return {
    isEmpty: false,
    filledNames: new Set(entries.map(({ path }) => String(path[0]))),
    shownSchema: toShown(inputSchema, rules, sensitive),
    fill: (args, agentInput) => steps.reduce((filled, step) => applyStep(filled, step, agentInput), args),
    masked: (args) => asObject(copyOf(mask(args, sensitive, 0))),
    secretsIn: (args) => sensitive.flatMap(({ path }) => allAt(args, path).flatMap(textsIn)),
  };
}

function toEntries(properties: Readonly<Record<string, ArgumentProperty>>): Entry[] {
  const issues: ConfigIssue[] = [];
  const entries: Entry[] = [];
  const listed = new Set<string>();
  for (const [key, property] of Object.entries(properties)) {
    const complain = (message: string) =>
      issues.push({ path: formatPath(["argumentProperties", key]), message });
    const path = parseJsonPath(key);
    const valueFor =
      property.variant === "arrayBuilder"
        ? (input: JsonObject) => listFrom(path ?? [], entries, input)
        : toSource(property);
    const place = path?.map((segment) => `${typeof segment}:${String(segment)}`).join("\n") ?? "";
    if (path === undefined || typeof path[0] !== "string")
      complain(`is no path to an argument; allowed are ${READABLE_PATHS}`);
    else if (valueFor === undefined)
      complain(`has an argumentPath that cannot be read; allowed are ${READABLE_PATHS}`);
    else if (listed.has(place)) complain("is written twice, in two spellings");
    else entries.push({ path, property, valueFor });
    listed.add(place);
  }
  if (issues.length > 0) throw configError("A tool of the agent definition", issues);
  return entries;
}

function topmost(entries: readonly Entry[]): Entry[] {
  return entries.filter(({ path }) => !entries.some((other) => isAbove(other.path, path)));
}

function isAbove(parent: JsonPath, path: JsonPath): boolean {
  if (parent.length >= path.length) return false;
  return parent.every((segment, index) => {
    const below = path[index];
    return segment === below || (segment === EVERY_ITEM && typeof below === "number");
  });
}

/**
 * Places with a name come first, so that what they create is there for `[*]`, and once more after
 * it: the more exact path has the last word.
 */
function inOrder(rules: readonly Entry[]): Entry[] {
  const sweeping = rules.filter(({ path }) => path.includes(EVERY_ITEM));
  const exact = rules.filter(({ path }) => !path.includes(EVERY_ITEM));
  return sweeping.length === 0 ? exact : [...exact, ...sweeping, ...exact];
}

/**
 * A list of the entries at `base[0]`, `base[1]` … and below. What has no value leaves a gap. Only those
 * of the very same base: what was meant for one place, and may be a secret there, goes to no other.
 */
function listFrom(base: JsonPath, entries: readonly Entry[], agentInput: JsonObject): unknown {
  const below = entries.filter(
    ({ path }) =>
      base.every((segment, index) => segment === path[index]) && typeof path[base.length] === "number",
  );
  return topmost(below).reduce<unknown>((list, { path, valueFor }) => {
    const place = path.slice(base.length);
    const value = valueFor(agentInput) ?? (place.length === 1 ? null : undefined);
    return value === undefined ? list : setAt(list, place, () => value);
  }, []);
}

function applyStep(
  args: JsonObject,
  { path, property, valueFor }: Entry,
  agentInput: JsonObject,
): JsonObject {
  const value = valueFor(agentInput);
  if (value !== undefined) return asObject(setAt(args, path, () => copyOf(value)));
  // The model cannot see it, so whatever stands there is not for us to send.
  return property.isSensitive ? asObject(removeAt(args, path)) : args;
}

/** `from` is where the value stands: paths count from there. */
function mask(value: unknown, sensitive: readonly Entry[], from: number): unknown {
  return sensitive.reduce((masked, { path }) => replaceAt(masked, path.slice(from), MASK), value);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(textsIn);
  return typeof value === "string" || typeof value === "number" ? [String(value)] : [];
}

function toShown(schema: JsonObject, rules: readonly Entry[], sensitive: readonly Entry[]): JsonObject {
  return rules.reduce((shown, { path, property }) => {
    const below = sensitive.filter((entry) => isAbove(path, entry.path));
    return editSchemaAt(
      shown,
      path,
      toEdit(property, (value) => mask(value, below, path.length)),
    );
  }, detachReferences(schema));
}

function toEdit(property: ArgumentProperty, masked: (value: unknown) => unknown): SchemaEdit {
  if (property.isSensitive) return { type: "hide" };
  if (property.variant === "argument")
    return { type: "note", text: "Taken from the agent's input when it is there: then, " + REPLACED };
  const value = fixedValueOf(property);
  if (value === undefined) return { type: "note", text: `Filled in for you: ${REPLACED}` };
  if (typeof value !== "object" || value === null) return { type: "pin", value };
  const shown = cutText(toJson(masked(value)), LONGEST_NOTE);
  return { type: "note", text: `Always ${shown}: ${REPLACED}` };
}

/** What is sent, shown or logged may be changed by whoever gets it. */
function copyOf(value: unknown): unknown {
  return copyUntrusted(value, { foreign: "keep", maxDepth: Number.POSITIVE_INFINITY }).copy;
}

function asObject(value: unknown): JsonObject {
  return isPlainObject(value) ? value : {};
}
