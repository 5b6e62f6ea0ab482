import type { BaseMessage, ToolCall, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Command, LangGraphRunnableConfig } from "@langchain/langgraph";
import { ToolNode, type ToolNodeOptions } from "@langchain/langgraph/prebuilt";
import { assertOptionalArray, assertObject } from "../config/parse-options.js";
import { assertToolset, type McpToolset } from "../toolset/mcp-toolset.js";
import { PendingApprovals } from "../tools/approval/request-approval.js";
import { MessageInputs } from "../tools/elicitation/interrupt-for-input.js";
import { findPendingCalls } from "../tools/graph-task.js";
import type { CallInterceptor } from "../tools/tool-run.js";
import { duplicateIdMessage, LiveToolList } from "./live-tool-list.js";

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
}

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
  readonly #approvals = new PendingApprovals("tool-node", (name) => this.#toolList.find(name));
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
      ...nodeOptions
    } = assertObject(options, { subject, path: "options" });
    assertOptionalArray(servers, { subject, path: "servers" });
    assertOptionalArray(otherTools, { subject, path: "tools" });
    super([], nodeOptions);
    const toolList = new LiveToolList(toolset, servers);
    this.#toolList = toolList;
    // `ToolNode` has its tools in a field, which agent builders read.
    Object.defineProperty(this, "tools", {
      get: () => [...toolList.current, ...otherTools],
      enumerable: true,
    });
  }

  protected override async run(input: unknown, config: LangGraphRunnableConfig): Promise<State> {
    await this.#requestApprovals(input, config);
    const { calls, isWholeMessage, isOnlyCall } = readCalls(input);
    const inputs = isWholeMessage && !isOnlyCall ? await MessageInputs.open(config) : undefined;
    if (inputs === undefined) return super.run(input, config);
    for (const call of calls) this.#inputs.set(call, inputs);
    const output = await super.run(input, config);
    inputs.interruptIfNeeded();
    return output;
  }

  protected override async runTool(
    call: ToolCall,
    config: LangGraphRunnableConfig,
    state: unknown,
  ): Promise<ToolMessage | Command> {
    const isCurrent = this.tools.some(({ name }) => name === call.name);
    if (!isCurrent && this.#toolList.wasRemoved(call.name)) return this.#toolList.removedToolMessage(call);
    if (this.#duplicates.has(call) && this.#toolList.find(call.name) !== undefined)
      return duplicateIdMessage(call);
    const inputs = this.#inputs.get(call);
    const savedResult = inputs?.savedResult(call);
    if (savedResult !== undefined) return savedResult as ToolMessage;
    const args = { ...call.args };
    const tool = this.#toolList.find(call.name);
    tool?.intercept(args, { ...this.#decided.get(call), ...inputs?.track(tool, call) });
    // A decision is for one run.
    this.#decided.delete(call);
    const output = await super.runTool({ ...call, args }, config, state);
    inputs?.saveResult(call, output);
    return output;
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
