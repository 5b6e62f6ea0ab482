import { schemaHash } from "../json-schema/schema-hash.js";
import type { ArgumentProperty } from "../config/agent-definition.js";
import { cloneJson, deepFreeze, type JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/server-features.js";
import type { ToolRule } from "../config/tool-rules.js";
import { ArgumentInjector } from "./argument-injector.js";
import { editSchema } from "../json-schema/edit-schema.js";
import { DefaultsApplier } from "../json-schema/defaults-applier.js";
import { SchemaValidator } from "../json-schema/schema-validator.js";
import { toPortableSchema } from "../json-schema/portable-schema.js";
import { addDescriptionRest, type ToolDescription } from "./tool-description.js";
import type { ToolSettings } from "./tool-options.js";

const HIDE = { type: "hide" } as const;

interface ToolSchemaOptions {
  readonly argumentProperties: Readonly<Record<string, ArgumentProperty>>;
  readonly rule: ToolRule;
  readonly settings: Pick<ToolSettings, "schema">;
  /** Whether the server's tool annotations are trusted. */
  readonly trustAnnotations: boolean;
  readonly description: ToolDescription;
  readonly warn: (message: string) => void;
}

/** One version of a server's tool description, with the schemas and validators derived from it. */
export class ToolSchema {
  readonly info: McpToolInfo;
  readonly injector: ArgumentInjector;
  readonly defaults: DefaultsApplier;
  readonly inputValidator: SchemaValidator;
  readonly outputValidator: SchemaValidator | undefined;
  /** Whether a trusted server declares that the tool changes nothing. */
  readonly isReadOnly: boolean;
  /** Whether the tool may run twice. The user's rule takes precedence over the server's annotations. */
  readonly isIdempotent: boolean;
  readonly #options: ToolSchemaOptions;
  #hash: string | undefined;
  #modelSchema: JsonObject | undefined;

  constructor(info: McpToolInfo, options: ToolSchemaOptions) {
    const { inputSchema, outputSchema } = info;
    this.info = info;
    this.#options = options;
    this.injector = new ArgumentInjector(options.argumentProperties, inputSchema);
    this.defaults = new DefaultsApplier(inputSchema);
    this.inputValidator = new SchemaValidator(inputSchema, "arguments", () => this.#toPortableInput());
    this.outputValidator =
      outputSchema === undefined ? undefined : new SchemaValidator(outputSchema, "result");
    const { idempotentHint, readOnlyHint } = (options.trustAnnotations && info.annotations) || {};
    this.isReadOnly = readOnlyHint === true;
    this.isIdempotent = options.rule.idempotent ?? (idempotentHint === true || readOnlyHint === true);
  }

  /** Kept when the server changes its tool: LangChain reads the description of a tool once. */
  get description(): ToolDescription {
    return this.#options.description;
  }

  /** A hash of the input schema. */
  hash(): string {
    return (this.#hash ??= schemaHash(this.info.inputSchema));
  }

  /** The input schema that models see, without injected arguments. */
  modelSchema(): JsonObject {
    // Copied before it is frozen: parts of it may belong to an agent definition of the user.
    return (this.#modelSchema ??= deepFreeze(cloneJson(this.#toModelSchema())));
  }

  /** The same tool with a newer description. */
  withInfo(info: McpToolInfo): ToolSchema {
    return new ToolSchema(info, this.#options);
  }

  /** The portable schema with all arguments: the one that models see, unless some are hidden from them. */
  #toPortableInput(): JsonObject {
    const { rule, settings } = this.#options;
    const isComplete = this.injector.isEmpty && Object.keys(rule.args ?? {}).length === 0;
    if (isComplete && settings.schema === "portable") return this.modelSchema();
    return toPortableSchema(this.info.inputSchema).schema;
  }

  #toModelSchema(): JsonObject {
    const { rule, settings, description, warn } = this.#options;
    const edits = Object.keys(rule.args ?? {}).map((name) => ({ path: [name], edit: HIDE }));
    // Wherever the schema declares them: at the root, in a subschema, or behind a `$ref`.
    const visible = editSchema(this.injector.modelSchema, edits);
    const isPortable = settings.schema === "portable";
    const { schema, warnings } = isPortable
      ? toPortableSchema(visible.schema)
      : { schema: visible.schema, warnings: [] };
    const described = addDescriptionRest(isPortable ? schema : {}, description);
    for (const warning of [
      ...this.injector.warnings,
      ...visible.warnings,
      ...warnings,
      ...described.warnings,
    ])
      warn(warning);
    return isPortable ? described.schema : schema;
  }
}
