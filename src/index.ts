export type {
  CallOutcome,
  CallToolOptions,
  CallToolsOptions,
  RequestOptions,
  ToolCall,
} from "./client/call-tool.js";
export type { McpClientEvents } from "./client/client-events.js";
export type { ClientState, LogLevel, SessionView } from "./client/client-life.js";
export { McpClient, type McpClientOptions } from "./client/mcp-client.js";
export type { RequestEnded } from "./client/observe-link.js";
export { type ContentBlock, type OutputSchema, ToolResult } from "./client/tool-result.js";
export type { Clock } from "./concurrency/clock.js";
export type { JsonObject } from "./definitions/json.js";
export type {
  InProcessServer,
  JsonRpcMessage,
  MessageTransport,
  TransportLike,
} from "./definitions/message-transport.js";
export { parseServers } from "./definitions/parse-server.js";
export type {
  AddressedServerDefinition,
  BreakerOptions,
  CommonServerOptions,
  CustomServerDefinition,
  HttpServerDefinition,
  InProcessServerDefinition,
  LambdaServerDefinition,
  LimitOptions,
  ResolvedServerDefinition,
  RetryOptions,
  ServerDefinition,
  SessionOptions,
  SseServerDefinition,
  StdioServerDefinition,
  TimeoutOptions,
  WebSocketServerDefinition,
} from "./definitions/server-definition.js";
export { SERVER_DEFAULTS } from "./definitions/server-spec.js";
export type { McpToolInfo } from "./definitions/tool-info.js";
export { FAILURE_KINDS, type FailureKind } from "./errors/failure-kinds.js";
export { type DefinitionIssue, type FailureDetails, McpRuntimeError } from "./errors/mcp-runtime-error.js";
export type { Progress, ServerFacts, ServerNotification } from "./session/session.js";
export type { Logger } from "./telemetry/logger.js";
