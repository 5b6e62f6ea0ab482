import { isJsonObject, type JsonObject } from "../definitions/json.js";
import { type McpToolInfo, parseToolInfo } from "../definitions/tool-info.js";
import { findHostile } from "../stores/sound-json.js";
import { deepFreeze } from "./deep-freeze.js";

const ANY_OBJECT: JsonObject = Object.freeze({ type: "object" });

interface SchemaTexts {
  readonly input: string;
  readonly output: string | undefined;
}

/** As it is kept in a store: with its schemas as text. */
export function toStoredTool(tool: McpToolInfo): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, meta } = tool;
  const schemas = { inputSchema: JSON.stringify(inputSchema), outputSchema: JSON.stringify(outputSchema) };
  return { name, title, description, ...schemas, annotations, icons, _meta: meta };
}

/** What a store gave, read as if it came from a server. */
export function parseStoredTool(value: unknown): McpToolInfo | undefined {
  if (!isJsonObject(value)) return undefined;
  const { inputSchema: input, outputSchema: output } = value;
  if (!isSchemaText(input) || !(output === undefined || isSchemaText(output))) return undefined;
  const parsed = parseToolInfo({ ...value, inputSchema: ANY_OBJECT, outputSchema: undefined });
  return "tool" in parsed ? Object.freeze(new StoredTool(parsed.tool, { input, output })) : undefined;
}

/**
 * A tool whose schemas are read when somebody wants them: those of a thousand tools take longer than
 * all the rest of a list, and few are ever looked at. They are no fields of their own: copy them by name.
 */
class StoredTool implements McpToolInfo {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly annotations: JsonObject | undefined;
  readonly icons: readonly JsonObject[] | undefined;
  readonly meta: JsonObject | undefined;
  readonly #texts: SchemaTexts;
  #inputSchema: JsonObject | undefined;
  #outputSchema: JsonObject | undefined;

  constructor(info: McpToolInfo, texts: SchemaTexts) {
    this.name = info.name;
    this.title = info.title;
    this.description = info.description;
    this.annotations = deepFreeze(info.annotations);
    this.icons = deepFreeze(info.icons);
    this.meta = deepFreeze(info.meta);
    this.#texts = texts;
  }

  get inputSchema(): JsonObject {
    this.#inputSchema ??= parseSchema(this.#texts.input) ?? ANY_OBJECT;
    return this.#inputSchema;
  }

  get outputSchema(): JsonObject | undefined {
    const { output } = this.#texts;
    if (output !== undefined) this.#outputSchema ??= parseSchema(output) ?? ANY_OBJECT;
    return this.#outputSchema;
  }
}

function isSchemaText(value: unknown): value is string {
  return typeof value === "string" && value.startsWith("{") && value.endsWith("}");
}

/** One that cannot be read says nothing about what the tool takes; its server says the rest. */
function parseSchema(text: string): JsonObject | undefined {
  try {
    const schema: unknown = JSON.parse(text);
    const isSound = isJsonObject(schema) && findHostile(schema) === undefined;
    const isOfObject = isSound && (schema["type"] ?? "object") === "object";
    return isOfObject ? deepFreeze(schema) : undefined;
  } catch {
    return undefined;
  }
}
