/** The entry point `langchain-mcp-runtime/langgraph`: MCP tools in LangGraph graphs. */
export { loadedToolsState, McpToolNode, type McpToolNodeOptions } from "./tool-node.js";
export {
  createToolDisclosure,
  type DisclosedTool,
  type DisclosureMode,
  type DisclosureOptions,
  type McpToolDisclosure,
  type ProviderTool,
  type ToolDisclosureOptions,
} from "./tool-disclosure.js";
