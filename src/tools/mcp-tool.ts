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
import { checkObject } from "../config/assert-object.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { HeldCall } from "./elicitation/interrupt-for-input.js";
import { withCustomData } from "./custom-data.js";
import { toFailureMessage } from "./failure-message.js";
import { mayNeedApproval } from "./approval/needs-approval.js";
import { once } from "./lazy.js";
import { progressListeners, ProgressReport } from "./progress-reporter.js";
import { ReviewedCall, type Settlement } from "./approval/reviewable-call.js";
import { timeoutOf, ToolContext } from "./tool-context.js";
import { detailsOf, type McpToolDetails, metadataOf } from "./tool-details.js";
import { EMPTY_ARTIFACT, isBubblingUp, tellableFailure, toolError, toToolFailure } from "./tool-failure.js";
import type { ToolInside } from "./tool-internals.js";
import type { ToolParts } from "./tool-runtime.js";
import { prepareRun, runTool, type ToolRun } from "./tool-call.js";

export interface McpToolFields {
  /** The name that models see. */
  readonly name: string;
  readonly description: string;
  /** Besides what all tools of MCP servers tell. */
  readonly metadata: JsonObject;
  readonly parts: ToolParts;
}

type Shown = ReturnType<typeof toToolContent>;
type ToolOutput = [content: string | LangChainBlock[] | ToolMessage, artifact: ToolArtifact];

type RunParts = Pick<ToolRun, "context" | "report" | "onNote">;

/**
 * Arguments are checked in `_call`, where callbacks see the call and we choose the words. Core takes
 * seven times as long over a JSON schema that says nothing.
 */
const ACCEPTS_EVERYTHING = z.unknown();

/**
 * An MCP tool as a LangChain tool. With a tool call id, a failure comes back as a ToolMessage that
 * the model can act on; a direct `invoke(args)` throws it.
 *
 * No private fields: `call` runs on an object that inherits from this one.
 */
export class McpTool extends StructuredTool<JsonObject, JsonObject, JsonObject, unknown> {
  static override lc_name(): string {
    return "McpTool";
  }

  override readonly name: string;
  override readonly description: string;
  override readonly responseFormat = "content_and_artifact";
  readonly mcp: McpToolDetails;
  declare private readonly inside: ToolInside;

  constructor(fields: McpToolFields) {
    super({ responseFormat: "content_and_artifact" });
    // Not through the constructor, which reads all of it, and some of it takes time to make.
    this.metadata = metadataOf(fields.parts, fields.metadata);
    this.name = fields.name;
    this.description = fields.description;
    this.mcp = detailsOf(fields.parts);
    const unchecked = once(() => Object.create(this, { schema: { value: ACCEPTS_EVERYTHING } }) as this);
    const inside: ToolInside = { parts: fields.parts, unchecked };
    // Kept out of what is printed and serialised: it leads to clients and their credentials.
    Object.defineProperty(this, "inside", { value: inside });
  }

  /** The schema that models see: of the tool as it is known now. */
  override get schema(): JsonObject {
    return this.parts.schema.shown();
  }

  /** The run's name is the tool's, in every trace. No arguments are an empty object. */
  override call(
    ...[arg, configArg, tags]: Parameters<StructuredTool["call"]>
  ): ReturnType<StructuredTool["call"]> {
    // What is spread comes last: Node 20 takes ten times as long to add to a copy.
    const config: JsonObject = { runName: this.name, ...parseCallbackConfigArg(configArg) };
    config["runName"] ??= this.name;
    if (!isToolCall(arg))
      return super.call.call(this.inside.unchecked(), (arg ?? {}) as JsonObject, config, tags);
    config["toolCall"] = arg;
    return super.call.call(this.inside.unchecked(), (arg.args ?? {}) as JsonObject, config, tags);
  }

  /** The result as MCP has it, for callers that are no model: rules, hooks and checks apply as to any call. */
  async run(args: JsonObject, config: RunnableConfig = {}): Promise<ToolResult> {
    checkObject(config, { subject: `The call of tool ${JSON.stringify(this.name)}`, path: "config" });
    const context = new ToolContext(this.mcp, config);
    const report = this.reportTo(config, context, undefined);
    return runTool(this.parts, this.runOf(args, config, { context, report })).catch((error: unknown) => {
      throw tellableFailure(error, this.parts, context);
    });
  }

  /** @internal Whether a door has to look at its calls before they run. */
  get needsReview(): boolean {
    return mayNeedApproval(this.parts);
  }

  /** @internal Prepares a call, for a door that asks for approval before any call of a message runs. */
  async review(call: ToolCall, config: RunnableConfig): Promise<ReviewedCall> {
    const context = new ToolContext(this.mcp, { ...config, toolCall: call } as RunnableConfig);
    const outcome = await prepareRun(this.parts, { given: call.args, context }).catch((error: unknown) =>
      tellableFailure(error, this.parts, context),
    );
    return new ReviewedCall({ name: this.name, parts: this.parts, context, outcome });
  }

