export type { ServerHealth, ServerRecord } from "../catalog/server-record.js";
export {
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
} from "./manager-options.js";
export { McpServerManager, type ReconnectOptions, type WaitOptions } from "./mcp-server-manager.js";
export type { ServerManagerEvents, ServerState, ServerStatus } from "./server-status.js";
export type { StartOptions } from "./start-servers.js";
