export type { Fault, FaultTarget } from "./fault.js";
export { UNKNOWN_SESSION_RESPONSES, type UnknownSessionResponse } from "./unknown-session.js";
export { McpTestServer, type McpTestServerOptions, startMcpTestServer } from "./mcp-test-server.js";
export type { ReceivedRequest, InterceptedRequest } from "./received-request.js";
export type { SessionMode } from "./test-sessions.js";
export type { Pagination } from "./paginate.js";
export type { TestPrompt } from "./test-prompt.js";
export type { TestResource, TestResourceContext, TestResourceTemplate } from "./test-resource.js";
export type { Execution, TestTool, TestToolContext } from "./test-tool.js";
