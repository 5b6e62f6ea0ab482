export type { Fault, FaultTarget } from "./fault.js";
export { UNKNOWN_SESSION_RESPONSES, type UnknownSessionResponse, type SessionMode } from "./test-sessions.js";
export { McpTestServer, type McpTestServerOptions, startMcpTestServer } from "./mcp-test-server.js";
export type { ReceivedRequest, InterceptedRequest } from "./http-listener.js";
export type {
  Pagination,
  Execution,
  TestTool,
  TestToolContext,
  TestResource,
  TestResourceContext,
  TestResourceTemplate,
  TestPrompt,
} from "./create-sdk-server.js";
