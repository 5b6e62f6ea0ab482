import type { RunnableConfig } from "@langchain/core/runnables";
import type { CallToolOptions, ToolCall, CallerContext } from "../client/call-options.js";
import type { McpClient } from "../client/mcp-client.js";
import type { McpClientEvents } from "../client/client-events.js";
import type { PromptCall } from "../client/prompt-client.js";
import type { ReadSkillOptions } from "../client/skills/skill-client.js";
import type { McpSkillInfo } from "../client/skills/skill-info.js";
import type { JsonObject } from "../json/json.js";
import type { ServerManagerEvents } from "../manager/mcp-events.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { TOOLSET_SERVER } from "../tools/tool-names.js";
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
