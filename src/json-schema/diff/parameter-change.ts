import { truncate } from "../../errors/sanitize-text.js";

/**
 * How a parameter changed.
 * - `added`: new and optional
 * - `required`: now required
 * - `removed`: no longer exists
 * - `type`: no longer accepts all previous values
 * - `changed`: anything else, such as the description
 */
export type ParameterChangeKind = "added" | "required" | "removed" | "type" | "changed";

/** A changed parameter of a tool. */
export interface ParameterChange {
  /**
   * The path of the parameter: `city`, or `address.street` if nested. Empty for the arguments as a whole. Long names and paths
   * are truncated.
   */
  readonly parameter: string;
  /** How it changed. */
  readonly what: ParameterChangeKind;
}

/** What happened to a parameter, as the end of a sentence. */
export const CHANGE_TEXTS: Readonly<Record<ParameterChangeKind, string>> = {
  added: "is new",
  required: "is now required",
  removed: "was removed",
  type: "no longer accepts all previous values",
  changed: "has a changed schema",
};

/** Describes a change in a few words. */
export function describeChange({ parameter, what }: ParameterChange): string {
  return `${parameter === "" ? "the schema" : parameter} ${CHANGE_TEXTS[what]}`;
}

/** The changes that make a call invalid that was valid before. */
const BREAKING: ReadonlySet<ParameterChangeKind> = new Set(["required", "removed", "type"]);

export function isBreaking(changes: readonly ParameterChange[]): boolean {
  return changes.some(({ what }) => BREAKING.has(what));
}

const MAX_CHANGES = 200;
/** Every change has a path, in which a server could repeat one name of any length. */
const MAX_NAME_LENGTH = 100;
const MAX_PATH_LENGTH = 500;

/** Adds the name of a value in front of the changes in it. */
export function prefixChanges(name: string, changes: readonly ParameterChange[]): ParameterChange[] {
  const path = truncate(name, MAX_NAME_LENGTH);
  return changes.map(({ parameter, what }) => {
    const separator = parameter === "" || parameter.startsWith("[") ? "" : ".";
    return { parameter: `${path}${separator}${parameter}`, what };
  });
}

/** Keeps the breaking changes if there are too many, and truncates their paths. */
export function limitChanges(changes: readonly ParameterChange[]): readonly ParameterChange[] {
  const isKept = ({ what }: ParameterChange) => BREAKING.has(what);
  const kept =
    changes.length <= MAX_CHANGES
      ? changes
      : [...changes.filter(isKept), ...changes.filter((change) => !isKept(change))].slice(0, MAX_CHANGES);
  return kept.map(({ parameter, what }) => ({ parameter: truncate(parameter, MAX_PATH_LENGTH), what }));
}
