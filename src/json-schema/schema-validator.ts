import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { compileFastCheck } from "./compile-fast-check.js";
import { describeActualType, explainValidation, type ArgumentIssue } from "./explain-validation.js";
import { sanitizeSchema, type SanitizedSchema } from "./sanitize-schema.js";
import { resolveRef } from "./resolve-ref.js";

/** `format` is an annotation in newer drafts; enforcing it would reject what the server accepts. */
const IGNORED_KEYWORDS: ReadonlySet<string> = new Set(["format"]);

interface CompiledSchema {
  readonly schema: JsonObject;
  readonly validator: Validator | undefined;
  readonly fastCheck: ReturnType<typeof compileFastCheck>;
}

/**
 * Validates arguments against the server's original schema, which is compiled on first use. What cannot be
 * checked is accepted with a warning: the server validates in the end.
 */
export class SchemaValidator {
  readonly #original: JsonObject;
  readonly #warnings: string[] = [];
  #reportedCount = 0;
  #compiled: CompiledSchema | undefined;

  constructor(original: JsonObject) {
    this.#original = original;
  }

  /** Returns what is not checked, without what an earlier call has returned. */
  takeWarnings(): string[] {
    const warnings = this.#warnings.slice(this.#reportedCount);
    this.#reportedCount = this.#warnings.length;
    return warnings;
  }

  /** Returns every problem of the arguments, or an empty array. */
  validate(args: unknown): ArgumentIssue[] {
    this.#compiled ??= this.#compile();
    const { schema, validator, fastCheck } = this.#compiled;
    if (!isPlainObject(args))
      return [{ path: "", message: `expected an object, got ${describeActualType(args)}` }];
    if (fastCheck?.(args) === true) return [];
    const errors = validator === undefined ? [] : this.#runValidator(validator, args);
    return errors.length === 0 ? [] : explainValidation(errors, { schema, args });
  }

  #compile(): CompiledSchema {
    const sanitized = sanitizeSchema(this.#original, IGNORED_KEYWORDS);
    this.#warnings.push(...sanitized.warnings);
    const { schema } = sanitized;
    if (exceedsCombinationLimit(sanitized)) {
      this.#warn("evaluating its combined schemas would take too long");
      return { schema, validator: undefined, fastCheck: undefined };
    }
    try {
      const validator = new Validator(schema, sanitized.draft, false);
      return { schema, validator, fastCheck: compileFastCheck(schema) };
    } catch {
      this.#warn("the validator cannot compile the schema");
      return { schema, validator: undefined, fastCheck: undefined };
    }
  }

  #runValidator(validator: Validator, args: JsonObject): OutputUnit[] {
    try {
      return validator.validate(args).errors;
    } catch {
      return this.#runValidatorOnJson(validator, args);
    }
  }

  /** Validates what would be sent, for arguments with values that are not JSON, such as a BigInt. */
  #runValidatorOnJson(validator: Validator, args: JsonObject): OutputUnit[] {
    try {
      return validator.validate(JSON.parse(JSON.stringify(args))).errors;
    } catch {
      this.#warn("the validator failed on the schema");
      return [];
    }
  }

  #warn(reason: string): void {
    const warning = `Arguments are not validated: ${reason}.`;
    if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
  }
}

/** Checks of one value. A handwritten schema needs a few dozen. */
const MAX_CHECKS = 5_000;
const MAX_CHAIN_LENGTH = 300;

/**
 * Whether one value could be checked thousands of times or forever: nested unions of references double with every
 * level, and a reference may be circular.
 */
function exceedsCombinationLimit({ schema: root, nodes }: SanitizedSchema): boolean {
  const counts = new Map<JsonObject, number>();

  function countChecks(schema: unknown, chain: number): number {
    if (!isPlainObject(schema)) return 1;
    const counted = counts.get(schema);
    if (counted !== undefined) return counted;
    // Until it is counted, a schema that refers to itself counts as infinite.
    counts.set(schema, Infinity);
    const inPlace =
      chain > MAX_CHAIN_LENGTH
        ? [Infinity]
        : inPlaceSubschemas(schema, root).map((subschema) => countChecks(subschema, chain + 1));
    const checks = inPlace.reduce((sum, count) => sum + count, 1);
    counts.set(schema, checks);
    return checks;
  }

  return nodes.some((node) => countChecks(node, 0) > MAX_CHECKS);
}

/** Subschemas that apply to the same value. */
function inPlaceSubschemas(schema: JsonObject, root: JsonObject): unknown[] {
  const lists = ["allOf", "anyOf", "oneOf"].map((keyword) => schema[keyword]).filter(Array.isArray);
  const maps = ["dependentSchemas", "dependencies"].map((keyword) => schema[keyword]).filter(isPlainObject);
  const singles = ["not", "if", "then", "else"].map((keyword) => schema[keyword]);
  const { $ref } = schema;
  const target = typeof $ref === "string" ? resolveRef($ref, root) : undefined;
  return [...lists.flat(), ...maps.flatMap((map) => Object.values(map)), ...singles, target].filter(
    isPlainObject,
  );
}
