import type { ArgumentProperty } from "./argument-property.js";
import type { JsonObject } from "../../json/json.js";

/** Accepts the listed values and, for JSON imported as a module, any string. */
type AnyOf<Values extends string> = Values | (string & {});

/** A tool snapshot as written in an agent definition. Keys may also be written in snake case. */
export interface AgentTool {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: JsonObject | undefined;
  readonly outputSchema?: JsonObject | undefined;
  /** Arguments that the library injects, by a JSONPath into the arguments: `$['user']['name']`. */
  readonly argumentProperties?: Readonly<Record<string, JsonObject>> | undefined;
  readonly [key: string]: unknown;
}

/** A resource of an agent definition. Resources of other types than `mcp` are ignored. */
export interface AgentResource {
  readonly $resourceType?: AnyOf<"mcp"> | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /**
   * The id of the server on its platform.
   * @default the name
   */
  readonly slug?: string | undefined;
  readonly folderPath?: string | undefined;
  /** @default true */
  readonly isEnabled?: boolean | undefined;
  readonly availableTools?: readonly AgentTool[] | undefined;
  readonly toolsConfiguration?: {
    readonly discoveryMode?: {
      /** @default "cached" */
      readonly type?: AnyOf<"cached" | "dynamic"> | undefined;
      /** @default true */
      readonly refreshSchemaBeforeCall?: boolean | undefined;
      /** @default false */
      readonly allowAll?: boolean | undefined;
    };
    readonly [key: string]: unknown;
  };
  /** An inline server definition. Used only with `allowInlineServers`. */
  readonly server?: JsonObject | undefined;
  readonly [key: string]: unknown;
}

/**
 * An agent definition: the JSON that `createMcpToolsFromAgent` accepts. Keys that are not listed here are
 * ignored.
 */
export interface AgentDefinition {
  readonly name?: string | undefined;
  readonly resources?: readonly AgentResource[] | undefined;
  readonly [key: string]: unknown;
}

/** A tool as saved in an agent definition, so that the server need not be contacted before the first call. */
export interface ToolSnapshot {
  /** The name on the server, unchanged. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  /** Arguments that the library injects, by a JSONPath into the arguments: `$['user']['name']`. */
  readonly argumentProperties: Readonly<Record<string, ArgumentProperty>>;
}

/**
 * Where the tools of an agent resource come from.
 * - `cached`: the snapshots; `refreshSchemaBeforeCall` compares them with the server before a call.
 * - `dynamic`: the server's list, restricted to the names of the snapshots unless `allowAll`.
 */
export type ToolDiscovery =
  | { readonly type: "cached"; readonly refreshSchemaBeforeCall: boolean }
  | { readonly type: "dynamic"; readonly allowAll: boolean };

/** An MCP resource of an agent definition, validated and with its defaults filled in. */
export interface McpAgentResource {
  readonly name: string;
  readonly description?: string | undefined;
  /** The id of the server on its platform. Defaults to the name. */
  readonly slug: string;
  readonly folderPath?: string | undefined;
  readonly isEnabled: boolean;
  readonly availableTools: readonly ToolSnapshot[];
  readonly discovery: ToolDiscovery;
  /** An inline server definition, unvalidated. Only used when inline servers are allowed. */
  readonly server?: JsonObject | undefined;
}

/** The result of `parseAgent`. */
export interface ParsedAgent {
  /** All MCP resources in their original order, including disabled ones. */
  readonly resources: readonly McpAgentResource[];
  /** Human-readable descriptions of what was ignored. */
  readonly warnings: readonly string[];
}
