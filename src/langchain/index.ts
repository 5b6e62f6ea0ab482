export { mcpMiddleware, type McpMiddlewareOptions } from "./mcp-middleware.js";
