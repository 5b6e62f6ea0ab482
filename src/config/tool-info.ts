import { isPlainObject, type JsonObject } from "../json/json.js";

/** A tool as listed by its server. */
export interface McpToolInfo {
  /** The name on the server, unchanged. */
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

/** Lenient: invalid optional fields are dropped; only a tool that cannot be called is a problem. */
export function parseToolInfo(value: unknown): ParsedTool {
  if (!isPlainObject(value)) return { problem: "is not an object" };
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = value;
  if (typeof name !== "string") return { problem: "has no name" };
  if (!isObjectSchema(inputSchema)) return { problem: "has no inputSchema that describes an object" };
  const optional: Partial<McpToolInfo> = {
    title:
      optionalString(title) ?? optionalString(isPlainObject(annotations) ? annotations["title"] : undefined),
    description: optionalString(description),
    outputSchema: isObjectSchema(outputSchema) ? outputSchema : undefined,
    annotations: isPlainObject(annotations) ? annotations : undefined,
    icons: Array.isArray(icons) ? icons.filter(isPlainObject) : undefined,
    meta: isPlainObject(_meta) ? _meta : undefined,
  };
  const tool: Record<string, unknown> & McpToolInfo = { name, inputSchema };
  for (const key in optional) {
    const field = optional[key as keyof McpToolInfo];
    if (field !== undefined) tool[key] = field;
  }
  return { tool };
}

function optionalString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function isObjectSchema(value: unknown): value is JsonObject {
  return isPlainObject(value) && (value["type"] === undefined || value["type"] === "object");
}
