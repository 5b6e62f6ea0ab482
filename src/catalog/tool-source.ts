import type { ListToolsOptions, RequestOptions } from "../client/call-options.js";
import type { McpToolInfo } from "../config/tool-info.js";

/** Who wants to know. */
export type Asker = Pick<RequestOptions, "context" | "signal">;

/** What the catalogue needs of a client: to list, and to tell its users apart. */
export interface ToolSource {
  listTools(options?: ListToolsOptions): Promise<McpToolInfo[]>;
  identityOf(asker: Asker): string;
  /** The revision of MCP that the server speaks. It is kept with the list. */
  readonly protocolVersion?: string | undefined;
}
