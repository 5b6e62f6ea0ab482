import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { checkList } from "../config/assert-array.js";
import { checkObject } from "../config/assert-object.js";
import { checkToolset } from "../toolset/assert-toolset.js";
import type { McpToolset } from "../toolset/mcp-toolset.js";
import { ApprovalDesk, type CallPlace } from "../tools/approval/pending-approvals.js";
import { CurrentTools } from "../tools/live-tool-list.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { pendingCalls } from "../tools/pending-calls.js";
import { type ReviewedCall, type Settlement, settlementOf } from "../tools/approval/reviewable-call.js";
import { answersSchema, type StoredAnswers } from "./stored-decisions.js";

export interface McpMiddlewareOptions<Name extends string = string> {
  /** Only the tools of these servers. */
  readonly servers?: readonly Name[];
  /** Needed where an agent has several of these. */
  readonly name?: string;
}

interface AgentState {
  readonly messages: unknown;
  readonly _mcpAnswers?: StoredAnswers | undefined;
}

/**
 * Keeps an agent of `createAgent` up to date with a toolset: late, changed and removed tools reach
 * the model, and their calls run. Asks for approval once, before any call of a message runs.
 */
export function mcpMiddleware<Name extends string>(
  toolset: McpToolset<Name>,
  options: McpMiddlewareOptions<Name> = {},
): AgentMiddleware<undefined, undefined, unknown, readonly []> {
  checkToolset("mcpMiddleware", toolset);
  const subject = "The middleware";
  const { servers = [], name = "mcpMiddleware" } = checkObject(options, { subject, path: "options" });
  checkList(servers, { subject, path: "servers" });
  const live = new CurrentTools(() => toolset.getTools(...servers));
  const approval = new AgentApproval(live);
  // While somebody listens, servers are heard that change their tools by themselves.
  toolset.on("toolsChanged", () => undefined);
  const middleware = createMiddleware({
    name,
    stateSchema: answersSchema,
    wrapModelCall: (request, handler) =>
      handler({ ...request, tools: live.update(request.tools) as typeof request.tools }),
    afterModel: async (state) => {
      const _mcpAnswers = await approval.ask(state);
      return _mcpAnswers === undefined ? undefined : { _mcpAnswers };
    },
    wrapToolCall: async (request, handler) => {
      const { toolCall } = request;
      if (request.tool !== undefined && !live.isOurs(request.tool)) return handler(request);
      const tool = live.find(toolCall.name);
      if (tool === undefined) {
        return live.isGone(toolCall.name) ? live.answerGone(toolCall) : handler(request);
      }
      if (!tool.needsReview) return handler({ ...request, tool });
      const settlement = await approval.settle(tool, toolCall, request.state);
      const args = tool.carry(toolCall, settlement);
      return handler({ ...request, tool, toolCall: { ...toolCall, args } });
    },
  });
  return middleware as unknown as AgentMiddleware<undefined, undefined, unknown, readonly []>;
}

/**
 * Asks after the model has spoken, and settles each call when it runs. In between the answers are in
 * the agent's state, so they outlive a process; each is bound to what was asked.
 */
class AgentApproval {
  readonly #live: CurrentTools;
  readonly #desk = new ApprovalDesk();

  constructor(live: CurrentTools) {
    this.#live = live;
  }

  async ask(state: AgentState): Promise<StoredAnswers | undefined> {
    const place = placeOf(state);
    const calls = pendingCalls(state).calls.flatMap((call) => {
      const tool = this.#live.find(call.name);
      return tool?.needsReview === true ? [{ tool, call }] : [];
    });
    const reviewed = await Promise.all(calls.map(({ tool, call }) => this.#desk.review(tool, call, place)));
    const answers = await this.#desk.ask(reviewed, place.config);
    if (answers.size === 0) return undefined;
    const own = reviewed.flatMap((review, index) => {
      const id = calls[index]?.call.id;
      const asked = answers.has(review) ? review.action : undefined;
      if (id === undefined || asked === undefined) return [];
      return [[id, { asked, decision: answers.get(review) ?? null }] as const];
    });
    const { messageId } = place;
    return { messageId, byCall: { ...answersTo(messageId, state), ...Object.fromEntries(own) } };
  }

  async settle(tool: McpTool, call: ToolCall, state: AgentState): Promise<Settlement> {
    const place = placeOf(state);
    const review = await this.#desk.review(tool, call, place);
    this.#desk.forget(call, place);
    const stored = answersTo(place.messageId, state)[call.id ?? ""];
    if (stored === undefined) return review.settle(undefined);
    const answer = review.isSameAs(stored.asked) ? (stored.decision ?? undefined) : undefined;
    return settlementOf(review, new Map<ReviewedCall, typeof answer>([[review, answer]]));
  }
}

function answersTo(messageId: string | undefined, { _mcpAnswers }: AgentState): StoredAnswers["byCall"] {
  return _mcpAnswers?.messageId === messageId ? (_mcpAnswers?.byCall ?? {}) : {};
}

/** Hooks of a middleware are given parts of the run's config; the whole of it is where LangGraph keeps it. */
function placeOf(state: AgentState): CallPlace {
  const config = (AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as RunnableConfig;
  return { messageId: pendingCalls(state).messageId, config: { ...config, state } as RunnableConfig };
}
