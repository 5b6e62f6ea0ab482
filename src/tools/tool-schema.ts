import { schemaHash } from "../json-schema/schema-hash.js";
import type { ArgumentProperty } from "../config/argument-property.js";
import type { JsonObject } from "../json/json.js";
import type { McpToolInfo } from "../config/tool-info.js";
import type { ToolRule } from "../config/tool-rules.js";
import { type ArgumentFiller, compileArgumentProperties } from "./argument-injector.js";
import { editSchemaAt } from "../json-schema/edit-schema.js";
import { DefaultArguments } from "../json-schema/apply-defaults.js";
import { detachReferences } from "../json-schema/inline-root-refs.js";
import { ArgumentCheck } from "../json-schema/schema-validator.js";
import { once } from "./lazy.js";
import { toShownSchema } from "../json-schema/portable-schema.js";
import type { ToolSettings } from "./tool-options.js";

interface ToolSchemaParts {
  readonly argumentProperties: Readonly<Record<string, ArgumentProperty>>;
  readonly rule: ToolRule;
  readonly settings: Pick<ToolSettings, "schema">;
  readonly warn: (message: string) => void;
}

/** A tool as its server describes it at one time, and all that follows from it. Made when it is needed. */
export class ToolSchema {
  readonly info: McpToolInfo;
  readonly filler: ArgumentFiller;
  readonly defaults: DefaultArguments;
  readonly inputCheck: ArgumentCheck;
  readonly outputCheck: ArgumentCheck | undefined;
  /** Changes when the input schema does. */
  readonly hash: () => string;
  /** What models see. */
  readonly shown: () => JsonObject;
  readonly #parts: ToolSchemaParts;

  constructor(info: McpToolInfo, parts: ToolSchemaParts) {
    const { inputSchema, outputSchema } = info;
    this.info = info;
    this.#parts = parts;
    this.filler = compileArgumentProperties(parts.argumentProperties, inputSchema);
    this.defaults = new DefaultArguments(inputSchema);
    this.inputCheck = new ArgumentCheck(inputSchema);
    this.outputCheck = outputSchema === undefined ? undefined : new ArgumentCheck(outputSchema);
    this.hash = once(() => schemaHash(inputSchema));
    this.shown = once(() => this.#show());
  }

  /** The same tool, as it is described now. */
  of(info: McpToolInfo): ToolSchema {
    return new ToolSchema(info, this.#parts);
  }

  /** Without what is filled in by us: the model neither sees nor sends it. */
  #show(): JsonObject {
    const { rule, settings, warn } = this.#parts;
    const visible = withoutArguments(this.filler.shownSchema, Object.keys(rule.args ?? {}));
    if (settings.schema === "as-is") return visible;
    const { schema, warnings } = toShownSchema(visible);
    for (const warning of warnings) warn(warning);
    return schema;
  }
}

/** Wherever the schema describes them: at its top, in a part of it, or behind a reference. */
function withoutArguments(schema: JsonObject, hidden: readonly string[]): JsonObject {
  if (hidden.length === 0) return schema;
  return hidden.reduce(
    (shown, name) => editSchemaAt(shown, [name], { type: "hide" }),
    detachReferences(schema),
  );
}
