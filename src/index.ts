export type {
  CallerContext,
  CallInput,
  CallOutcome,
  CallToolOptions,
  CallToolsOptions,
  ListToolsOptions,
  RequestOptions,
  ToolCall,
} from "./client/call-tool.js";
export type { McpClientEvents } from "./client/mcp-client-events.js";
export type { RequestEnded, RequestRetried, RequestStarted, Surrounding } from "./client/request-events.js";
export type { ServerMetrics } from "./client/server-metrics.js";
export type { CallMetrics, ClientMetrics, LatencyMetrics } from "./telemetry/request-metrics.js";
export { MCP_EVENTS, type McpEvents, onMcpEvent } from "./manager/mcp-events.js";
export type { CatalogueEvents } from "./catalogue/catalogue-events.js";
export type { ServerEndpoint } from "./definitions/server-endpoint.js";
export type { McpClientOptions } from "./client/client-options.js";
export type { ClientState, SessionView } from "./client/client-life.js";
export type { Completion, CompletionCall } from "./client/completion.js";
export type { BreakerControl } from "./client/breakers.js";
export { McpClient } from "./client/mcp-client.js";
export type { McpPrompt, McpPromptMessage, PromptCall } from "./client/prompt.js";
export type { McpResourceContent } from "./client/resource-content.js";
export type { LogLevel } from "./client/log-level.js";
export {
  type ContentBlock,
  type InputRequired,
  type OutputSchema,
  ToolResult,
} from "./client/tool-result.js";
export type { Clock } from "./concurrency/clock.js";
export type {
  FetchedBodyReader,
  FetchedResponse,
  FetchFunction,
  FetchRequest,
  HttpDispatcher,
  HttpOptions,
  Pem,
  TlsOptions,
} from "./definitions/http-options.js";
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
  FallbackOption,
  HttpServerDefinition,
  InProcessServerDefinition,
  LambdaServerDefinition,
  LimitOptions,
  ResolveContext,
  ResolvedServerDefinition,
  RetryOptions,
  ServerDefinition,
  SessionOptions,
  SseServerDefinition,
  StdioServerDefinition,
  TimeoutOptions,
  WebSocketServerDefinition,
} from "./definitions/server-definition.js";
export type {
  ElicitationOption,
  FormElicitation,
  FormElicitationResult,
  FormHandler,
  FormSchema,
  FormValue,
  Root,
  RootsOption,
  SamplingContent,
  SamplingHandler,
  SamplingMessage,
  SamplingRequest,
  SamplingResult,
  ServerRequestContext,
  UrlElicitation,
  UrlElicitationResult,
  UrlHandler,
} from "./definitions/server-requests.js";
export type { SessionStore } from "./definitions/session-store.js";
export { SERVER_DEFAULTS } from "./definitions/server-spec.js";
export type {
  McpPromptArgument,
  McpPromptInfo,
  McpResourceInfo,
  McpResourceTemplateInfo,
} from "./definitions/resource-info.js";
export type { McpToolInfo } from "./definitions/tool-info.js";
export { FAILURE_KINDS, type FailureKind } from "./errors/failure-kinds.js";
export { type DefinitionIssue, type FailureDetails, McpRuntimeError } from "./errors/mcp-runtime-error.js";
export type { Progress, ServerFacts, ServerNotification } from "./session/session.js";
export type { Logger } from "./telemetry/logger.js";
export type { McpAgentResource, ToolSnapshot } from "./definitions/agent-definition.js";
export type {
  AuthOption,
  CredentialOptions,
  HeadersOption,
  HeaderValues,
  IdentityOption,
} from "./definitions/credential-options.js";
export type {
  AuthGrant,
  EnterpriseManagedGrant,
  JwtBearerGrant,
  JwtRequest,
  JwtSource,
} from "./definitions/auth-grant.js";
export type { OAuthProvider, OAuthTokens } from "./definitions/oauth-provider.js";
export type { CallContext } from "./definitions/call-context.js";
export type { HiddenArgument, ToolPolicyOptions, ToolRule, ToolRules } from "./definitions/tool-rules.js";
export type { LangChainBlock } from "./content/langchain-block.js";
export type { ResourceMetadata } from "./content/to-documents.js";
export type { ToolArtifact, ToolFailure } from "./content/tool-artifact.js";
export type { AgentToolsOptions, ServerLookup } from "./factories/agent-tools-options.js";
export { createMcpTools, type McpToolsOptions } from "./factories/create-mcp-tools.js";
export { createMcpToolsForServer, type ServerToolsOptions } from "./factories/create-mcp-tools-for-server.js";
export { createMcpToolsFromAgent } from "./factories/create-mcp-tools-from-agent.js";
export type { CacheOptions, CatalogueOptions } from "./manager/catalogue-options.js";
export { CACHE_DEFAULTS } from "./catalogue/tool-catalogue.js";
export type { ParameterChange, ParameterChangeKind } from "./catalogue/compare-schemas.js";
export type { ServerDrift, ToolChange } from "./catalogue/drift.js";
export type { PinMode } from "./catalogue/tool-pins.js";
export { REGISTRY_DEFAULTS, type ToolRegistryOptions } from "./catalogue/registry-options.js";
export type { ServerHealth, ServerRecord } from "./catalogue/server-record.js";
export { type FoundTool, type RegistrySource, ToolRegistry } from "./catalogue/tool-registry.js";
export type { KeyValueStore } from "./stores/key-value-store.js";
export {
  MANAGER_DEFAULTS,
  type LifeOptions,
  type McpServerManagerOptions,
} from "./manager/manager-options.js";
export { McpServerManager, type ReconnectOptions, type WaitOptions } from "./manager/mcp-server-manager.js";
export type { ServerManagerEvents, ServerState, ServerStatus } from "./manager/server-status.js";
export type { StartOptions } from "./manager/start-servers.js";
export type { FactoryOptions } from "./factories/factory-options.js";
export type {
  ApproveToolsOptions,
  CallerConfig,
  McpToolset,
  ToolsetCall,
  ToolsetCallOptions,
  ToolsetEvents,
  ToolsetPromptCall,
  WantedResources,
} from "./factories/mcp-toolset.js";
export type { InputAnswer, InputQuestion } from "./tools/ask-for-input.js";
export { McpTool } from "./tools/mcp-tool.js";
export type { InputQuestions } from "./tools/message-input.js";
export type { ToolProgress } from "./tools/report-progress.js";
export type { McpToolDetails } from "./tools/tool-details.js";
export type { NamingOptions } from "./tools/tool-names.js";
export {
  type CallChanges,
  type CallPreview,
  type ResultPreview,
  TOOL_DEFAULTS,
  type ToolOptions,
} from "./tools/tool-options.js";
export type { BreakerState, BreakerStats } from "./policies/circuit-breaker.js";
export { FAILURE_MATRIX, type FailurePolicy, type Repetition } from "./policies/failure-matrix.js";
export {
  CONFIG_DEFAULTS,
  type ConfigCandidate,
  type LoadMcpServersOptions,
} from "./servers/config-options.js";
export type { ConfigFormatName } from "./servers/config-formats.js";
export type { ConfigProblem, ConfigProblemKind } from "./servers/config-problem.js";
export type { ConfigScope, ConfigServer, ConfigServerState, ConfigSource } from "./servers/config-source.js";
export type { LoadedMcpServers } from "./servers/load-config.js";
export { loadMcpServers } from "./servers/load-mcp-servers.js";
export type { FallbackCall, FallbackResult } from "./definitions/fallback-call.js";
export { lastGoodResult } from "./policies/last-good-result.js";
