import type { BaseMessage, ToolCall, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, type Command, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { ToolNode, type ToolNodeOptions } from "@langchain/langgraph/prebuilt";
import { assertOptionalArray, assertOptions, optionKeys } from "../config/parse-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { assertToolset } from "../toolset/mcp-toolset.js";
import type { McpToolset } from "../toolset/toolset.js";
import { PendingApprovals } from "../tools/approval/request-approval.js";
import { MessageInputs } from "../tools/elicitation/interrupt-for-input.js";
import { findPendingCalls } from "../tools/graph-task.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { ALWAYS_THROWN } from "../tools/tool-failure.js";
import type { CallInterceptor } from "../tools/tool-run.js";
import { isPlainObject } from "../json/json.js";
import { duplicateIdMessage, LiveToolList } from "./live-tool-list.js";
import {
  findLoadedTools,
  hasLoadedToolsChannel,
  LOADED_TOOLS_KEY,
  mergeLoadedTools,
} from "./loaded-tools.js";
import {
  type DisclosedTool,
  type DisclosureMode,
  type DisclosureOptions,
  isOwnName,
  parseDisclosure,
  ToolDisclosure,
} from "./tool-disclosure.js";

/** Options of `McpToolNode`, in addition to those of LangGraph's `ToolNode`. */
export interface McpToolNodeOptions<Name extends string = string> extends ToolNodeOptions {
  /**
   * Other tools that this node runs.
   *
   * @default []
   */
  readonly tools?: ToolNode["tools"];
  /**
   * Use only the tools of these servers.
   *
   * @default all servers of the toolset
   */
  readonly servers?: readonly Name[];
  /**
   * Which tool definitions the model sees: bind what `selectTools` returns. With `search`, the node also runs `search_tools`
   * and `load_tools`.
   *
   * @default "all"
   */
  readonly disclosure?: DisclosureMode | DisclosureOptions;
}

/**
 * The channel for the names of loaded tools in the state of a graph. Without it, what is loaded is read from the messages
 * of the graph, as far as they are there.
 *
 * @example
 * ```ts
 * const State = Annotation.Root({ ...MessagesAnnotation.spec, ...loadedToolsState });
 * ```
 */
export const loadedToolsState = {
  [LOADED_TOOLS_KEY]: Annotation<readonly string[]>({ reducer: mergeLoadedTools, default: () => [] }),
};

const TOOL_NODE_OPTIONS = optionKeys<McpToolNodeOptions>({
  name: true,
  tags: true,
  handleToolErrors: true,
  tools: true,
  servers: true,
  disclosure: true,
});

/**
 * A LangGraph `ToolNode` that always has the current tools of a toolset. Requests approval, and the input that
 * servers need, once for all calls of a message.
 *
 * @throws McpRuntimeError `invalid-config` for invalid arguments
 *
 * @example
 * ```ts
 * import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 * import { createMcpTools } from "langchain-mcp-runtime";
 * import { McpToolNode } from "langchain-mcp-runtime/langgraph";
 *
 * const toolset = await createMcpTools({ weather: { url: "https://weather.example.com/mcp" } });
 * const graph = new StateGraph(MessagesAnnotation).addNode("tools", new McpToolNode(toolset));
 * ```
 */
export class McpToolNode<
  State = { messages: BaseMessage[] },
  Name extends string = string,
> extends ToolNode<State> {
  readonly #toolList: LiveToolList;
  readonly #disclosure: ToolDisclosure | undefined;
  readonly #approvals = new PendingApprovals("tool-node", (name, config) =>
    this.#toolList.find(name, config),
  );
  /** The input requests of the message that a call belongs to. */
  readonly #inputs = new WeakMap<ToolCall, MessageInputs>();
  readonly #duplicates = new WeakSet<ToolCall>();
  /** Carries the decision about a call into its run. */
  readonly #decided = new WeakMap<ToolCall, Pick<CallInterceptor, "prepare">>();

  constructor(toolset: McpToolset<Name>, options: McpToolNodeOptions<Name> = {}) {
    assertToolset("McpToolNode", toolset);
    const subject = "The tool node";
    const {
      tools: otherTools = [],
      servers = [],
      disclosure = "all",
      ...nodeOptions
    } = assertOptions(options, TOOL_NODE_OPTIONS, { subject });
    assertOptionalArray(servers, { subject, path: "servers" });
    assertOptionalArray(otherTools, { subject, path: "tools" });
    super([], nodeOptions);
    const toolList = new LiveToolList(toolset, servers);
    this.#toolList = toolList;
    const disclosureOptions = parseDisclosure(disclosure, subject);
    this.#disclosure = disclosureOptions && new ToolDisclosure(toolList, disclosureOptions);
    // `ToolNode` has its tools in a field, which agent builders read.
    const ownTools = this.#disclosure?.ownTools ?? [];
    Object.defineProperty(this, "tools", {
      get: () => [
        ...toolList.current.filter(({ name }) => ownTools.length === 0 || !isOwnName(name)),
        ...otherTools,
        ...ownTools,
      ],
      enumerable: true,
    });
  }

  /**
   * Returns the toolset's tools that the model sees in this state: pass them to `bindTools`, with your other tools.
   * @throws McpRuntimeError why a server that is not `optional` could not be listed
   */
  async selectTools(state: State, config: RunnableConfig = {}, model?: unknown): Promise<DisclosedTool[]> {
    if (this.#disclosure === undefined)
      return [...(await this.#toolList.listFor({ ...config, state } as RunnableConfig))];
    return this.#disclosure.selectTools({ state, model }, config);
  }

  protected override async run(input: unknown, config: LangGraphRunnableConfig): Promise<State> {
    await this.#requestApprovals(input, config);
    const { calls, isWholeMessage, isOnlyCall } = readCalls(input);
    const inputs = isWholeMessage && !isOnlyCall ? await MessageInputs.open(config) : undefined;
    if (inputs !== undefined) for (const call of calls) this.#inputs.set(call, inputs);
    const output = await super.run(input, config);
    inputs?.interruptIfNeeded();
    return this.#withLoadedTools(output, input);
  }

  protected override async runTool(
    call: ToolCall,
    config: LangGraphRunnableConfig,
    state: unknown,
  ): Promise<ToolMessage | Command> {
    const toolList = this.#toolList;
    const isOwn = this.#disclosure !== undefined && isOwnName(call.name);
    const tool = isOwn ? undefined : await toolList.find(call.name, { ...config, state } as RunnableConfig);
    const isOther = this.tools.some((other) => other.name === call.name && !toolList.isToolsetTool(other));
    const isMissing = tool === undefined && !isOther;
    if (isMissing && (toolList.isFiltered || toolList.wasRemoved(call.name)))
      return toolList.missingToolMessage(call);
    if (this.#duplicates.has(call) && tool !== undefined) return duplicateIdMessage(call);
    const inputs = this.#inputs.get(call);
    const savedResult = inputs?.savedResult(call);
    if (savedResult !== undefined) return savedResult as ToolMessage;
    const args = { ...call.args };
    tool?.intercept(args, { ...this.#decided.get(call), ...inputs?.track(tool, call) });
    // A decision is for one run.
    this.#decided.delete(call);
    const output = await this.#invoke(tool, { ...call, args }, config, state);
    inputs?.saveResult(call, output);
    return output;
  }

  /**
   * Runs a call as `ToolNode` does. It searches `tools`, which does not contain tools that a server offers only to one
   * caller, and returns errors to the model: those that only the application can act on are thrown again.
   */
  async #invoke(
    tool: McpTool | undefined,
    call: ToolCall,
    config: LangGraphRunnableConfig,
    state: unknown,
  ): Promise<ToolMessage | Command> {
    if (tool === undefined) return super.runTool(call, config, state);
    let failure: unknown;
    const invoke: McpTool["invoke"] = async (...args) => {
      try {
        return await tool.invoke(...args);
      } catch (error) {
        failure = error;
        throw error;
      }
    };
    const node = Object.create(this, { tools: { value: [{ name: tool.name, invoke }] } }) as this;
    const output = await super.runTool.call(node, call, config, state);
    if (failure instanceof McpRuntimeError && ALWAYS_THROWN.has(failure.kind)) throw failure;
    return output;
  }

  /** Adds the names of loaded tools to the update of the state, if the graph has a channel for them. */
  #withLoadedTools(output: State, input: unknown): State {
    if (this.#disclosure === undefined || !hasLoadedToolsChannel(input) || !isPlainObject(output))
      return output;
    return { ...output, [LOADED_TOOLS_KEY]: findLoadedTools(input) };
  }

  /** Prepares every call that may need approval, requests the decisions, and binds each call to its decision. */
  async #requestApprovals(input: unknown, config: LangGraphRunnableConfig): Promise<void> {
    const { messageId, calls, isWholeMessage, duplicateIds } = readCalls(input);
    const location = { messageId, config: { ...config, state: input } as RunnableConfig };
    const duplicates = calls.filter(({ id }) => duplicateIds.has(id));
    for (const call of duplicates) this.#duplicates.add(call);
    const pending = await this.#approvals.prepare(
      calls.filter((call) => !this.#duplicates.has(call)),
      location,
    );
    const decisions = isWholeMessage ? await this.#approvals.requestDecisions(pending, config) : undefined;
    for (const { call, review } of pending) {
      this.#decided.set(call, { prepare: (run) => review.resolve(decisions?.get(review), run) });
      this.#approvals.delete(call, location);
    }
  }
}

/** A graph may send each call of a message to its own task: then no task can request approval for all of them. */
function readCalls(input: unknown) {
  const singleCall: unknown = Reflect.get(Object(input), "lg_tool_call");
  const { messageId, allCalls, unanswered, duplicateIds } = findPendingCalls(input);
  const isOnlyCall = singleCall !== undefined || allCalls.length === 1;
  const isWholeMessage = singleCall === undefined || allCalls.length === 1;
  const calls = singleCall === undefined ? unanswered : [singleCall as ToolCall];
  return { messageId, calls, isWholeMessage, isOnlyCall, duplicateIds };
}
