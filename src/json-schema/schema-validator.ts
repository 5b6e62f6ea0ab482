import { isPlainObject, type JsonObject } from "../json/json.js";
import { NotJsonError, type ValidationError } from "./evaluation.js";
import { describeActualType, explainValidation, type ArgumentIssue } from "./explain-validation.js";
import { LinearPatterns } from "./linear-pattern.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import { SchemaEvaluator } from "./schema-evaluator.js";
import { StepBudget, StepLimitError } from "./step-budget.js";

/** `format` is an annotation in newer drafts; enforcing it would reject what the server accepts. */
const IGNORED_KEYWORDS: ReadonlySet<string> = new Set(["format"]);

/** The steps of a validation, about 30 ms. A result of 1 MB needs about a third of them. */
const MAX_STEPS = 300_000;
/** The steps to find the errors of a value that is known to be invalid, in addition to those until the first one. */
const ADDITIONAL_ERROR_STEPS = 20_000;
const MAX_ERROR_STEPS = 150_000;

interface CompiledSchema {
  readonly sanitized: SanitizedSchema;
  readonly evaluator: SchemaEvaluator;
}

/**
 * Validates arguments or results against the server's original schema, which is compiled on first use. What cannot be
 * checked, such as a pattern with a lookbehind, is accepted with a warning: the server validates in the end.
 *
 * The schema is written by the server, so the work of a validation is limited. Arguments that exceed the limit are
 * rejected, because the server could use them to block the process with every call; results are accepted with a
 * warning.
 */
export class SchemaValidator {
  /** The work of the last validation. */
  readonly steps = new StepBudget(MAX_STEPS);
  readonly #original: JsonObject;
  readonly #subject: "arguments" | "result";
  readonly #warnings: string[] = [];
  #reportedCount = 0;
  #compiled: CompiledSchema | undefined;

  constructor(original: JsonObject, subject: "arguments" | "result" = "arguments") {
    this.#original = original;
    this.#subject = subject;
  }

  /** Returns what is not checked, without what an earlier call has returned. */
  takeWarnings(): string[] {
    const warnings = this.#warnings.slice(this.#reportedCount);
    this.#reportedCount = this.#warnings.length;
    return warnings;
  }

  /** Returns every problem of the value, or an empty array. */
  validate(value: unknown): ArgumentIssue[] {
    if (!isPlainObject(value))
      return [{ path: "", message: `expected an object, got ${describeActualType(value)}` }];
    this.#compiled ??= this.#compile();
    this.steps.reset();
    try {
      return this.#validateJson(value, this.#compiled);
    } catch (error) {
      if (error instanceof NotJsonError) return this.#validateAsJson(value, this.#compiled);
      return this.#handleLimit(error);
    }
  }

  #compile(): CompiledSchema {
    const patterns = new LinearPatterns("run");
    const sanitized = sanitizeSchema(this.#original, patterns, IGNORED_KEYWORDS);
    this.#warnings.push(...sanitized.warnings);
    return { sanitized, evaluator: new SchemaEvaluator(sanitized, patterns) };
  }

  #validateJson(value: unknown, { sanitized, evaluator }: CompiledSchema): ArgumentIssue[] {
    if (evaluator.isValid(value, this.steps)) return [];
    const errors: ValidationError[] = [];
    const maxSteps = Math.min(this.steps.used + ADDITIONAL_ERROR_STEPS, MAX_ERROR_STEPS);
    try {
      evaluator.collectErrors(value, new StepBudget(maxSteps), errors);
    } catch (error) {
      // The errors that were found are explained.
      if (!isLimitError(error)) throw error;
    }
    return explainValidation(errors, sanitized.targets);
  }

  /** Validates what would be sent, for values that are not JSON, such as `undefined`. */
  #validateAsJson(value: JsonObject, compiled: CompiledSchema): ArgumentIssue[] {
    let json: unknown;
    try {
      json = JSON.parse(JSON.stringify(value));
    } catch {
      this.#warn("it cannot be sent as JSON");
      return [];
    }
    try {
      return this.#validateJson(json, compiled);
    } catch (error) {
      return this.#handleLimit(error);
    }
  }

  #handleLimit(error: unknown): ArgumentIssue[] {
    if (!isLimitError(error)) throw error;
    const reason = `evaluating the server's schema for it takes more than ${MAX_STEPS} steps`;
    if (this.#subject === "arguments")
      return [{ path: "", message: `cannot be checked: ${reason}. Try shorter or fewer values.` }];
    this.#warn(reason);
    return [];
  }

  #warn(reason: string): void {
    const subject = this.#subject === "arguments" ? "The arguments are" : "The result is";
    const warning = `${subject} not validated: ${reason}.`;
    if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
  }
}

/** The stack may overflow before the limit is reached, if the caller has used most of it. */
function isLimitError(error: unknown): boolean {
  return error instanceof StepLimitError || error instanceof RangeError;
}
