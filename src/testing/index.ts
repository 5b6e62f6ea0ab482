export type { Fault, FaultTarget } from "./fault.js";
export { FORGOTTEN_SESSION_ANSWERS, type ForgottenSessionAnswer } from "./forgotten-session.js";
export { McpTestServer, type McpTestServerOptions, startMcpTestServer } from "./mcp-test-server.js";
export type { ReceivedRequest } from "./received-request.js";
export type { SessionMode } from "./session-table.js";
export type { Listing } from "./list-page.js";
export type { TestPrompt } from "./test-prompt.js";
export type { TestResource, TestResourceContext, TestResourceTemplate } from "./test-resource.js";
export type { Execution, TestTool, TestToolContext } from "./test-tool.js";
