import { isJsonObject, type JsonObject } from "./json.js";

/** A tool as its server describes it. */
export interface McpToolInfo {
  /** The server's own name for it, whatever it looks like. */
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly annotations?: JsonObject | undefined;
  readonly icons?: readonly JsonObject[] | undefined;
  readonly meta?: JsonObject | undefined;
}

export type ParsedTool = { readonly tool: McpToolInfo } | { readonly problem: string };

/** Lenient: what is of no use is left out, and only a tool that cannot be called is a problem. */
export function parseToolInfo(value: unknown): ParsedTool {
  if (!isJsonObject(value)) return { problem: "is not an object" };
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (!isObjectSchema(inputSchema)) return { problem: "has no inputSchema that describes an object" };
  const tool: { -readonly [Field in keyof McpToolInfo]: McpToolInfo[Field] } = { name, inputSchema };
  const shownTitle =
    ifString(title) ?? ifString(isJsonObject(annotations) ? annotations["title"] : undefined);
  if (shownTitle !== undefined) tool.title = shownTitle;
  if (typeof description === "string") tool.description = description;
  if (isObjectSchema(outputSchema)) tool.outputSchema = outputSchema;
  if (isJsonObject(annotations)) tool.annotations = annotations;
  if (Array.isArray(icons)) tool.icons = icons.filter(isJsonObject);
  if (isJsonObject(_meta)) tool.meta = _meta;
  return { tool };
}

function ifString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isObjectSchema(value: unknown): value is JsonObject {
  return isJsonObject(value) && (value["type"] === undefined || value["type"] === "object");
}
