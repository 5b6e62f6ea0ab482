import type { JsonObject } from "../json/json.js";
import type { ToolRule } from "../config/tool-rules.js";
import { toReadable } from "../errors/sanitize-text.js";
import type { ToolParts } from "./tool-runtime.js";

/** What a tool is on its server, as it is known now. */
export interface McpToolDetails {
  readonly server: string;
  /** The server's own name of it, by which it is called. */
  readonly name: string;
  readonly title: string | undefined;
  readonly annotations: JsonObject | undefined;
  readonly icons: readonly JsonObject[] | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  /** How it is treated; the values of hidden arguments are left out. */
  readonly rule: Omit<ToolRule, "args">;
  /** Changes when the input schema does. */
  readonly schemaHash: string;
}

export function detailsOf(parts: ToolParts): McpToolDetails {
  const { server, rule, schema } = parts;
  const { name, annotations, icons, outputSchema } = schema.info;
  const { args: _, ...visibleRule } = rule;
  return {
    server,
    name,
    title: titleOf(parts),
    annotations,
    icons,
    outputSchema,
    rule: visibleRule,
    get inputSchema() {
      return parts.schema.info.inputSchema;
    },
    get schemaHash() {
      return parts.schema.hash();
    },
  };
}

/** What goes with every run and every message of the tool, `more` included. */
export function metadataOf(parts: ToolParts, more: JsonObject): JsonObject {
  const { server, schema } = parts;
  const title = titleOf(parts);
  return {
    tool_type: "mcp",
    display_name: title ?? schema.info.name,
    server,
    annotations: schema.info.annotations,
    title,
    get schema_hash() {
      return parts.schema.hash();
    },
    ...more,
  };
}

function titleOf({ schema }: ToolParts): string | undefined {
  const { title } = schema.info;
  return title === undefined ? undefined : toReadable(title);
}
