export {
  type ServerHealth,
  type ServerRecord,
  REGISTRY_DEFAULTS,
  type RegistryClient,
  type ToolLocation,
  ToolRegistry,
  type ToolRegistryOptions,
} from "../catalog/tool-registry.js";
export {
  type CacheOptions,
  type CatalogOptions,
  type LifecycleOptions,
  MANAGER_DEFAULTS,
  type McpServerManagerOptions,
  type ReconnectionOptions,
} from "./manager-options.js";
export { McpServerManager, type ReconnectOptions, type WaitOptions } from "./mcp-server-manager.js";
export type { ServerStatus } from "./managed-server.js";
export type { ServerManagerEvents, ServerState } from "./mcp-events.js";
export type { OnServerError, ServerErrorContext } from "./server-errors.js";
export type { StartOptions } from "./manager-options.js";
export { type PublishedServer, publishServer, withdrawServer } from "./published-server.js";
export {
  REGISTRY_SERVER_DEFAULTS,
  type RegistryCredentials,
  type RegistryServers,
  registryServers,
  type RegistryServersOptions,
} from "./registry-servers.js";
