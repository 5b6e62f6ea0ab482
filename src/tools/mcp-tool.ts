import { type CallbackManagerForToolRun, parseCallbackConfigArg } from "@langchain/core/callbacks/manager";
import { type ToolCall, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { StructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import type { ToolResult } from "../client/tool-result.js";
import { type LangChainBlock, textBlock } from "./content/langchain-block.js";
import type { ToolArtifact } from "./content/tool-artifact.js";
import { toToolContent } from "./content/tool-content.js";
import { systemClock } from "../async/clock.js";
import { assertObject } from "../config/assert-object.js";
import { isPlainObject, type JsonObject, cloneJson } from "../json/json.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { DeferredCall } from "./elicitation/interrupt-for-input.js";
import {
  toFailureMessage,
  EMPTY_ARTIFACT,
  isGraphBubbleUp,
  toModelFailure,
  toolError,
  toToolFailure,
} from "./tool-failure.js";
import { mayNeedApproval } from "./approval/needs-approval.js";
import { getProgressListeners, ProgressReporter } from "./progress-reporter.js";
import { ReviewableCall, type ApprovalOutcome } from "./approval/reviewable-call.js";
import { configTimeout, ToolContext } from "./tool-context.js";
import { toToolDetails, type McpToolDetails, toToolMetadata, type ToolRuntime } from "./tool-runtime.js";
import { prepareToolCall, executeToolCall, type ToolRun } from "./tool-call.js";

export interface McpToolFields {
  /** The name that models see. */
  readonly name: string;
  readonly description: string;
  /** Added to the metadata that every MCP tool has. */
  readonly metadata: JsonObject;
  readonly runtime: ToolRuntime;
}

interface ToolInternals {
  readonly runtime: ToolRuntime;
  /**
   * The tool as `StructuredTool.call` sees it: with a schema that accepts everything. Created by the first
   * call, because creating it makes the tool a prototype object, which costs more than the tool itself.
   */
  readonly withoutSchemaCheck: () => StructuredTool;
  /** By the arguments object that was created for the call. */
  approvals?: WeakMap<object, ApprovalOutcome>;
  deferred?: WeakMap<object, DeferredCall>;
}

type ConvertedResult = ReturnType<typeof toToolContent>;
type ToolOutput = [content: string | LangChainBlock[] | ToolMessage, artifact: ToolArtifact];

/**
 * Arguments are validated in `_call`, so that callbacks see invalid calls and the error message is ours.
 * A zod schema, because LangChain takes seven times as long to validate against an empty JSON schema.
 */
const ANY_SCHEMA = z.unknown();

/**
 * An MCP tool as a LangChain tool. Invoked with a tool call, a failure is returned as a `ToolMessage` with
 * `status: "error"` that the model can act on (see the option `onToolError`). Invoked with plain arguments,
 * a failure is thrown as an `McpRuntimeError`.
 *
 * @example
 * ```ts
 * const [tool] = toolset.getTools();
 * const message = await tool.invoke({ type: "tool_call", id: "1", name: tool.name, args: { city: "Rome" } });
 * ```
 */
// No private fields: `call` runs on an object that inherits from the tool.
export class McpTool extends StructuredTool<JsonObject, JsonObject, JsonObject, unknown> {
  static override lc_name(): string {
    return "McpTool";
  }

  /** The name that models see; `mcp.name` is the name on the server. */
  override readonly name: string;
  override readonly description: string;
  override readonly responseFormat = "content_and_artifact";
  /** The tool as its server describes it. */
  readonly mcp: McpToolDetails;
  declare private readonly internals: ToolInternals;

  /** Called by the factories, for example `createMcpTools`. */
  constructor(fields: McpToolFields) {
    super({ responseFormat: "content_and_artifact" });
    // Not passed to `super`, which reads every property: `schema_hash` is computed on demand.
    this.metadata = toToolMetadata(fields.runtime, fields.metadata);
    this.name = fields.name;
    this.description = fields.description;
    this.mcp = toToolDetails(fields.runtime);
    let uncheckedTool: StructuredTool | undefined;
    const withoutSchemaCheck = () =>
      (uncheckedTool ??= Object.create(this, { schema: { value: ANY_SCHEMA } }) as StructuredTool);
    const internals: ToolInternals = { runtime: fields.runtime, withoutSchemaCheck };
    // Not enumerable, so that it is neither printed nor serialized: it refers to clients and credentials.
    Object.defineProperty(this, "internals", { value: internals });
  }

  /** The input schema that models see, for the tool as last seen. */
  override get schema(): JsonObject {
    return this.runtime.schema.modelSchema();
  }

  /** Runs the tool. The run is named after the tool in traces; missing arguments become an empty object. */
  override call(
    ...[arg, configArg, tags]: Parameters<StructuredTool["call"]>
  ): ReturnType<StructuredTool["call"]> {
    // The spread comes last: on Node 20, adding properties to a spread copy is ten times slower.
    const config: JsonObject = { runName: this.name, ...parseCallbackConfigArg(configArg) };
    config["runName"] ??= this.name;
    const tool = this.internals.withoutSchemaCheck();
    if (!isToolCall(arg)) return super.call.call(tool, (arg ?? {}) as JsonObject, config, tags);
    config["toolCall"] = arg;
    return super.call.call(tool, (arg.args ?? {}) as JsonObject, config, tags);
  }

  /**
   * Calls the tool and returns the MCP result instead of content for a model. Rules, hooks and validation apply
   * as in every call.
   *
   * @throws McpRuntimeError of any kind; an error result of the tool is returned, not thrown.
   *
   * @example
   * ```ts
   * const result = await tool.run({ city: "Rome" });
   * console.log(result.isError, result.text());
   * ```
   */
  async run(args: JsonObject, config: RunnableConfig = {}): Promise<ToolResult> {
    assertObject(config, { subject: `The call to tool ${JSON.stringify(this.name)}`, path: "config" });
    const context = new ToolContext(this.mcp, config);
    const progress = this.createProgressReporter(config, context, undefined);
    return executeToolCall(this.runtime, this.createRun(args, config, { context, progress })).catch(
      (error: unknown) => {
        throw toModelFailure(error, this.runtime, context);
      },
    );
  }

  /** @internal Whether the middleware or tool node has to prepare its calls before they run. */
  get mayNeedApproval(): boolean {
    return mayNeedApproval(this.runtime);
  }

  /** @internal Prepares a call, so that approval can be requested before any call of a message runs. */
  async prepareReview(call: ToolCall, config: RunnableConfig): Promise<ReviewableCall> {
    const context = new ToolContext(this.mcp, { ...config, toolCall: call } as RunnableConfig);
    const outcome = await prepareToolCall(this.runtime, { args: call.args, context }).catch(
      (error: unknown) => toModelFailure(error, this.runtime, context),
    );
    return new ReviewableCall({ name: this.name, runtime: this.runtime, context, outcome });
  }

  /**
   * @internal Returns arguments that carry the outcome of an approval into one run. The outcome is found by the
   * identity of this object and not through a config, which any caller can set.
   */
  attachApproval(call: ToolCall, outcome: ApprovalOutcome): JsonObject {
    const args = { ...call.args };
    this.internals.approvals ??= new WeakMap();
    this.internals.approvals.set(args, outcome);
    return args;
  }

  /** @internal Lets the tool node request the input that the server needs for the call with these arguments. */
  attachInput(args: JsonObject, deferred: DeferredCall): void {
    this.internals.deferred ??= new WeakMap();
    this.internals.deferred.set(args, deferred);
  }

  protected override async _call(
    args: unknown,
    runManager?: CallbackManagerForToolRun,
    config: RunnableConfig = {},
  ): Promise<ToolOutput> {
    const context = new ToolContext(this.mcp, config, runManager?.runId);
    const progress = this.createProgressReporter(config, context, runManager);
    const notices: string[] = [];
    const onNotice = (notice: string) => notices.push(notice);
    const run = this.createRun(args, config, { context, progress, onNotice });
    let result: ToolResult;
    try {
      result = await executeToolCall(this.runtime, run);
    } catch (error) {
      const failure = toModelFailure(error, this.runtime, context);
      const isRejected = run.approval?.type === "rejected";
      return this.toFailureOutput(failure, context, { converted: undefined, isRejected });
    }
    const converted = this.convertResult(result, context, notices);
    if (!result.isError) return [converted.content, converted.artifact];
    return this.toFailureOutput(toolError(this.runtime, result), context, { converted, isRejected: false });
  }

  private get runtime(): ToolRuntime {
    return this.internals.runtime;
  }

  private createRun(
    args: unknown,
    config: RunnableConfig,
    { context, progress, onNotice }: Pick<ToolRun, "context" | "progress" | "onNotice">,
  ): ToolRun {
    const { name } = this;
    const approval = this.consumeApproval(args);
    const deferredInput = this.internals.deferred?.get(Object(args) as object);
    const timeoutMs = configTimeout(config);
    return { name, args, context, timeoutMs, approval, deferredInput, progress, onNotice };
  }

  private consumeApproval(args: unknown): ApprovalOutcome | undefined {
    if (typeof args !== "object" || args === null) return undefined;
    const approval = this.internals.approvals?.get(args);
    this.internals.approvals?.delete(args);
    return approval;
  }

  /** Returns `undefined` when there is no listener. */
  private createProgressReporter(
    config: RunnableConfig,
    { toolCallId }: ToolContext,
    runManager: CallbackManagerForToolRun | undefined,
  ): ProgressReporter | undefined {
    const { runtime, name: tool } = this;
    const listeners = getProgressListeners(runtime.settings.onProgress, config, runManager);
    if (listeners.length === 0) return undefined;
    const source = { server: runtime.server, tool, toolCallId };
    return new ProgressReporter({ source, listeners, clock: systemClock, warn: runtime.warn });
  }

  private convertResult(
    result: ToolResult,
    { toolCallId }: ToolContext,
    notices: readonly string[],
  ): ConvertedResult {
    const { structuredContent, outputHandling, contentChars } = this.runtime.settings;
    const truncate = toolCallId !== undefined;
    const { content, artifact } = toToolContent(result, {
      structuredContent,
      outputHandling,
      contentChars,
      truncate,
    });
    return {
      artifact: withCustomData(artifact, result, this.runtime),
      content: withNotices(content, notices),
    };
  }

  /** Throws the failure where there is no tool call or `onToolError` is "throw"; a rejection is never thrown. */
  private async toFailureOutput(
    failure: McpRuntimeError,
    { toolCallId }: ToolContext,
    {
      converted,
      isRejected,
    }: { readonly converted: ConvertedResult | undefined; readonly isRejected: boolean },
  ): Promise<ToolOutput> {
    const isThrown = this.runtime.settings.onToolError === "throw" && !isRejected;
    if (toolCallId === undefined || isThrown) throw failure;
    const artifact = { ...(converted?.artifact ?? EMPTY_ARTIFACT), error: toToolFailure(failure) };
    const message = new ToolMessage({
      status: "error",
      content: await this.getFailureContent(failure, converted),
      tool_call_id: toolCallId,
      name: this.name,
      artifact,
      metadata: this.metadata ?? {},
    });
    return [message, artifact];
  }

  /** The text of the user's `onToolError`, else the content of the error result, else our message for the kind. */
  private async getFailureContent(
    failure: McpRuntimeError,
    converted: ConvertedResult | undefined,
  ): Promise<string | LangChainBlock[]> {
    const { onToolError } = this.runtime.settings;
    const isEmpty = converted === undefined || converted.content === "" || converted.content.length === 0;
    const content = isEmpty ? toFailureMessage(failure, this.name) : converted.content;
    if (typeof onToolError !== "function") return content;
    try {
      const custom: unknown = await onToolError(failure);
      if (typeof custom === "string") return custom;
      this.runtime.warn("onToolError did not return a string; the default message is used.");
    } catch (error) {
      if (isGraphBubbleUp(error)) throw error;
      this.runtime.warn(`onToolError failed; the default message is used: ${String(error)}`);
    }
    return content;
  }
}

function isToolCall(value: unknown): value is ToolCall {
  return isPlainObject(value) && value["type"] === "tool_call" && "args" in value;
}

function withNotices(
  content: ConvertedResult["content"],
  notices: readonly string[],
): ConvertedResult["content"] {
  if (notices.length === 0) return content;
  const blocks = typeof content === "string" ? [textBlock(content)] : content;
  return [...notices.map(textBlock), ...blocks];
}

/** Adds what the option `customData` returns. When the user's callback fails, the artifact stays as it is. */
function withCustomData(
  artifact: ToolArtifact,
  { content, structuredContent, isError, meta }: ToolResult,
  { settings, warn }: Pick<ToolRuntime, "settings" | "warn">,
): ToolArtifact {
  if (settings.customData === undefined) return artifact;
  try {
    const customData = settings.customData(structuredClone({ content, structuredContent, isError, meta }));
    if (customData instanceof Promise) {
      customData.catch(() => undefined);
      warn("customData returned a promise, which is ignored: it has to return its value synchronously.");
      return artifact;
    }
    return customData === undefined ? artifact : { ...artifact, customData: cloneJson(customData) };
  } catch (error) {
    warn(`customData failed and is ignored: ${String(error)}`);
    return artifact;
  }
}