  /**
   * @internal Arguments that stand for a call as a door has settled it, for one run. What was settled
   * travels by the identity of this object and not in a config, which anybody may write.
   */
  carry(call: ToolCall, settlement: Settlement): JsonObject {
    const args = { ...call.args };
    this.inside.settled ??= new WeakMap();
    this.inside.settled.set(args, settlement);
    return args;
  }

  /** @internal Has these arguments, which stand for a call, wait for what a door asks for. */
  hold(args: JsonObject, held: HeldCall): void {
    this.inside.held ??= new WeakMap();
    this.inside.held.set(args, held);
  }

  protected override async _call(
    args: unknown,
    runManager?: CallbackManagerForToolRun,
    config: RunnableConfig = {},
  ): Promise<ToolOutput> {
    const context = new ToolContext(this.mcp, config, runManager?.runId);
    const report = this.reportTo(config, context, runManager);
    const notes: string[] = [];
    const run = this.runOf(args, config, { context, report, onNote: (note) => notes.push(note) });
    let result: ToolResult;
    try {
      result = await runTool(this.parts, run);
    } catch (error) {
      const failure = tellableFailure(error, this.parts, context);
      const isRejected = run.settled?.type === "rejected";
      return this.answerFailure(failure, context, { shown: undefined, isRejected });
    }
    const shown = this.contentOf(result, context, notes);
    if (!result.isError) return [shown.content, shown.artifact];
    return this.answerFailure(toolError(this.parts, result), context, { shown, isRejected: false });
  }

  private get parts(): ToolParts {
    return this.inside.parts;
  }

  private runOf(given: unknown, config: RunnableConfig, { context, report, onNote }: RunParts): ToolRun {
    const { name } = this;
    const settled = this.takeSettled(given);
    const held = this.inside.held?.get(Object(given) as object);
    return { name, given, context, timeoutMs: timeoutOf(config), settled, held, report, onNote };
  }

  private takeSettled(args: unknown): Settlement | undefined {
    if (typeof args !== "object" || args === null) return undefined;
    const settled = this.inside.settled?.get(args);
    this.inside.settled?.delete(args);
    return settled;
  }

  /** `undefined` where nobody listens. */
  private reportTo(
    config: RunnableConfig,
    { toolCallId }: ToolContext,
    runManager: CallbackManagerForToolRun | undefined,
  ): ProgressReport | undefined {
    const { parts, name: tool } = this;
    const listeners = progressListeners(parts.settings.onProgress, config, runManager);
    if (listeners.length === 0) return undefined;
    const about = { server: parts.server, tool, toolCallId };
    return new ProgressReport({ about, listeners, clock: systemClock, warn: parts.warn });
  }

  private contentOf(result: ToolResult, { toolCallId }: ToolContext, notes: readonly string[]): Shown {
    const { structuredContent, outputHandling, contentChars } = this.parts.settings;
    const cut = toolCallId !== undefined;
    const shown = toToolContent(result, { structuredContent, outputHandling, contentChars, cut });
    return {
      artifact: withCustomData(shown.artifact, result, this.parts),
      content: withNotes(shown.content, notes),
    };
  }

  private async answerFailure(
    failure: McpRuntimeError,
    { toolCallId }: ToolContext,
    { shown, isRejected }: { readonly shown: Shown | undefined; readonly isRejected: boolean },
  ): Promise<ToolOutput> {
    const isThrown = this.parts.settings.onToolError === "throw" && !isRejected;
    if (toolCallId === undefined || isThrown) throw failure;
    const artifact = { ...(shown?.artifact ?? EMPTY_ARTIFACT), error: toToolFailure(failure) };
    const message = new ToolMessage({
      status: "error",
      content: await this.wordsFor(failure, shown),
      tool_call_id: toolCallId,
      name: this.name,
      artifact,
      metadata: this.metadata ?? {},
    });
    return [message, artifact];
  }

  /** The user's words where a function finds some, else the tool's own where it had any, else ours. */
  private async wordsFor(
    failure: McpRuntimeError,
    shown: Shown | undefined,
  ): Promise<string | LangChainBlock[]> {
    const { onToolError: onToolError } = this.parts.settings;
    const isSilent = shown === undefined || shown.content === "" || shown.content.length === 0;
    const words = isSilent ? toFailureMessage(failure, this.name) : shown.content;
    if (typeof onToolError !== "function") return words;
    try {
      const own: unknown = await onToolError(failure);
      if (typeof own === "string") return own;
      this.parts.warn("onToolError gave no text; the model is told as usual.");
    } catch (error) {
      if (isBubblingUp(error)) throw error;
      this.parts.warn(`onToolError failed; the model is told as usual: ${String(error)}`);
    }
    return words;
  }
}

function isToolCall(value: unknown): value is ToolCall {
  return isPlainObject(value) && value["type"] === "tool_call" && "args" in value;
}

function withNotes(content: Shown["content"], notes: readonly string[]): Shown["content"] {
  if (notes.length === 0) return content;
  const blocks = typeof content === "string" ? [textBlock(content)] : content;
  return [...notes.map(textBlock), ...blocks];
}
