import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { assertOptionalArray, assertOptions, optionKeys } from "../config/parse-options.js";
import { assertMinimumVersion } from "../errors/load-optional-dependency.js";
import { assertToolset } from "../toolset/mcp-toolset.js";
import type { McpToolset } from "../toolset/toolset.js";
import { PendingApprovals } from "../tools/approval/request-approval.js";
import type { ApprovalDecision, ReviewableCall } from "../tools/approval/reviewable-call.js";
import { findPendingCalls } from "../tools/graph-task.js";
import { mayNeedApproval } from "../tools/prepare-call.js";
import type { CallInterceptor } from "../tools/tool-run.js";
import { z } from "zod";
import { AgentStateReader, DECISIONS_KEY } from "./agent-state.js";
import { AgentTools, isLeftOutCall } from "./agent-tools.js";
import { duplicateIdMessage, LiveToolList } from "./live-tool-list.js";
import { findLoadedTools, LOADED_TOOLS_KEY } from "./loaded-tools.js";
import {
  type DisclosureMode,
  type DisclosureOptions,
  parseDisclosure,
  ToolDisclosure,
} from "./tool-disclosure.js";

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
  /**
   * Which tool definitions the model sees: all, or those that it has found and loaded with `search_tools` and
   * `load_tools`. The names of loaded tools are in the state of the agent (`mcpLoadedTools`).
   *
   * @default "all"
   */
  readonly disclosure?: DisclosureMode | DisclosureOptions;
}

const MIDDLEWARE_OPTIONS = optionKeys<McpMiddlewareOptions>({ servers: true, name: true, disclosure: true });

/** A decision with the call it is about, as a hash. */
interface StoredDecision {
  readonly callHash: string;
  readonly decision: ApprovalDecision;
}

/** The decisions about the calls of one message, by call id. */
interface StoredDecisions {
  readonly messageId: string | undefined;
  readonly byCall: Readonly<Record<string, StoredDecision>>;
}

/** Keys that start with `_` are private: they are not part of an agent's input or output. */
const decisionsSchema = z.object({ [DECISIONS_KEY]: z.custom<StoredDecisions>().optional() });
const disclosureSchema = decisionsSchema.extend({ [LOADED_TOOLS_KEY]: z.array(z.string()).optional() });

/** The part of an agent's state that LangChain passes to the hooks. */
interface HookState {
  readonly messages: unknown;
  readonly [DECISIONS_KEY]?: StoredDecisions | undefined;
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
  assertMinimumVersion("langchain", "mcpMiddleware");
  assertToolset("mcpMiddleware", toolset);
  const subject = "The middleware";
  const {
    servers = [],
    name = "mcpMiddleware",
    disclosure: disclosureOption = "all",
  } = assertOptions(options, MIDDLEWARE_OPTIONS, { subject });
  assertOptionalArray(servers, { subject, path: "servers" });
  const toolList = new LiveToolList(toolset, servers);
  const disclosureOptions = parseDisclosure(disclosureOption, subject);
  const agentState = new AgentStateReader();
  const agentTools = new AgentTools(toolList, { hasToolSearch: disclosureOptions !== undefined });
  const disclosure = disclosureOptions && new ToolDisclosure(toolList, disclosureOptions, agentTools);
  const approval = createAgentApproval(toolList, agentState);
  const middleware = createMiddleware({
    name,
    stateSchema: disclosure === undefined ? decisionsSchema : disclosureSchema,
    ...(disclosure !== undefined && { beforeModel: saveLoadedTools as never }),
    wrapModelCall: async (request, handler) => {
      const config = agentState.toConfig();
      const selection = agentTools.read(request.tools);
      const updated = await toolList.update(request.tools, config);
      const tools = await (disclosure?.selectForAgent({ ...request, updated, selection }, config) ?? updated);
      const response = await handler({ ...request, tools: tools as typeof request.tools });
      agentTools.save(response, selection);
      return response;
    },
    afterModel: async (state) => {
      const decisions = await approval.request(state);
      return decisions === undefined ? undefined : { [DECISIONS_KEY]: decisions };
    },
    wrapToolCall: async (request, handler) => {
      const { toolCall } = request;
      const ownTool = disclosure?.getOwnTool(toolCall.name);
      if (ownTool !== undefined) return handler({ ...request, tool: ownTool });
      if (request.tool !== undefined && !toolList.isToolsetTool(request.tool)) return handler(request);
      const config = agentState.toConfig();
      // A model may guess the name of a tool that the agent was created without.
      const isLeftOut =
        request.tool === undefined && agentTools.isLeftOut(toolCall.name, agentTools.recall(request.state));
      const tool = isLeftOut ? undefined : await toolList.find(toolCall.name, config);
      if (tool === undefined) {
        if (!isLeftOut && toolList.wasRemoved(toolCall.name)) return toolList.missingToolMessage(toolCall);
        // LangChain's own message about an unknown tool lists the names of all tools of the agent.
        const missing = { name: toolCall.name, invoke: async () => toolList.missingToolMessage(toolCall) };
        return handler(toolList.isFiltered ? { ...request, tool: missing as never } : request);
      }
      if (findPendingCalls(request.state).duplicateIds.has(toolCall.id)) return duplicateIdMessage(toolCall);
      if (!mayNeedApproval(tool.runtime)) return handler({ ...request, tool });
      const args = { ...toolCall.args };
      tool.intercept(args, await approval.resolve(toolCall, request.state, config));
      return handler({ ...request, tool, toolCall: { ...toolCall, args } });
    },
  });
  return middleware as unknown as AgentMiddleware<undefined, undefined, unknown, readonly []>;
}

