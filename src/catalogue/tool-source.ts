import type { RequestOptions } from "../client/call-tool.js";
import type { McpToolInfo } from "../definitions/tool-info.js";

/** What the catalogue needs of a client: the one method that lists. */
export interface ToolSource {
  listTools(options?: RequestOptions): Promise<McpToolInfo[]>;
}
