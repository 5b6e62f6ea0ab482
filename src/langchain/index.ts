/** The entry point `langchain-mcp-runtime/langchain`: MCP tools in agents of `createAgent`. */
export { mcpMiddleware, type McpMiddlewareOptions } from "./middleware.js";
export type { DisclosureMode, DisclosureOptions } from "./tool-disclosure.js";
