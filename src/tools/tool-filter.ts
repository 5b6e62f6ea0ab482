import type { RunnableConfig } from "@langchain/core/runnables";
import { printValue } from "../errors/sanitize-text.js";
import { CancelScope } from "../async/cancel-scope.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, isPromiseLike, type JsonObject } from "../json/json.js";
import type { McpTool } from "./mcp-tool.js";
import { isAllowedInTime } from "./tool-run.js";

/** The run that lists or calls tools. */
export interface ToolFilterContext {
  /** The config of the run: `configurable`, `metadata`, and in a graph its `context` and `state`. A copy. */
  readonly config: RunnableConfig & JsonObject;
  /** The `name` of the agent (LangChain's `createAgent`); `undefined` outside of an agent with a name. */
  readonly agent: string | undefined;
  /** The name of the tool's server. */
  readonly server: string;
}

/** Decides whether a run may see and call a tool. Only `true` allows it. */
export type ToolFilter = (tool: McpTool, context: ToolFilterContext) => boolean | Promise<boolean>;

/**
 * Returns the tools that a run may see, as a new array. Rejects when the signal of the run is aborted or the toolset is
 * closed before a filter has decided.
 */
export async function filterTools(tools: readonly McpTool[], config: RunnableConfig): Promise<McpTool[]> {
  if (!tools.some(hasFilter)) return [...tools];
  const cancellation = CancelScope.fromSignal(config.signal);
  const closed = tools[0]?.runtime.caller.closed;
  if (closed?.isCancelled === false) closed.attach(cancellation);
  try {
    cancellation.throwIfCancelled();
    const deciding = tools.map(({ runtime }) => isAllowedInTime(runtime, config, { cancellation }));
    const decisions = await Promise.all(deciding);
    cancellation.throwIfCancelled();
    return tools.filter((_, index) => decisions[index]);
  } finally {
    closed?.detach(cancellation);
    cancellation.dispose();
  }
}

/** Whether a filter decides who sees the tool. */
export function hasFilter(tool: McpTool): boolean {
  return tool.runtime.isAllowed !== undefined;
}

/**
 * Fails closed: a filter that throws, or returns anything but a boolean, excludes the tool. Returns a promise only if the
 * filter does, and never rejects.
 */
export function isToolAllowed(
  tool: McpTool,
  filter: ToolFilter,
  config: RunnableConfig,
): boolean | Promise<boolean> {
  const { server, warn } = tool.runtime;
  const { configurable, metadata } = config;
  const agent: unknown = isPlainObject(metadata) ? metadata["lc_agent_name"] : undefined;
  const readDecision = (isAllowed: unknown): boolean => {
    if (typeof isAllowed === "boolean") return isAllowed;
    warn(`filter returned ${describeValue(isAllowed)} instead of a boolean, so the tool is excluded.`);
    return false;
  };
  const excludeFailed = (error: unknown): boolean => {
    warn(`filter failed, so the tool is excluded: ${printValue(error)}`);
    return false;
  };
  try {
    const returned: unknown = filter(tool, {
      config: { ...config, configurable: { ...configurable } },
      agent: typeof agent === "string" ? agent : undefined,
      server,
    });
    if (!isPromiseLike(returned)) return readDecision(returned);
    return Promise.resolve(returned).then(readDecision).catch(excludeFailed);
  } catch (error) {
    return excludeFailed(error);
  }
}