/** Keeps the names of loaded tools in the state of the agent, where they survive a trimmed history. */
function saveLoadedTools(state: object): { [LOADED_TOOLS_KEY]: string[] } | undefined {
  const loaded = findLoadedTools(state);
  const saved: unknown = Reflect.get(state, LOADED_TOOLS_KEY);
  if (Array.isArray(saved) ? saved.length === loaded.length : loaded.length === 0) return undefined;
  return { [LOADED_TOOLS_KEY]: [...loaded] };
}

/**
 * Requests approval after the model has responded, and resolves each call when it runs. In between, the
 * decisions are in the agent's state, so they survive a restart; each is bound to the action it is about.
 */
function createAgentApproval(toolList: LiveToolList, agentState: AgentStateReader) {
  const approvals = new PendingApprovals("middleware", (name, config) => toolList.find(name, config));
  return {
    async request(state: HookState): Promise<StoredDecisions | undefined> {
      const { messageId, unanswered, duplicateIds } = findPendingCalls(state);
      // A tool that the agent was created without does not run, so approval is not requested for it.
      const calls = unanswered.filter(({ id, name }) => !duplicateIds.has(id) && !isLeftOutCall(name, state));
      if (calls.length === 0) return undefined;
      const config = await agentState.loadConfig();
      const pending = await approvals.prepare(calls, { messageId, config });
      const decisions = await approvals.requestDecisions(pending, config);
      if (decisions.size === 0) return undefined;
      const newDecisions = pending.flatMap(({ call: { id }, review }) => {
        const decision = decisions.get(review);
        if (id === undefined || decision === undefined) return [];
        return [[id, { callHash: review.hash, decision }] as const];
      });
      const byCall = { ...getStoredDecisions(messageId, state), ...Object.fromEntries(newDecisions) };
      return { messageId, byCall };
    },

    /** Returns the preparation of a call that runs now: it has been prepared and decided before. */
    async resolve(
      call: ToolCall,
      state: HookState,
      config: RunnableConfig,
    ): Promise<Partial<CallInterceptor>> {
      const { messageId } = findPendingCalls(state);
      const [pending] = await approvals.prepare([call], { messageId, config });
      approvals.delete(call, { messageId, config });
      if (pending === undefined) return {};
      const { review } = pending;
      const stored = getStoredDecisions(messageId, state)[call.id ?? ""];
      return { prepare: (run) => review.resolve(stored && toDecision(stored, review), run) };
    },
  };
}

/** Returns what a stored decision means for the call as it was prepared now; `undefined` if it needs none any more. */
function toDecision(
  { callHash, decision }: StoredDecision,
  review: ReviewableCall,
): ApprovalDecision | undefined {
  // The state may have changed since then. A rejected or edited call is not sent as it was.
  if (!review.needsApproval && decision?.type === "approve") return undefined;
  return review.isAbout(callHash) ? decision : null;
}

function getStoredDecisions(
  messageId: string | undefined,
  { [DECISIONS_KEY]: decisions }: HookState,
): StoredDecisions["byCall"] {
  return decisions?.messageId === messageId ? (decisions?.byCall ?? {}) : {};
}
