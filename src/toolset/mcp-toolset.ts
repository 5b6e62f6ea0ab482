import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  CallOutcome,
  CallToolOptions,
  CallToolsOptions,
  ToolCall,
  CallerContext,
} from "../client/call-options.js";
import type { CloseOptions } from "../client/client-lifecycle.js";
import type { ServerMetrics, ServerTotals, McpClient } from "../client/mcp-client.js";
import type { DependentCall } from "../client/call-plan.js";
import type { McpClientEvents } from "../client/client-events.js";
import type { PromptCall } from "../client/prompt-client.js";
import type { McpSkillFile, ReadSkillOptions } from "../client/skills/skill-client.js";
import type { McpSkillInfo } from "../client/skills/skill-info.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import type { ServerDrift } from "../catalog/drift.js";
import type { JsonObject } from "../json/json.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import type { ServerStatus } from "../manager/managed-server.js";
import type { ServerManagerEvents } from "../manager/mcp-events.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { TOOLSET_SERVER } from "../tools/tool-names.js";
import type { TokenCostOptions, TokenCosts } from "../tool-search/estimate-tokens.js";
import { describeValue } from "../json/describe-value.js";
import { McpRuntimeError, configError } from "../errors/mcp-runtime-error.js";

/**
 * The events of all clients and servers, each with the server's name. `toolsChanged` is emitted when `tools`
 * has changed.
 */
export type ToolsetEvents<Name extends string = string> = {
  [Event in keyof (McpClientEvents & ServerManagerEvents)]: (McpClientEvents & ServerManagerEvents)[Event] & {
    readonly server: Name;
  };
};

/** A tool call. `name` is the name that models see or, if it is unique, the tool's name on its server. */
export interface ToolsetCall<Name extends string = string> extends ToolCall {
  /** Selects the server if several have a tool of that name. */
  readonly server?: Name | undefined;
}

/** Selects resources of one server. */
export interface ResourceSelection<Name extends string = string> {
  /** The server that has the resources. */
  readonly server: Name;
  /** The URIs to read. @default all resources that the server lists */
  readonly uris?: readonly string[] | undefined;
}

/** A prompt of one server, with its arguments. */
export interface ToolsetPromptCall<Name extends string = string> extends PromptCall {
  /** The server that has the prompt. */
  readonly server: Name;
}

/** A skill, and the server that has it. */
export interface ToolsetSkill<Name extends string = string> extends McpSkillInfo {
  /** The server that has the skill. The same URI on another server is another skill. */
  readonly server: Name;
}

/** A file of a skill of one server. */
export interface SkillSelection<Name extends string = string> extends Pick<ReadSkillOptions, "file"> {
  /** The server that has the skill. */
  readonly server: Name;
  /** The name or the URI of the skill. */
  readonly skill: string;
}

/** The config of a LangChain run, which identifies the caller. */
export type CallerConfig = RunnableConfig | (Pick<RunnableConfig, "configurable"> & JsonObject);

/** The clients of a toolset: a record by server name that is also iterable. */
export type ToolsetClients<Name extends string = string> = Readonly<Record<Name, McpClient>> & {
  /** Iterates over the clients, in the order of the servers. */
  // Not `Iterable`: an interface would make the clients of a named toolset unassignable to those of any toolset.
  [Symbol.iterator](): IterableIterator<McpClient>;
};

/** Options of toolset calls. */
export interface ToolsetCallOptions extends Pick<CallToolOptions, "signal"> {
  /**
   * Limits one attempt of a request, in place of the `timeoutMs` of the tool's rule and of `timeouts.requestMs`.
   * `config.timeout`, as in every LangChain run, limits the whole call.
   *
   * @default the timeouts of the tool's rule and of the server
   */
  readonly timeoutMs?: number | undefined;
  /** Identifies the caller. Required for servers with an `identity` per user. @default {} */
  readonly config?: CallerConfig | undefined;
}

