import { type ConfigIssue, configError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { NotJsonError, type ValidationError } from "./validation-context.js";
import {
  describeActualType,
  describeConstraint,
  explainValidation,
  type ArgumentIssue,
} from "./explain-validation.js";
import { LinearPatterns } from "./linear-pattern.js";
import { toPortableSchema } from "./portable-schema.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import { SchemaEvaluator } from "./schema-evaluator.js";
import { VisibleConstraints } from "./visible-constraints.js";
import { isLimitError, StepBudget } from "./step-budget.js";

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
 * checked, such as a pattern with a lookbehind, is accepted with a warning: the server validates in the end. So are
 * arguments that violate only what the portable schema does not show.
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
  readonly #toPortable: (original: JsonObject) => JsonObject;
  readonly #warnings: string[] = [];
  #reportedCount = 0;
  #compiled: CompiledSchema | undefined;
  #shown: VisibleConstraints | undefined;
  #hasUnreadable = false;

  /** `toPortable` returns what a model sees of the schema, if that is known already. */
  constructor(
    original: JsonObject,
    subject: "arguments" | "result" = "arguments",
    toPortable = (schema: JsonObject) => toPortableSchema(schema).schema,
  ) {
    this.#original = original;
    this.#subject = subject;
    this.#toPortable = toPortable;
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
    try {
      const errors = this.findErrors(value);
      return errors === undefined ? [] : explainValidation(errors, this.#getCompiled().sanitized.targets);
    } catch (error) {
      return this.#handleLimit(error);
    }
  }

  /**
   * Returns the errors of a value that may be refused; `undefined` if it is valid. There may be none of an invalid value
   * whose evaluation exceeds the limit.
   *
   * @throws StepLimitError
   */
  findErrors(value: JsonObject): readonly ValidationError[] | undefined {
    this.steps.reset();
    try {
      return this.#findErrors(value);
    } catch (error) {
      if (!(error instanceof NotJsonError)) throw error;
      // What would be sent: without values such as `undefined`.
      const json = toSentJson(value);
      if (json === undefined) this.#warn("it cannot be sent as JSON");
      return json === undefined ? undefined : this.#findErrors(json);
    }
  }

  #getCompiled(): CompiledSchema {
    return (this.#compiled ??= this.#compile());
  }

  #compile(): CompiledSchema {
    const patterns = new LinearPatterns("run");
    const sanitized = sanitizeSchema(this.#original, patterns);
    this.#warnings.push(...sanitized.warnings);
    return { sanitized, evaluator: new SchemaEvaluator(sanitized, patterns) };
  }

  #findErrors(value: unknown): readonly ValidationError[] | undefined {
    const { evaluator } = this.#getCompiled();
    if (evaluator.isValid(value, this.steps)) return undefined;
    const errors: ValidationError[] = [];
    const maxSteps = Math.min(this.steps.used + ADDITIONAL_ERROR_STEPS, MAX_ERROR_STEPS);
    try {
      evaluator.collectErrors(value, new StepBudget(maxSteps), errors);
    } catch (error) {
      // The errors that were found are explained.
      if (!isLimitError(error)) throw error;
    }
    const readable = this.#selectReadable(errors, value);
    return readable.length === 0 && errors.length > 0 ? undefined : readable;
  }

  /** Arguments are refused only for what the model can read. Otherwise the server decides. */
  #selectReadable(errors: readonly ValidationError[], value: unknown): readonly ValidationError[] {
    if (this.#subject === "result") return errors;
    this.#shown ??= new VisibleConstraints(this.#toPortable(this.#original));
    const readable = this.#shown.selectReadable(errors, value);
    const [error] = errors;
    if (readable.length === 0 && error !== undefined) this.#warnUnreadable(error);
    return readable;
  }

  #warnUnreadable(error: ValidationError): void {
    if (this.#hasUnreadable) return;
    this.#hasUnreadable = true;
    this.#warnings.push(
      `Arguments that the input schema rejects were sent, because the schema that models see does not show the constraint (${describeConstraint(error)}). The server decides.`,
    );
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

/**
 * Validates arguments against the input schema of a tool, as a call does. Returns every problem, or an empty array.
 *
 * @throws McpRuntimeError `invalid-config` if the schema is not an object
 *
 * @example
 * ```ts
 * const issues = validateArguments(tool.mcp.inputSchema, { days: "three" });
 * // [{ path: "days", message: 'expected a number, got a string ("three")' }]
 * ```
 */
export function validateArguments(schema: JsonObject, args: unknown): ConfigIssue[] {
  if (isPlainObject(schema)) return new SchemaValidator(schema).validate(args);
  const message = `expected an object, got ${describeActualType(schema)}`;
  throw configError("The schema for validateArguments", [{ path: "", message }]);
}

function toSentJson(value: JsonObject): JsonObject | undefined {
  try {
    return JSON.parse(JSON.stringify(value)) as JsonObject;
  } catch {
    return undefined;
  }
}
