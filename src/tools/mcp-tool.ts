import { type CallbackManagerForToolRun, parseCallbackConfigArg } from "@langchain/core/callbacks/manager";
import { type ToolCall, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { StructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import type { ToolResult } from "../client/tool-result.js";
import type { LangChainBlock } from "../content/langchain-block.js";
import type { ToolArtifact } from "../content/tool-artifact.js";
import { toToolContent } from "../content/tool-content.js";
import type { CallContext } from "../definitions/call-context.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toFailureMessage } from "./failure-message.js";
import { EMPTY_ARTIFACT, isBubblingUp, tellableFailure, toolError, toToolFailure } from "./tool-failure.js";
import { detailsOf, type McpToolDetails, metadataOf } from "./tool-details.js";
import type { ToolParts } from "./tool-parts.js";
import { runTool } from "./tool-run.js";

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
  private readonly parts: ToolParts;
  private readonly unchecked: this;

  constructor(fields: McpToolFields) {
    super({ responseFormat: "content_and_artifact" });
    // Not through the constructor, which reads all of it, and some of it takes time to make.
    this.metadata = metadataOf(fields.parts, fields.metadata);
    this.name = fields.name;
    this.description = fields.description;
    this.mcp = detailsOf(fields.parts);
    this.parts = fields.parts;
    this.unchecked = Object.create(this, { schema: { value: ACCEPTS_EVERYTHING } }) as this;
    // Kept out of what is printed and serialised: they lead to clients and their credentials.
    for (const name of ["parts", "unchecked"]) Object.defineProperty(this, name, { enumerable: false });
  }

  /** The schema that models see: of the tool as it is known now. */
  override get schema(): JsonObject {
    return this.parts.schema.shown();
  }

  /** The run's name is the tool's, in every trace. No arguments are an empty object. */
  override async call(
    ...[arg, configArg, tags]: Parameters<StructuredTool["call"]>
  ): ReturnType<StructuredTool["call"]> {
    const config = parseCallbackConfigArg(configArg);
    const toolCall = isToolCall(arg) ? { toolCall: arg } : {};
    const args = ((isToolCall(arg) ? arg.args : arg) ?? {}) as JsonObject;
    return super.call.call(
      this.unchecked,
      args,
      { ...config, ...toolCall, runName: config.runName ?? this.name },
      tags,
    );
  }

  /** The result as MCP has it, for callers that are no model: rules, hooks and checks apply as to any call. */
  async run(args: JsonObject, config: RunnableConfig = {}): Promise<ToolResult> {
    const context = this.contextOf(config);
    const call = { given: args, context, timeoutMs: timeoutOf(config) };
    return runTool(this.parts, call).catch((error: unknown) => {
      throw tellableFailure(error, this.parts, context);
    });
  }

  protected override async _call(
    args: unknown,
    _runManager?: CallbackManagerForToolRun,
    config: RunnableConfig = {},
  ): Promise<ToolOutput> {
    const context = this.contextOf(config);
    const call = { given: args, context, timeoutMs: timeoutOf(config) };
    const outcome = await runTool(this.parts, call).then(
      (result) => ({ result, failure: result.isError ? toolError(this.parts, result) : undefined }),
      (error: unknown) => ({ result: undefined, failure: tellableFailure(error, this.parts, context) }),
    );
    const shown = outcome.result === undefined ? undefined : this.contentOf(outcome.result, context);
    if (outcome.failure !== undefined) return this.answerFailure(outcome.failure, context, shown);
    return [shown?.content ?? "", shown?.artifact ?? EMPTY_ARTIFACT];
  }

  private contentOf(result: ToolResult, { toolCallId }: CallContext): Shown {
    const { structuredContent, outputHandling, contentChars } = this.parts.settings;
    return toToolContent(result, {
      structuredContent,
      outputHandling,
      contentChars,
      cut: toolCallId !== undefined,
    });
  }

  private async answerFailure(
    failure: McpRuntimeError,
    { toolCallId }: CallContext,
    shown: Shown | undefined,
  ): Promise<ToolOutput> {
    if (toolCallId === undefined || this.parts.settings.onFailure === "error") throw failure;
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
    const { onFailure } = this.parts.settings;
    const isSilent = shown === undefined || shown.content === "" || shown.content.length === 0;
    const words = isSilent ? toFailureMessage(failure, this.name) : shown.content;
    if (typeof onFailure !== "function") return words;
    try {
      const own: unknown = await onFailure(failure);
      if (typeof own === "string") return own;
      this.parts.warn("onFailure gave no text; the model is told as usual.");
    } catch (error) {
      if (isBubblingUp(error)) throw error;
      this.parts.warn(`onFailure failed; the model is told as usual: ${String(error)}`);
    }
    return words;
  }

  /** Copies, as far as they can be made: functions of the user's get this. Made when one of them looks. */
  private contextOf(config: RunnableConfig): CallContext {
    const given = config as JsonObject;
    const { toolCall } = given;
    const isCall = isJsonObject(toolCall);
    return {
      purpose: "call",
      server: this.mcp.server,
      tool: this.mcp.name,
      // A tool call without an id is one all the same: its failure is told, not thrown.
      toolCallId: isCall ? idOf(toolCall) : undefined,
      get configurable() {
        return { ...config.configurable };
      },
      context: given["context"],
      state: given["state"],
      store: given["store"],
      signal: config.signal,
      get config() {
        return isCall ? { ...given, toolCall: structuredClone(toolCall) } : { ...given };
      },
    };
  }
}

/** LangChain keeps the time limit of a run in its metadata, next to the signal that enforces it. */
function timeoutOf({ metadata }: RunnableConfig): number | undefined {
  const timeoutMs: unknown = metadata?.["timeoutMs"];
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

function idOf({ id }: JsonObject): string {
  return typeof id === "string" ? id : "";
}

function isToolCall(value: unknown): value is ToolCall {
  return isJsonObject(value) && value["type"] === "tool_call" && "args" in value;
}
