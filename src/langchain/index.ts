export { mcpMiddleware, type McpMiddlewareOptions } from "./middleware.js";
