import type { ArgumentProperty } from "./argument-property.js";
import type { JsonObject } from "../json/json.js";

/** A tool as it was saved in an agent, so that nothing has to be asked of the server before a call. */
export interface ToolSnapshot {
  /** The server's own name for it, whatever it looks like. */
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  /** What we fill in ourselves, by a JSONPath into the arguments: `$['user']['name']`. */
  readonly argumentProperties: Readonly<Record<string, ArgumentProperty>>;
}

/**
 * Where the tools of an agent resource come from.
 * - `cached`: the snapshots; `refreshSchemaBeforeCall` compares them with the server before a call.
 * - `dynamic`: the server's own list, cut down to the snapshots' names unless `allowAll`.
 */
export type ToolDiscovery =
  | { readonly type: "cached"; readonly refreshSchemaBeforeCall: boolean }
  | { readonly type: "dynamic"; readonly allowAll: boolean };

/** An MCP server as an agent lists it, checked and complete. */
export interface McpAgentResource {
  readonly name: string;
  readonly description?: string | undefined;
  /** What the platform knows the server by; the name, when nothing else was written. */
  readonly slug: string;
  readonly folderPath?: string | undefined;
  readonly isEnabled: boolean;
  readonly availableTools: readonly ToolSnapshot[];
  readonly discovery: ToolDiscovery;
  /** An inline server definition as it was written. Not checked, and not to be used unless allowed. */
  readonly server?: JsonObject | undefined;
}

export interface ParsedAgent {
  /** The MCP resources, enabled or not, in the order in which they were written. */
  readonly resources: readonly McpAgentResource[];
  /** What was left out, and why, in words for people. */
  readonly warnings: readonly string[];
}
