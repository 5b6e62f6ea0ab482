export { instrumentMcp, type McpInstrumentation, type McpInstrumentationOptions } from "./instrument-mcp.js";
