import { isDeepEqual, type JsonObject } from "../../json/json.js";
import { StepBudget } from "../step-budget.js";
import { isBreaking, type ParameterChange } from "./parameter-change.js";
import { SchemaComparison } from "./schema-comparison.js";

/**
 * `additive`: every call that was valid is still valid, unless it used a parameter that was not declared then. What
 * cannot be decided is `breaking`.
 */
type ChangeSeverity = "none" | "additive" | "breaking";

/** The difference between two versions of a schema. */
export interface SchemaChange {
  readonly severity: ChangeSeverity;
  readonly parameters: readonly ParameterChange[];
}

/**
 * Bounds the work for large and recursive schemas, to about 30 ms more than a plain schema for documents of 1 MB; parameters
 * beyond it are reported as `type`.
 */
const MAX_STEPS = 50_000;

/** Compares the parameters of two versions of a tool. Ignores the order of keys. */
export function compareSchemas(
  before: JsonObject,
  now: JsonObject,
  steps = new StepBudget(MAX_STEPS),
): SchemaChange {
  if (isDeepEqual(before, now)) return { severity: "none", parameters: [] };
  const parameters = new SchemaComparison(before, now, steps).run();
  return { severity: isBreaking(parameters) ? "breaking" : "additive", parameters };
}
