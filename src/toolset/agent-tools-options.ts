import type { McpAgentResource } from "../config/agent-definition.js";
import type {
  AddressedServerDefinition,
  ResolveContext,
  ServerDefinition,
} from "../config/server-definition.js";
import type { CatalogOptions } from "../manager/catalog-options.js";
import type { LifecycleOptions } from "../manager/manager-options.js";
import type { StartOptions } from "../manager/start-servers.js";
import type { FactoryOptions } from "./toolset-options.js";

/** Where the server of a resource is. Asked when it is first needed, not before. */
export type ServerLookup = (
  resource: McpAgentResource,
  context: ResolveContext,
) => AddressedServerDefinition | undefined | Promise<AddressedServerDefinition | undefined>;

export interface AgentToolsOptions extends FactoryOptions, CatalogOptions, LifecycleOptions, StartOptions {
  /** The servers of the agent's resources, by slug or name, or a function that finds them. */
  readonly servers?: Readonly<Record<string, ServerDefinition>> | ServerLookup;
  /**
   * Whether servers that stand in the agent definition itself are used: an agent file is data, and
   * must not start commands or send tokens on its own. "remote" allows addresses, `true` all.
   */
  readonly allowInlineServers?: "remote" | boolean;
}
