export type {
  CallerContext,
  CallInput,
  TaskAction,
  CallOutcome,
  CallToolOptions,
  CallToolsOptions,
  ListToolsOptions,
  RequestOptions,
  ToolCall,
} from "./client/call-options.js";
export type { DependentCall } from "./client/call-plan.js";
export type {
  McpClientEvents,
  RequestEnded,
  RequestRetried,
  RequestStarted,
  RequestWrapper,
} from "./client/client-events.js";
export type { McpClientOptions } from "./client/client-components.js";
export { type ServerMetrics, type ServerTotals, McpClient } from "./client/mcp-client.js";
export type { CallMetrics, ClientMetrics, LatencyMetrics } from "./telemetry/request-metrics.js";
export {
  MCP_EVENTS,
  type McpEvents,
  onMcpEvent,
  type ServerManagerEvents,
  type ServerState,
} from "./manager/mcp-events.js";
export type { ServerStatus } from "./manager/managed-server.js";
export type { CatalogEvents } from "./catalog/catalog-events.js";
export { CACHE_DEFAULTS } from "./catalog/tool-catalog.js";
export { type ServerEndpoint, SERVER_DEFAULTS } from "./config/server-config.js";
export type { ClientState, CloseOptions, SessionInfo } from "./client/client-lifecycle.js";
export type {
  Completion,
  CompletionCall,
  McpPrompt,
  McpPromptMessage,
  PromptCall,
} from "./client/prompt-client.js";
export type { CircuitBreakerHandle, BreakerState, BreakerStats } from "./client/policies/circuit-breaker.js";
export type { McpResourceContent } from "./client/resource-client.js";
export type { LogLevel } from "./client/restored-session-state.js";
export type { McpSkillFile, ReadSkillOptions } from "./client/skills/skill-client.js";
export type { McpSkillFileInfo, McpSkillInfo } from "./client/skills/skill-info.js";
export {
  type ContentBlock,
  type InputRequired,
  type OutputSchema,
  ToolResult,
} from "./client/tool-result.js";
export type { McpTask, TaskStatus } from "./client/tasks/mcp-task.js";
export type { WaitForTaskOptions } from "./client/tasks/task-client.js";
export type { Clock } from "./async/clock.js";
export type {
  BodyReaderLike,
  ResponseLike,
  FetchLike,
  FetchInitLike,
  DispatcherLike,
  HttpOptions,
  Pem,
  TlsOptions,
} from "./config/http-options.js";
export type { AddressRequest, AllowAddress, ServerProvenance } from "./config/address-policy.js";
export type { JsonObject } from "./json/json.js";
export { validateArguments } from "./json-schema/schema-validator.js";
export type {
  ClientInfo,
  InProcessServer,
  JsonRpcMessage,
  MessageTransport,
  TransportLike,
} from "./config/message-transport.js";
export { type McpServersDocument, parseServers } from "./config/parse-server.js";
export type {
  AddressedServerDefinition,
  CircuitBreakerOptions,
  CommonServerOptions,
  CustomServerDefinition,
  FallbackOption,
  HttpServerDefinition,
  InProcessServerDefinition,
  LambdaServerDefinition,
  LimitOptions,
  ResolveContext,
  DynamicServerDefinition,
  RetryOptions,
  ServerDefinition,
  SessionOptions,
  SseServerDefinition,
  StdioServerDefinition,
  TimeoutOptions,
  WebSocketServerDefinition,
  FallbackCall,
  FallbackClient,
  FallbackResult,
  SessionStore,
} from "./config/server-definition.js";
export type {
  ElicitationOption,
  ExtensionsOption,
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
} from "./config/server-request-handlers.js";
export type {
  McpPromptArgument,
  McpPromptInfo,
  McpResourceInfo,
  McpResourceTemplateInfo,
  McpToolInfo,
} from "./config/server-features.js";
export { FAILURE_KINDS, type FailureKind } from "./errors/failure-kinds.js";
export { type ConfigIssue, type FailureDetails, McpRuntimeError } from "./errors/mcp-runtime-error.js";
export type { ServerMetadata, ServerNotification } from "./session/session.js";
export type { Logger } from "./telemetry/logger.js";
export type {
  AgentDefinition,
  AgentDiscoveryMode,
  AgentResource,
  AgentTool,
  AgentToolsConfiguration,
  McpAgentResource,
  ToolSnapshot,
} from "./config/agent-definition.js";
export type {
  AuthOption,
  CredentialOptions,
  HeadersOption,
  HeaderValues,
  IdentityOption,
  OAuthProvider,
  OAuthTokens,
} from "./config/credential-options.js";
export type {
  AuthGrant,
  EnterpriseManagedGrant,
  JwtBearerGrant,
  JwtRequest,
  JwtSource,
} from "./config/auth-grant.js";
export type { CallContext } from "./config/call-context.js";
export type {
  DescriptionOptions,
  InjectedArgument,
  InputValidation,
  ToolPolicyOptions,
  ToolRule,
  ToolRules,
} from "./config/tool-rules.js";
export type { LangChainBlock } from "./tools/content/langchain-block.js";
export type { ResourceMetadata } from "./tools/content/to-documents.js";
export type { ApprovalDecided } from "./tools/tool-run.js";
export type { ToolArtifact, ToolFailure } from "./tools/content/tool-content.js";
export type {
  AgentToolsOptions,
  FactoryOptions,
  McpToolsOptions,
  ServerLookup,
  ServerToolsOptions,
} from "./toolset/toolset-options.js";
export { createMcpTools } from "./toolset/create-mcp-tools.js";
export { createMcpToolsForServer } from "./toolset/create-mcp-tools-for-server.js";
export { createMcpToolsFromAgent } from "./toolset/create-mcp-tools-from-agent.js";
export {
  type CacheOptions,
  type CatalogOptions,
  MANAGER_DEFAULTS,
  type LifecycleOptions,
  type ReconnectionOptions,
  type StartOptions,
} from "./manager/manager-options.js";
export type { OnServerError, ServerErrorContext } from "./manager/server-errors.js";
export type { ParameterChange, ParameterChangeKind } from "./json-schema/diff/parameter-change.js";
export type { ServerDrift, ToolChange } from "./catalog/drift.js";
export type { PinMode } from "./catalog/tool-pins.js";
export { REGISTRY_DEFAULTS } from "./catalog/tool-registry.js";
export type { KeyValueStore } from "./stores/key-value-store.js";
export type {
  ApproveToolsOptions,
  CallerConfig,
  ToolsetCall,
  ToolsetCallOptions,
  ToolsetClients,
  ToolsetEvents,
  ToolsetPromptCall,
  ToolsetSkill,
  ResourceSelection,
  SkillSelection,
} from "./toolset/mcp-toolset.js";
export type { McpToolset } from "./toolset/toolset.js";
export type {
  InputResponse,
  InputRequest,
  InputRequests,
  TaskPause,
  TaskResponse,
} from "./tools/elicitation/interrupt-for-input.js";
export { McpTool, type McpToolDetails } from "./tools/mcp-tool.js";
export type { LargeResultOptions } from "./tools/large-results/large-result-store.js";
export type { ToolRunConfig } from "./tools/tool-run.js";
export type { ToolProgress } from "./tools/progress-reporter.js";
export type { ToolFilter, ToolFilterContext } from "./tools/tool-filter.js";
export type {
  CountTokens,
  ServerTokenCosts,
  TokenCostOptions,
  TokenCosts,
} from "./tool-search/estimate-tokens.js";
export type { RerankCandidate, ToolSearchOptions } from "./tool-search/tool-search.js";
export type { EmbeddingsLike } from "./tool-search/vector-cache.js";
export type { NamingOptions } from "./tools/tool-names.js";
export {
  type BeforeToolCallResult,
  type BeforeToolCallInput,
  type AfterToolCallResult,
  TOOL_DEFAULTS,
  type ToolLimitOptions,
  type ToolOptions,
} from "./tools/tool-options.js";
export {
  FAILURE_POLICIES,
  type FailurePolicy,
  type RetryCondition,
} from "./client/policies/failure-policies.js";
export {
  CONFIG_DEFAULTS,
  type ConfigCandidate,
  type ConfigProblem,
  type ConfigProblemKind,
  type ConfigServer,
  type ConfigServerState,
  type ConfigSource,
  type LoadedMcpServers,
  type LoadMcpServersOptions,
} from "./config/files/config-options.js";
export type { ConfigFormatName, ConfigScope } from "./config/files/config-locations.js";
export { loadMcpServers } from "./config/files/load-mcp-servers.js";
export { lastGoodResult } from "./client/policies/last-good-result.js";
export type { Progress } from "./transports/transport.js";