/** Options of `McpToolset.approveTools` and `approveSkills`. */
export interface ApproveToolsOptions<Name extends string = string> {
  /** The servers whose tools or skills are approved. @default all servers */
  readonly servers?: readonly Name[] | undefined;
  /** The caller whose tools or skills are approved. Required for servers with an `identity` per user. @default {} */
  readonly config?: CallerConfig | undefined;
}

/**
 * LangChain tools of MCP servers, with the clients behind them. Close it when it is no longer used.
 *
 * @example
 * ```ts
 * await using toolset = await createMcpTools({ weather: { url: "https://weather.example.com/mcp" } });
 * const agent = createAgent({ model, tools: toolset.tools });
 * const result = await toolset.callTool({ name: "forecast", args: { city: "Oslo" } });
 * ```
 */
export interface McpToolset<Name extends string = string> extends AsyncDisposable {
  /**
   * The current tools. It is replaced by a new array when a server connects late, changes its tools or is removed
   * (event `toolsChanged`); an unchanged tool stays the same object. The array is frozen: to add tools of your own, use
   * `[...toolset.tools, mine]` or `getTools()`.
   */
  readonly tools: McpTool[];
  /** Adds, removes, connects and disconnects servers at run time. */
  readonly servers: McpServerManager;
  /**
   * The clients by server name. Also iterable.
   *
   * @example
   * ```ts
   * for (const client of toolset.clients) await client.close();
   * ```
   */
  readonly clients: ToolsetClients<Name>;
  /**
   * The tools of the given servers, or of all, as a new array. `read_result` (option `largeResults`) is always included.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server
   */
  getTools(...servers: Name[]): McpTool[];
  /**
   * Lists the tools that the servers offer to one caller. A call of these tools still uses the config of that call.
   * @throws McpRuntimeError why a server that is not `optional` could not be listed
   */
  toolsFor(config: CallerConfig): Promise<McpTool[]>;
  /**
   * Lists the tools of all servers again, regardless of the cache.
   * @throws McpRuntimeError why a server could not be listed
   */
  refresh(config?: CallerConfig): Promise<void>;
  /** Compares the servers' current tools with those that this toolset was created from. */
  detectDrift(config?: CallerConfig): Promise<Readonly<Record<Name, ServerDrift>>>;
  /**
   * Approves the current tools of the servers, for use with option `pin`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server could not be listed
   */
  approveTools(options?: ApproveToolsOptions<Name>): Promise<void>;
  /**
   * Calls a tool with the same rules, hooks and validation as the LangChain tool, and returns the MCP result. If the tool
   * ran and reported an error, that is a result with `isError: true`: it is returned, not thrown.
   * @throws McpRuntimeError kind `not-found` for an unknown tool, or why the call failed
   */
  callTool(call: ToolsetCall<Name>, options?: ToolsetCallOptions): Promise<ToolResult>;
  /**
   * Like `callTool`, but returns an `McpRuntimeError` in the outcome instead of throwing it. `ok: true` means that the
   * server responded: check `result.isError`, too.
   */
  tryCallTool(call: ToolsetCall<Name>, options?: ToolsetCallOptions): Promise<CallOutcome>;
  /**
   * Calls several tools concurrently. The outcomes are in the order of the calls. A call may be made from the results of
   * other calls of the array, which it names by `id`.
   * @throws McpRuntimeError kind `invalid-config` if the arguments are invalid, or a dependency is unknown or circular;
   * nothing is sent then
   * @example
   * ```ts
   * const [user, orders] = await toolset.callTools([
   *   { id: "user", name: "find_user", args: { email } },
   *   { dependsOn: ["user"], call: ({ user }) => ({ name: "list_orders", args: { id: user.text() } }) },
   * ]);
   * ```
   */
  callTools(
    calls: readonly (ToolsetCall<Name> | DependentCall<ToolsetCall<Name>>)[],
    options?: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency">,
  ): Promise<CallOutcome[]>;
  /**
   * Reads resources of a server as LangChain documents.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a resource could not be read
   */
  getResources(
    selection: ResourceSelection<Name>,
    options?: ToolsetCallOptions,
  ): Promise<Document<ResourceMetadata>[]>;
  /**
   * Gets a prompt of a server as LangChain messages.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why the prompt could not be read
   */
  getPrompt(call: ToolsetPromptCall<Name>, options?: ToolsetCallOptions): Promise<BaseMessage[]>;
  /**
   * Lists the skills of the servers, or of one of them, without those that `pin: "block"` blocks. No file is read.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server that is not `optional` could not be
   * listed
   */
  listSkills(
    selection?: { readonly server?: Name | undefined },
    options?: ToolsetCallOptions,
  ): Promise<ToolsetSkill<Name>[]>;
  /**
   * Reads a file of a skill, `SKILL.md` unless `file` is set, and verifies it. Other files are those of the version whose
   * `SKILL.md` was read last by the same caller in the same thread.
   * @throws McpRuntimeError kind `invalid-response` if the file is not the listed one, `denied` if the skill is blocked,
   * `not-found` if the server does not have it
   */
  readSkill(selection: SkillSelection<Name>, options?: ToolsetCallOptions): Promise<McpSkillFile>;
  /**
   * Approves the current skills of the servers, for use with option `pin`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown server, or why a server could not be listed
   */
  approveSkills(options?: ApproveToolsOptions<Name>): Promise<void>;
  /**
   * The `instructions` of the connected servers that have any, for a system prompt. A server with an `identity` may
   * send other instructions to each caller: with `config`, those that it sent to this caller; without, those for
   * discovery, and none if that has no identity.
   */
  instructions(config?: CallerConfig): Readonly<Partial<Record<Name, string>>>;
  /**
   * Estimates how many tokens the definitions of the tools take in every request to a model, in all and by server and
   * tool.
   */
  tokenCosts(options?: TokenCostOptions): TokenCosts<Name>;
  /** The state of each server, by name. */
  status(): Readonly<Record<Name, ServerStatus>>;
  /** Call metrics by server and tool, as a frozen copy. */
  metrics(): Readonly<Record<Name, ServerMetrics>>;
  /** The metrics of all current servers in total, as a frozen copy; quantiles are over the calls of all. */
  totalMetrics(): ServerTotals;
  /**
   * Subscribes to an event. Returns a function that unsubscribes.
   * @throws McpRuntimeError kind `invalid-config` for an unknown event or a listener that is not a function
   */
  on<Event extends keyof ToolsetEvents<Name>>(
    event: Event,
    listener: (event: ToolsetEvents<Name>[Event]) => void,
  ): () => void;
  /**
   * Closes all clients. Calls of this toolset's tools then fail with kind `closed`.
   * @throws McpRuntimeError kind `invalid-config` for an unknown option
   */
  close(options?: CloseOptions): Promise<void>;
}

