import type { BaseMessage, ToolCall, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { Command, LangGraphRunnableConfig } from "@langchain/langgraph";
import { ToolNode, type ToolNodeOptions } from "@langchain/langgraph/prebuilt";
import { checkList } from "../config/assert-array.js";
import { checkObject } from "../config/assert-object.js";
import { checkToolset } from "../toolset/assert-toolset.js";
import type { McpToolset } from "../toolset/mcp-toolset.js";
import { ApprovalDesk } from "../tools/approval/pending-approvals.js";
import { CurrentTools } from "../tools/live-tool-list.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { MessageInput } from "../tools/elicitation/message-inputs.js";
import { pendingCalls } from "../tools/pending-calls.js";
import { settlementOf } from "../tools/approval/reviewable-call.js";

export interface McpToolNodeOptions<Name extends string = string> extends ToolNodeOptions {
  /** Tools of other kinds that this node runs, too. */
  readonly tools?: ToolNode["tools"];
  /** Only the tools of these servers. */
  readonly servers?: readonly Name[];
}

interface Reviewable {
  readonly call: ToolCall;
  readonly tool: McpTool;
}

/**
 * A `ToolNode` whose tools are those that the toolset has now, and that asks for approval before any
 * call of a message runs.
 */
export class McpToolNode<
  State = { messages: BaseMessage[] },
  Name extends string = string,
> extends ToolNode<State> {
  readonly #live: CurrentTools;
  readonly #desk = new ApprovalDesk();
  /** Where it is noted what servers want to know first, by call. */
  readonly #inputs = new WeakMap<ToolCall, MessageInput>();
  /** What stands for a call that was settled, until it runs. */
  readonly #carried = new WeakMap<ToolCall, ToolCall["args"]>();

  constructor(toolset: McpToolset<Name>, options: McpToolNodeOptions<Name> = {}) {
    checkToolset("McpToolNode", toolset);
    const subject = "The tool node";
    const checked = checkObject(options, { subject, path: "options" });
    const { tools: others = [], servers = [], ...nodeOptions } = checked;
    checkList(servers, { subject, path: "servers" });
    checkList(others, { subject, path: "tools" });
    super([], nodeOptions);
    const live = new CurrentTools(() => toolset.getTools(...servers));
    this.#live = live;
    // While somebody listens, servers are heard that change their tools by themselves.
    toolset.on("toolsChanged", () => undefined);
    // `ToolNode` keeps its tools in a field, and whoever builds an agent reads it from there.
    Object.defineProperty(this, "tools", { get: () => [...live.current, ...others], enumerable: true });
  }

  protected override async run(input: unknown, config: LangGraphRunnableConfig): Promise<State> {
    await this.#settle(input, config);
    const { calls, isWhole, isAlone } = callsOf(input);
    const inputs = isWhole && !isAlone ? await MessageInput.open(config) : undefined;
    if (inputs === undefined) return super.run(input, config);
    for (const call of calls) this.#inputs.set(call, inputs);
    const output = await super.run(input, config);
    inputs.pauseIfAsked();
    return output;
  }

  protected override async runTool(
    call: ToolCall,
    config: LangGraphRunnableConfig,
    state: unknown,
  ): Promise<ToolMessage | Command> {
    const isKnown = this.tools.some(({ name }) => name === call.name);
    if (!isKnown && this.#live.isGone(call.name)) return this.#live.answerGone(call);
    const inputs = this.#inputs.get(call);
    const done = inputs?.resultOf(call);
    if (done !== undefined) return done as ToolMessage;
    const args = this.#carried.get(call) ?? { ...call.args };
    const tool = this.#live.find(call.name);
    if (tool !== undefined && inputs !== undefined) tool.hold(args, inputs.hold(tool, call));
    const output = await super.runTool({ ...call, args }, config, state);
    inputs?.keep(call, output);
    return output;
  }

  /** Before anything runs: every call that needs it is prepared, asked about, and bound to the answer. */
  async #settle(input: unknown, config: LangGraphRunnableConfig): Promise<void> {
    const { messageId, calls, isWhole } = callsOf(input);
    const reviewable = calls.flatMap((call) => this.#reviewable(call) ?? []);
    if (reviewable.length === 0) return;
    const place = { messageId, config: { ...config, state: input } as RunnableConfig };
    const reviewed = await Promise.all(
      reviewable.map(({ tool, call }) => this.#desk.review(tool, call, place)),
    );
    const answers = isWhole ? await this.#desk.ask(reviewed, config) : new Map();
    for (const [index, { tool, call }] of reviewable.entries()) {
      const review = reviewed[index];
      if (review !== undefined) this.#carried.set(call, tool.carry(call, settlementOf(review, answers)));
      this.#desk.forget(call, place);
    }
  }

  #reviewable(call: ToolCall): Reviewable | undefined {
    const tool = this.#live.find(call.name);
    return tool?.needsReview === true ? { call, tool } : undefined;
  }
}

/** A graph may send each call of a message to a task of its own: then no task can ask for all of them. */
function callsOf(input: unknown) {
  const single: unknown = Reflect.get(Object(input), "lg_tool_call");
  const { messageId, allCalls, calls } = pendingCalls(input);
  const isAlone = single !== undefined || allCalls.length === 1;
  if (single === undefined) return { messageId, calls, isWhole: true, isAlone };
  return { messageId, calls: [single as ToolCall], isWhole: allCalls.length === 1, isAlone };
}
