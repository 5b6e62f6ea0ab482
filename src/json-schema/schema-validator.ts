import { Validator, type OutputUnit } from "@cfworker/json-schema";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { toCertainFit } from "./fast-check.js";
import { explainFailure, type ArgumentIssue } from "./explain-validation.js";
import { hasRunawayCombinations } from "./combination-limit.js";
import { toSoundSchema } from "./sanitize-schema.js";

export type { ArgumentIssue } from "./explain-validation.js";

/** The newer drafts make `format` a remark; a check would refuse what the server takes. */
const NOT_ENFORCED: ReadonlySet<string> = new Set(["format"]);

interface Prepared {
  readonly schema: JsonObject;
  readonly validator: Validator | undefined;
  readonly fits: ReturnType<typeof toCertainFit>;
}

/**
 * Holds arguments against the schema that the server wrote. The schema is prepared on first use and
 * kept. What cannot be checked is let through with a warning: the server has the last word.
 */
export class ArgumentCheck {
  readonly #original: JsonObject;
  readonly #warnings: string[] = [];
  #told = 0;
  #prepared: Prepared | undefined;

  constructor(original: JsonObject) {
    this.#original = original;
  }

  /** Each warning once, to whoever asks first. */
  newWarnings(): string[] {
    const fresh = this.#warnings.slice(this.#told);
    this.#told = this.#warnings.length;
    return fresh;
  }

  /** What was left out of the check; complete after the first call of `issuesOf`. */
  get warnings(): string[] {
    return [...this.#warnings];
  }

  /** Every problem that the arguments have, or an empty list. */
  issuesOf(args: unknown): ArgumentIssue[] {
    this.#prepared ??= this.#prepare();
    const { schema, validator, fits } = this.#prepared;
    if (!isPlainObject(args)) return explainFailure({ schema, args, errors: [] });
    if (fits?.(args) === true) return [];
    const errors = validator === undefined ? [] : this.#errorsOf(validator, args);
    return errors.length === 0 ? [] : explainFailure({ schema, args, errors });
  }

  #prepare(): Prepared {
    const sound = toSoundSchema(this.#original, NOT_ENFORCED);
    this.#warnings.push(...sound.warnings);
    const { schema } = sound;
    if (hasRunawayCombinations(sound)) {
      this.#warn("its combinations of schemas would take too long");
      return { schema, validator: undefined, fits: undefined };
    }
    try {
      const validator = new Validator(schema, sound.draft, false);
      return { schema, validator, fits: toCertainFit(schema) };
    } catch {
      this.#warn("the validator cannot read its schema");
      return { schema, validator: undefined, fits: undefined };
    }
  }

  #errorsOf(validator: Validator, args: JsonObject): OutputUnit[] {
    try {
      return validator.validate(args).errors;
    } catch {
      return this.#errorsOfJson(validator, args);
    }
  }

  /** `undefined`, a BigInt and the like are no JSON: what counts is what would be sent. */
  #errorsOfJson(validator: Validator, args: JsonObject): OutputUnit[] {
    try {
      return validator.validate(JSON.parse(JSON.stringify(args))).errors;
    } catch {
      this.#warn("the validator failed on its schema");
      return [];
    }
  }

  #warn(reason: string): void {
    const warning = `Arguments are not checked: ${reason}.`;
    if (!this.#warnings.includes(warning)) this.#warnings.push(warning);
  }
}
