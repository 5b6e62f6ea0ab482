import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { assertOptionalArray, assertObject } from "../config/assert-object.js";
import { assertToolset, type McpToolset } from "../toolset/mcp-toolset.js";
import { PendingApprovals, type CallLocation } from "../tools/approval/pending-approvals.js";
import { LiveToolList } from "../tools/live-tool-list.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { findPendingCalls } from "../tools/graph-task.js";
import {
  type ReviewableCall,
  type ApprovalOutcome,
  resolveOutcome,
  type RequestedAction,
} from "../tools/approval/reviewable-call.js";
import { z } from "zod";
import type { Decision } from "../tools/approval/approval-request.js";

/** Options of `mcpMiddleware`. */
export interface McpMiddlewareOptions<Name extends string = string> {
  /**
   * Use only the tools of these servers.
   *
   * @default all servers of the toolset
   */
  readonly servers?: readonly Name[];
  /**
   * The name of the middleware. Set it when an agent has several of them.
   *
   * @default "mcpMiddleware"
   */
  readonly name?: string;
}

/** A decision with the action it is about: nothing that the reviewer was not shown. */
interface StoredDecision {
  readonly action: RequestedAction;
  /** `null`: the decision was about other arguments than those that would be sent now. */
  readonly decision: Decision | null;
}

/** The decisions about the calls of one message, by call id. */
interface StoredDecisions {
  readonly messageId: string | undefined;
  readonly byCall: Readonly<Record<string, StoredDecision>>;
}

/** Keys that start with `_` are private: they are not part of an agent's input or output. */
const decisionsSchema = z.object({ _mcpDecisions: z.custom<StoredDecisions>().optional() });

interface AgentState {
  readonly messages: unknown;
  readonly _mcpDecisions?: StoredDecisions | undefined;
}

/**
 * Keeps an agent of `createAgent` up to date with a toolset: the model sees new, changed and removed tools, and
 * their calls run. Requests approval once, before any call of a message runs.
 *
 * @throws McpRuntimeError `invalid-config` for invalid arguments
 *
 * @example
 * ```ts
 * import { createAgent } from "langchain";
 * import { createMcpTools } from "langchain-mcp-runtime";
 * import { mcpMiddleware } from "langchain-mcp-runtime/langchain";
 *
 * const toolset = await createMcpTools({ weather: { url: "https://weather.example.com/mcp" } });
 * const agent = createAgent({ model, tools: toolset.getTools(), middleware: [mcpMiddleware(toolset)] });
 * ```
 */
export function mcpMiddleware<Name extends string>(
  toolset: McpToolset<Name>,
  options: McpMiddlewareOptions<Name> = {},
): AgentMiddleware<undefined, undefined, unknown, readonly []> {
  assertToolset("mcpMiddleware", toolset);
  const subject = "The middleware";
  const { servers = [], name = "mcpMiddleware" } = assertObject(options, { subject, path: "options" });
  assertOptionalArray(servers, { subject, path: "servers" });
  const toolList = new LiveToolList(() => toolset.getTools(...servers));
  const approval = new AgentApproval(toolList);
  // Having a listener makes the toolset subscribe to the tool list changes of its servers.
  toolset.on("toolsChanged", () => undefined);
  const middleware = createMiddleware({
    name,
    stateSchema: decisionsSchema,
    wrapModelCall: (request, handler) =>
      handler({ ...request, tools: toolList.update(request.tools) as typeof request.tools }),
    afterModel: async (state) => {
      const _mcpDecisions = await approval.request(state);
      return _mcpDecisions === undefined ? undefined : { _mcpDecisions };
    },
    wrapToolCall: async (request, handler) => {
      const { toolCall } = request;
      if (request.tool !== undefined && !toolList.isToolsetTool(request.tool)) return handler(request);
      const tool = toolList.find(toolCall.name);
      if (tool === undefined) {
        return toolList.wasRemoved(toolCall.name) ? toolList.removedToolMessage(toolCall) : handler(request);
      }
      if (!tool.mayNeedApproval) return handler({ ...request, tool });
      const outcome = await approval.resolve(tool, toolCall, request.state);
      const args = tool.attachApproval(toolCall, outcome);
      return handler({ ...request, tool, toolCall: { ...toolCall, args } });
    },
  });
  return middleware as unknown as AgentMiddleware<undefined, undefined, unknown, readonly []>;
}

/**
 * Requests approval after the model has responded, and resolves each call when it runs. In between, the
 * decisions are in the agent's state, so they survive a restart; each is bound to the action it is about.
 */
class AgentApproval {
  readonly #toolList: LiveToolList;
  readonly #approvals = new PendingApprovals();

  constructor(toolList: LiveToolList) {
    this.#toolList = toolList;
  }

  async request(state: AgentState): Promise<StoredDecisions | undefined> {
    const location = getCallLocation(state);
    const calls = findPendingCalls(state).unanswered.flatMap((call) => {
      const tool = this.#toolList.find(call.name);
      return tool?.mayNeedApproval === true ? [{ tool, call }] : [];
    });
    const reviewable = await Promise.all(
      calls.map(({ tool, call }) => this.#approvals.prepare(tool, call, location)),
    );
    const decisions = await this.#approvals.requestDecisions(reviewable, location.config);
    if (decisions.size === 0) return undefined;
    const newDecisions = reviewable.flatMap((review, index) => {
      const id = calls[index]?.call.id;
      const action = decisions.has(review) ? review.action : undefined;
      if (id === undefined || action === undefined) return [];
      return [[id, { action, decision: decisions.get(review) ?? null }] as const];
    });
    const { messageId } = location;
    const byCall = { ...getStoredDecisions(messageId, state), ...Object.fromEntries(newDecisions) };
    return { messageId, byCall };
  }

  async resolve(tool: McpTool, call: ToolCall, state: AgentState): Promise<ApprovalOutcome> {
    const location = getCallLocation(state);
    const review = await this.#approvals.prepare(tool, call, location);
    this.#approvals.delete(call, location);
    const stored = getStoredDecisions(location.messageId, state)[call.id ?? ""];
    if (stored === undefined) return review.resolve(undefined);
    const decision = review.matches(stored.action) ? (stored.decision ?? undefined) : undefined;
    return resolveOutcome(review, new Map<ReviewableCall, typeof decision>([[review, decision]]));
  }
}

function getStoredDecisions(
  messageId: string | undefined,
  { _mcpDecisions }: AgentState,
): StoredDecisions["byCall"] {
  return _mcpDecisions?.messageId === messageId ? (_mcpDecisions?.byCall ?? {}) : {};
}

/** Middleware hooks receive only a part of the run's config; LangGraph has the whole config in async storage. */
function getCallLocation(state: AgentState): CallLocation {
  const config = (AsyncLocalStorageProviderSingleton.getRunnableConfig() ?? {}) as RunnableConfig;
  return { messageId: findPendingCalls(state).messageId, config: { ...config, state } as RunnableConfig };
}
