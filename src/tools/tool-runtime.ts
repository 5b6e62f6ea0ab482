import type { ToolLookup, ToolLookupOptions } from "../catalog/tool-catalog.js";
import type { CallToolOptions, ToolCall } from "../client/call-options.js";
import type { ToolResult } from "../client/tool-result.js";
import type { CancelScope } from "../async/cancel-scope.js";
import type { Semaphore } from "../async/semaphore.js";
import type { JsonObject } from "../json/json.js";
import type { ToolRule } from "../config/tool-rules.js";
import type { ToolSettings } from "./tool-options.js";
import type { ToolSchema } from "./tool-schema.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";

/** The part of a client that a tool needs. */
export interface ToolCaller {
  callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult>;
  /** Cancelled when the toolset is closed. */
  readonly closed?: CancelScope | undefined;
}

/** The part of the catalog that a tool needs: whether the server still lists it. */
export interface ToolLookupSource {
  find(name: string, options: ToolLookupOptions): Promise<ToolLookup>;
}

/** Everything a tool needs to run a call. */
export interface ToolRuntime {
  readonly server: string;
  /** The tool as last seen; replaced when the server has changed it. */
  schema: ToolSchema;
  readonly lookup: ToolLookupSource;
  /** Compare the schema with the server's before each call. */
  readonly refreshSchemaBeforeCall: boolean;
  readonly rule: ToolRule;
  readonly caller: ToolCaller;
  readonly settings: ToolSettings;
  /** The agent's input, for arguments that are taken from it. */
  readonly agentInput: JsonObject;
  /** Whether the server's tool annotations are trusted. */
  readonly trustAnnotations: boolean;
  /** Set by a rule's `maxConcurrent`. */
  readonly semaphore: Semaphore | undefined;
  readonly warn: (message: string) => void;
}

/** An MCP tool as its server describes it, and the rule that applies to it. */
export interface McpToolDetails {
  /** The name of the server. */
  readonly server: string;
  /** The tool's name on the server, which may differ from the LangChain tool's name. */
  readonly name: string;
  readonly title: string | undefined;
  /** The tool annotations of the server, as received. */
  readonly annotations: JsonObject | undefined;
  readonly icons: readonly JsonObject[] | undefined;
  /** The current input schema of the server; models may see a portable version of it. */
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  /** The merged rule for this tool, without `args`: injected values may be secret. */
  readonly rule: Omit<ToolRule, "args">;
  /** A hash of the input schema. */
  readonly schemaHash: string;
}

export function toToolDetails(runtime: ToolRuntime): McpToolDetails {
  const { server, rule, schema } = runtime;
  const { name, annotations, icons, outputSchema } = schema.info;
  const { args: _, ...visibleRule } = rule;
  return {
    server,
    name,
    title: titleOf(runtime),
    annotations,
    icons,
    outputSchema,
    rule: visibleRule,
    get inputSchema() {
      return runtime.schema.info.inputSchema;
    },
    get schemaHash() {
      return runtime.schema.hash();
    },
  };
}

/** Returns the metadata of every run and every message of the tool; `extra` takes precedence. */
export function toToolMetadata(runtime: ToolRuntime, extra: JsonObject): JsonObject {
  const { server, schema } = runtime;
  const title = titleOf(runtime);
  return {
    tool_type: "mcp",
    display_name: title ?? schema.info.name,
    server,
    annotations: schema.info.annotations,
    title,
    get schema_hash() {
      return runtime.schema.hash();
    },
    ...extra,
  };
}

function titleOf({ schema }: ToolRuntime): string | undefined {
  const { title } = schema.info;
  return title === undefined ? undefined : stripHiddenCharacters(title);
}
