/** The entry point `langchain-mcp-runtime/langgraph`: MCP tools in LangGraph graphs. */
export { McpToolNode, type McpToolNodeOptions } from "./tool-node.js";
