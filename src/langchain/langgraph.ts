export { McpToolNode, type McpToolNodeOptions } from "./tool-node.js";
