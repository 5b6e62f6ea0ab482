export { instrumentMcp, type McpInstrumentation } from "./instrument-mcp.js";
export type { McpInstrumentationOptions } from "./instrumentation-options.js";
