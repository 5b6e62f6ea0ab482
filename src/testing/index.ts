export type { Fault, FaultTarget } from "./fault.js";
export { FORGOTTEN_SESSION_ANSWERS, type ForgottenSessionAnswer } from "./forgotten-session.js";
export {
  McpTestServer,
  type McpTestServerOptions,
  type ReceivedRequest,
  startMcpTestServer,
} from "./mcp-test-server.js";
export type { SessionMode } from "./session-table.js";
export type { Execution, Listing, TestTool, TestToolContext } from "./test-tool.js";