/** Throws kind `invalid-config` unless it is a toolset; its tools, or a promise of it, are easily passed instead. */
export function assertToolset(caller: string, toolset: unknown): void {
  const methods: readonly unknown[] = ["getTools", "on"].map((name) => Reflect.get(Object(toolset), name));
  if (methods.every((method) => typeof method === "function")) return;
  const text = `${caller} needs a toolset, as returned by createMcpTools or createMcpToolsFromAgent; got ${describeValue(toolset)}.`;
  throw new McpRuntimeError("invalid-config", text);
}

/** Whether it is a tool of one of these servers, or of the toolset itself. */
export function belongsTo(tool: McpTool, servers: readonly string[]): boolean {
  const { server } = tool.listed;
  return server === TOOLSET_SERVER || servers.includes(server);
}

/** Throws kind `invalid-config` if it is not the config of a run. */
export function toCallerContext(config: CallerConfig): CallerContext {
  if (typeof config !== "object" || config === null || config instanceof Promise) {
    const message = `expected a run config, { configurable: { … } }, got ${describeValue(config)}`;
    throw configError("The call to a toolset", [{ path: "config", message }]);
  }
  const { configurable, context, state, store } = config as JsonObject & Pick<RunnableConfig, "configurable">;
  return { configurable: { ...configurable }, context, state, store, config: config as JsonObject };
}
