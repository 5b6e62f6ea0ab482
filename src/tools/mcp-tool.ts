import { type CallbackManagerForToolRun, parseCallbackConfigArg } from "@langchain/core/callbacks/manager";
import { ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { StructuredTool } from "@langchain/core/tools";
import type { ToolResult } from "../client/tool-result.js";
import type { LangChainBlock } from "../content/langchain-block.js";
import type { ToolArtifact } from "../content/tool-artifact.js";
import { toToolContent } from "../content/tool-content.js";
import type { CallContext } from "../definitions/call-context.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { ToolRule } from "../definitions/tool-rules.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { toFailureMessage } from "./failure-message.js";
import { EMPTY_ARTIFACT, tellableFailure, toolError, toToolFailure } from "./tool-failure.js";
import { runTool, type ToolParts } from "./tool-run.js";

/** What a tool is on its server. */
export interface McpToolDetails {
  readonly server: string;
  /** The server's own name of it, by which it is called. */
  readonly name: string;
  readonly title: string | undefined;
  readonly annotations: JsonObject | undefined;
  readonly icons: readonly JsonObject[] | undefined;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  readonly rule: ToolRule;
  /** Changes when the input schema does. */
  readonly schemaHash: string;
}

export interface McpToolFields {
  /** The name that models see. */
  readonly name: string;
  readonly description: string;
  /** The schema that models see. */
  readonly schema: JsonObject;
  readonly metadata: JsonObject;
  readonly details: McpToolDetails;
  readonly parts: ToolParts;
}

type Shown = ReturnType<typeof toToolContent>;
type ToolOutput = [content: string | LangChainBlock[] | ToolMessage, artifact: ToolArtifact];

/** Arguments are checked in `_call`, where callbacks see the call and we choose the words. */
const ACCEPTS_EVERYTHING = {};

/**
 * An MCP tool as a LangChain tool. With a tool call id, a failure comes back as a ToolMessage that
 * the model can act on; a direct `invoke(args)` throws it.
 *
 * No private fields: `call` runs on an object that inherits from this one.
 */
export class McpTool extends StructuredTool {
  static override lc_name(): string {
    return "McpTool";
  }

  override readonly name: string;
  override readonly description: string;
  override readonly schema: JsonObject;
  override readonly responseFormat = "content_and_artifact";
  readonly mcp: McpToolDetails;
  private readonly parts: ToolParts;

  constructor(fields: McpToolFields) {
    super({ metadata: fields.metadata, responseFormat: "content_and_artifact" });
    this.name = fields.name;
    this.description = fields.description;
    this.schema = fields.schema;
    this.mcp = fields.details;
    this.parts = fields.parts;
    // Kept out of what is printed and serialised: it leads to clients and their credentials.
    Object.defineProperty(this, "parts", { enumerable: false });
  }

  /** The run's name is the tool's, in every trace. */
  override async call(
    ...[arg, configArg, tags]: Parameters<StructuredTool["call"]>
  ): ReturnType<StructuredTool["call"]> {
    const unchecked = Object.create(this, { schema: { value: ACCEPTS_EVERYTHING } }) as this;
    const config = parseCallbackConfigArg(configArg);
    return super.call.call(unchecked, arg, { ...config, runName: config.runName ?? this.name }, tags);
  }

  /** The result as MCP has it, for callers that are no model: rules, hooks and checks apply as to any call. */
  async run(args: JsonObject, config: RunnableConfig = {}): Promise<ToolResult> {
    return runTool(this.parts, args, this.contextOf(config));
  }

  protected override async _call(
    args: unknown,
    _runManager?: CallbackManagerForToolRun,
    config: RunnableConfig = {},
  ): Promise<ToolOutput> {
    const context = this.contextOf(config);
    const outcome = await runTool(this.parts, args, context).then(
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

  /** In the tool's own words when it had any. */
  private answerFailure(
    failure: McpRuntimeError,
    { toolCallId }: CallContext,
    shown: Shown | undefined,
  ): ToolOutput {
    const { onFailure } = this.parts.settings;
    if (toolCallId === undefined || onFailure === "error") throw failure;
    const words = shown?.content ?? toFailureMessage(failure, this.name);
    const artifact = { ...(shown?.artifact ?? EMPTY_ARTIFACT), error: toToolFailure(failure) };
    const message = new ToolMessage({
      status: "error",
      content: typeof onFailure === "function" ? onFailure(failure) : words,
      tool_call_id: toolCallId,
      name: this.name,
      artifact,
      metadata: this.metadata ?? {},
    });
    return [message, artifact];
  }

  private contextOf(config: RunnableConfig): CallContext {
    const all = config as JsonObject;
    const toolCall = all["toolCall"];
    const id = isJsonObject(toolCall) ? toolCall["id"] : undefined;
    return {
      purpose: "call",
      server: this.mcp.server,
      tool: this.mcp.name,
      toolCallId: typeof id === "string" && id !== "" ? id : undefined,
      configurable: config.configurable ?? {},
      context: all["context"],
      state: all["state"],
      store: all["store"],
      signal: config.signal,
      config: all,
    };
  }
}
