import type { Document } from "@langchain/core/documents";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallOutcome, CallToolOptions, CallToolsOptions, ToolCall } from "../client/call-options.js";
import type { ServerMetrics } from "../client/server-metrics.js";
import type { McpClientEvents } from "../client/mcp-client-events.js";
import type { McpClient } from "../client/mcp-client.js";
import type { PromptCall } from "../client/prompt.js";
import type { ToolResult } from "../client/tool-result.js";
import type { ResourceMetadata } from "../tools/content/to-documents.js";
import type { ServerDrift } from "../catalog/drift.js";
import type { JsonObject } from "../json/json.js";
import type { McpServerManager } from "../manager/mcp-server-manager.js";
import type { ServerManagerEvents, ServerStatus } from "../manager/server-status.js";
import type { McpTool } from "../tools/mcp-tool.js";

/**
 * The events of all clients, each with the name of its server, and those of the servers as a whole.
 * `toolsChanged` is told when `tools` is another list.
 */
export type ToolsetEvents<Name extends string = string> = {
  [Event in keyof (McpClientEvents & ServerManagerEvents)]: (McpClientEvents & ServerManagerEvents)[Event] & {
    readonly server: Name;
  };
};

/** A call of a tool by the name that models see or, where only one server has it, by the server's own. */
export interface ToolsetCall<Name extends string = string> extends ToolCall {
  /** Which server, when several have a tool of that name. */
  readonly server?: Name | undefined;
}

/** Resources of one server. */
export interface ResourceSelection<Name extends string = string> {
  readonly server: Name;
  readonly uris?: readonly string[] | undefined;
}

export interface ToolsetPromptCall<Name extends string = string> extends PromptCall {
  readonly server: Name;
}

/** Whose call it is: the config of a LangChain run. */
export type CallerConfig = Pick<RunnableConfig, "configurable"> & JsonObject;

export interface ToolsetCallOptions extends Pick<CallToolOptions, "signal"> {
  /** Needed where a server tells its users apart (`identity`). */
  readonly config?: CallerConfig | undefined;
}

export interface ApproveToolsOptions<Name extends string = string> {
  /** Only these; all, when left out. */
  readonly servers?: readonly Name[] | undefined;
  /** As whom the tools are looked at. Needed where a server tells its users apart (`identity`). */
  readonly config?: CallerConfig | undefined;
}

/** LangChain tools, and the clients behind them, which you close. */
export interface McpToolset<Name extends string = string> extends AsyncDisposable {
  /**
   * The tools as they are known now. When a server comes late, changes its tools or goes, this is
   * another list (`toolsChanged`); a tool that did not change stays the same object.
   */
  readonly tools: McpTool[];
  /** Adds, removes, connects and disconnects servers while the toolset is in use. */
  readonly servers: McpServerManager;
  readonly clients: Readonly<Record<Name, McpClient>>;
  /** The tools of these servers; of all, when none is named. */
  getTools(...servers: Name[]): McpTool[];
  /** What the servers offer to whoever this config belongs to. Their calls go by the config of each call. */
  toolsFor(config: CallerConfig): Promise<McpTool[]>;
  /** Lists every server anew, whatever is at hand. */
  refresh(config?: CallerConfig): Promise<void>;
  /** How the servers differ from what the tools of this set were made of. */
  detectDrift(config?: CallerConfig): Promise<Readonly<Record<Name, ServerDrift>>>;
  /** With `pin`: what the servers' tools say about themselves now is approved. */
  approveTools(options?: ApproveToolsOptions<Name>): Promise<void>;
  /** As the tool would, with rules, hooks and checks; gives the result as MCP has it. */
  callTool(call: ToolsetCall<Name>, options?: ToolsetCallOptions): Promise<ToolResult>;
  tryCallTool(call: ToolsetCall<Name>, options?: ToolsetCallOptions): Promise<CallOutcome>;
  callTools(
    calls: readonly ToolsetCall<Name>[],
    options?: ToolsetCallOptions & Pick<CallToolsOptions, "concurrency">,
  ): Promise<CallOutcome[]>;
  /** What resources of a server hold, as LangChain's documents; all that it lists, when no URIs are given. */
  getResources(
    wanted: ResourceSelection<Name>,
    options?: ToolsetCallOptions,
  ): Promise<Document<ResourceMetadata>[]>;
  /** A prompt of a server, with its arguments filled in, as LangChain's messages. */
  getPrompt(call: ToolsetPromptCall<Name>, options?: ToolsetCallOptions): Promise<BaseMessage[]>;
  /** How the servers that are connected want to be used, where they say so. For a system prompt. */
  instructions(): Readonly<Partial<Record<Name, string>>>;
  status(): Readonly<Record<Name, ServerStatus>>;
  /** What became of the calls, by server and tool: a frozen copy. */
  metrics(): Readonly<Record<Name, ServerMetrics>>;
  on<Event extends keyof ToolsetEvents<Name>>(
    event: Event,
    listener: (event: ToolsetEvents<Name>[Event]) => void,
  ): () => void;
  /** Closes every client. Tools of this set then fail with kind `closed`. */
  close(): Promise<void>;
}
