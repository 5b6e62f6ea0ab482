export { McpToolNode, type McpToolNodeOptions } from "./mcp-tool-node.js";
