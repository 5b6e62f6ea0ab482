import {
  CallbackManager,
  type CallbackManagerForToolRun,
  parseCallbackConfigArg,
} from "@langchain/core/callbacks/manager";
import { type ToolCall, ToolMessage } from "@langchain/core/messages/tool";
import type { RunnableConfig } from "@langchain/core/runnables";
import { StructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import { raceDeadline, systemClock } from "../async/clock.js";
import type { ToolResult } from "../client/tool-result.js";
import { freezeIfListed, getToolUi, type McpToolInfo } from "../config/server-features.js";
import { assertObject } from "../config/parse-options.js";
import type { ToolRule } from "../config/tool-rules.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue, stripHiddenCharacters } from "../errors/sanitize-text.js";
import { cloneJson, ignoreRejection, isPlainObject, isPromiseLike, type JsonObject } from "../json/json.js";
import { type LangChainBlock, textBlock } from "./content/langchain-block.js";
import { type ToolArtifact, type ToolContent, toToolContent } from "./content/tool-content.js";
import { keepLargeResult } from "./large-results/keep-large-result.js";
import { createProgressReporter } from "./progress-reporter.js";
import { executeToolCall } from "./execute-tool-call.js";
import {
  toFailureMessage,
  EMPTY_ARTIFACT,
  isGraphBubbleUp,
  toModelFailure,
  toolError,
  toToolFailure,
} from "./tool-failure.js";
import { resolveOutput } from "./tool-options.js";
import { getKeptRest } from "./tool-description.js";
import {
  type CallInterceptor,
  ToolContext,
  ToolRun,
  type ToolRunConfig,
  type ToolRuntime,
  toRunSignal,
} from "./tool-run.js";

/** An MCP tool as its server describes it, and the rule that applies to it. */
export interface McpToolDetails {
  /** The name of the server; empty for `read_result`, which belongs to the toolset. */
  readonly server: string;
  /** The tool's name on the server, which may differ from the LangChain tool's name. */
  readonly name: string;
  /** The name for people, without hidden characters; `undefined` if the server has none. */
  readonly title: string | undefined;
  /** The tool annotations of the server, as received. */
  readonly annotations: JsonObject | undefined;
  /** The icons of the tool, as received. */
  readonly icons: readonly JsonObject[] | undefined;
  /** `_meta` of the tool, as received. */
  readonly meta: JsonObject | undefined;
  /** The current input schema of the server; models may see a portable version of it. */
  readonly inputSchema: JsonObject;
  /** The JSON Schema of `structuredContent`; `undefined` if the server declares none. */
  readonly outputSchema: JsonObject | undefined;
  /**
   * The merged rule for this tool, without `args`: injected values may be secret. `requireApproval` is `true` if several
   * levels have different conditions, each of which counts.
   */
  readonly rule: Omit<ToolRule, "args">;
  /** A hash of the input schema. */
  readonly schemaHash: string;
}

interface McpToolFields {
  readonly name: string;
  readonly description: string;
  readonly server: string;
  /** The tool as its server lists it. */
  readonly info: McpToolInfo;
  /** Added to the metadata that every MCP tool has. */
  readonly metadata: JsonObject;
  readonly rule: ToolRuntime["rule"];
  readonly approval: ToolRuntime["approval"];
  /** The whole description, of which `description` may be a part. */
  readonly wholeDescription: string;
  /** Called once, when the tool is first shown or called: of a thousand tools, few are. */
  readonly createRuntime: (tool: McpTool) => ToolRuntime;
}

interface ToolInternals {
  fields: McpToolFields;
  runtime: ToolRuntime | undefined;
  details: McpToolDetails | undefined;
  /**
   * The tool as `StructuredTool.call` sees it: with a schema that accepts everything. Created by the first
   * call, because creating it makes the tool a prototype object, which costs more than the tool itself.
   */
  uncheckedTool: StructuredTool | undefined;
  /** By the arguments object that was created for the call. */
  interceptors: WeakMap<object, CallInterceptor> | undefined;
}

type ConvertedResult = Pick<ToolContent, "content" | "artifact">;
type ToolOutput = [content: string | LangChainBlock[] | ToolMessage, artifact: ToolArtifact];

/**
 * Arguments are validated in `_call`, so that callbacks see invalid calls and this package writes the error message. A
 * zod schema, because LangChain takes seven times as long to validate against an empty JSON schema.
 */
const ANY_SCHEMA = z.unknown();

const STRUCTURED_TOOL_FIELDS = { responseFormat: "content_and_artifact" } as const;

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
  declare private readonly internals: ToolInternals;

  /** Called by the factories, for example `createMcpTools`. */
  constructor(fields: McpToolFields) {
    super(STRUCTURED_TOOL_FIELDS);
    // Not passed to `super`, which reads every property: `schema_hash` is computed on demand.
    this.metadata = Object.freeze(toToolMetadata(this, fields));
    this.name = fields.name;
    this.description = fields.description;
    const internals: ToolInternals = {
      fields,
      runtime: undefined,
      details: undefined,
      uncheckedTool: undefined,
      interceptors: undefined,
    };
    // Not enumerable, so that it is neither printed nor serialized: it refers to clients and credentials.
    Object.defineProperty(this, "internals", { value: internals });
  }

  /** The tool as its server describes it. */
  get mcp(): McpToolDetails {
    return (this.internals.details ??= Object.freeze(toToolDetails(this.runtime)));
  }

  /** @internal */
  get runtime(): ToolRuntime {
    const { internals } = this;
    return (internals.runtime ??= internals.fields.createRuntime(this));
  }

  /** @internal Does not create the runtime, as `mcp` does. */
  get listed(): Pick<McpToolFields, "server" | "info"> {
    return this.internals.fields;
  }

  /** @internal What a newer list of the server may change. Does not create the runtime. */
  get changeable(): Pick<McpToolFields, "server" | "info" | "rule" | "wholeDescription"> {
    const { fields, runtime } = this.internals;
    if (runtime === undefined) return fields;
    const { rule, schema } = runtime;
    return { ...fields, rule, info: schema.info, wholeDescription: schema.description.text };
  }

  /** @internal Uses the rule of a tool that is otherwise the same: a rules function may return other functions each time. */
  adoptRule({ internals: { fields } }: McpTool): void {
    const { internals } = this;
    internals.fields = fields;
    if (internals.runtime === undefined) return;
    internals.runtime.rule = fields.rule;
    internals.runtime.approval = fields.approval;
  }

  /** @internal What does not fit into the description, for estimates of tokens. */
  get descriptionRest(): string {
    const { description, info } = this.runtime.schema;
    return getKeptRest(description, info.inputSchema);
  }

  /** The input schema that models see, for the tool as last seen. Frozen, because all users of the tool share it. */
  override get schema(): JsonObject {
    return this.runtime.schema.modelSchema();
  }

  /**
   * Runs the tool. The run is named after the tool in traces; missing arguments become an empty object.
   *
   * @throws McpRuntimeError of any kind without a tool call id or with `onToolError: "throw"`. Otherwise a failure is an error
   * message for the model, except for kinds that no model can handle: `closed`, `invalid-config`, and the abort of the caller.
   */
  override call(
    ...[arg, configArg, tags]: Parameters<StructuredTool["call"]>
  ): ReturnType<StructuredTool["call"]> {
    // The spread comes last: on Node 20, adding properties to a spread copy is ten times slower.
    const config: JsonObject = { runName: this.name, ...parseCallbackConfigArg(configArg) };
    config["runName"] ??= this.name;
    const { internals } = this;
    const tool = (internals.uncheckedTool ??= Object.create(this, {
      schema: { value: ANY_SCHEMA },
    }) as StructuredTool);
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
  async run(args: JsonObject, config: ToolRunConfig = {}): Promise<ToolResult> {
    assertObject(config, { subject: `The call to tool ${JSON.stringify(this.name)}`, path: "config" });
    const signal = toRunSignal(config);
    const run = this.createRun(args, signal === undefined ? config : { ...config, signal });
    let callbacks: CallbackManagerForToolRun | undefined;
    try {
      if (config.callbacks !== undefined) callbacks = await startToolRun(this, args, config);
    } catch (error) {
      run.dispose();
      throw error;
    }
    let result: ToolResult;
    try {
      result = await executeToolCall(run);
    } catch (error) {
      const failure = toModelFailure(error, run);
      await callbacks?.handleToolError(failure);
      throw failure;
    }
    await callbacks?.handleToolEnd(result.text());
    return result;
  }

  /**
   * @internal Replaces steps of the next call with this arguments object. The call is found by the identity of the
   * object and not through a config, which any caller can set.
   */
  intercept(args: JsonObject, steps: Partial<CallInterceptor>): void {
    const { internals } = this;
    internals.interceptors ??= new WeakMap();
    internals.interceptors.set(args, { ...this.runtime.interceptor, ...steps });
  }

  protected override async _call(
    args: unknown,
    runManager?: CallbackManagerForToolRun,
    config: RunnableConfig = {},
  ): Promise<ToolOutput> {
    const run = this.createRun(args, config, runManager);
    let result: ToolResult;
    try {
      result = await executeToolCall(run);
    } catch (error) {
      return this.toFailureOutput(toModelFailure(error, run), run);
    }
    const conversion = convertResult(result, run);
    const converted = conversion instanceof Promise ? await conversion : conversion;
    if (!result.isError) return [converted.content, converted.artifact];
    return this.toFailureOutput(toolError(run.runtime, result), run, converted);
  }

  private createRun(args: unknown, config: RunnableConfig, runManager?: CallbackManagerForToolRun): ToolRun {
    const { runtime } = this;
    const { interceptors } = this.internals;
    const context = new ToolContext(runtime, config, runManager?.runId);
    const progress = createProgressReporter(runtime, context, runManager);
    const attached = interceptors?.get(args as object);
    // An approval is for one run.
    if (attached !== undefined) interceptors?.delete(args as object);
    return new ToolRun(runtime, { args, context, interceptor: attached ?? runtime.interceptor, progress });
  }

  /** Throws the failure where there is no tool call or `onToolError` is "throw"; a rejection is never thrown. */
  private async toFailureOutput(
    failure: McpRuntimeError,
    run: ToolRun,
    converted?: ConvertedResult,
  ): Promise<ToolOutput> {
    const { runtime, isRejected } = run;
    const { toolCallId } = run.context;
    const isThrown = outputSettings(runtime).onToolError === "throw" && !isRejected;
    if (toolCallId === undefined || isThrown) throw failure;
    const artifact = { ...(converted?.artifact ?? EMPTY_ARTIFACT), error: toToolFailure(failure) };
    const message = new ToolMessage({
      status: "error",
      content: await getFailureContent(failure, run, converted),
      tool_call_id: toolCallId,
      name: this.name,
      artifact,
      metadata: this.metadata ?? {},
    });
    return [message, artifact];
  }
}

function outputSettings({ settings, caller }: ToolRuntime) {
  return resolveOutput(settings, caller.output);
}

function isToolCall(value: unknown): value is ToolCall {
  return isPlainObject(value) && value["type"] === "tool_call" && "args" in value;
}

/** What a model sees of a blank result: some providers reject a request with a blank message. */
const NO_CONTENT = "[no content to show]";

function isBlank(content: ConvertedResult["content"]): boolean {
  return typeof content === "string" && !/\S/.test(content);
}

/** Returns a promise only if the result is large and is kept. */
function convertResult(result: ToolResult, run: ToolRun): ConvertedResult | Promise<ConvertedResult> {
  const { runtime, context, notice } = run;
  const { structuredContent, outputHandling, contentChars } = outputSettings(runtime);
  const { largeResults: resultStore } = runtime.settings;
  const truncate = context.toolCallId !== undefined;
  const mediaBytes = resultStore?.options.mediaBytes;
  const options = { structuredContent, outputHandling, contentChars, truncate, mediaBytes };
  const converted = toToolContent(result, options);
  const artifact = withUi(withCustomData(converted.artifact, result, runtime), runtime);
  if (resultStore === undefined || converted.whole === undefined) {
    const content =
      truncate && !result.isError && isBlank(converted.content) ? NO_CONTENT : converted.content;
    return { artifact, content: withNotice(content, notice) };
  }
  return keepLargeResult(run, resultStore, { content: converted.content, whole: converted.whole }).then(
    (content) => ({ artifact, content: withNotice(content, notice) }),
  );
}

function withNotice(
  content: ConvertedResult["content"],
  notice: string | undefined,
): ConvertedResult["content"] {
  if (notice === undefined) return content;
  const blocks = typeof content === "string" ? [textBlock(content)] : content;
  return [textBlock(notice), ...blocks];
}

/** Adds which page shows the result. */
function withUi(artifact: ToolArtifact, { schema }: ToolRuntime): ToolArtifact {
  const ui = getToolUi(schema.info);
  return ui === undefined ? artifact : { ...artifact, ui: cloneJson(ui) };
}

/** Adds what the option `customData` returns. When the user's callback fails, the artifact stays as it is. */
function withCustomData(
  artifact: ToolArtifact,
  { content, structuredContent, isError, meta }: ToolResult,
  { settings, warn }: ToolRuntime,
): ToolArtifact {
  if (settings.customData === undefined) return artifact;
  try {
    const customData = settings.customData(structuredClone({ content, structuredContent, isError, meta }));
    if (isPromiseLike(customData)) {
      ignoreRejection(customData);
      warn("customData returned a promise, which is ignored: it has to return its value synchronously.");
      return artifact;
    }
    return customData === undefined ? artifact : { ...artifact, customData: cloneJson(customData) };
  } catch (error) {
    warn(`customData failed and is ignored: ${printValue(error)}`);
    return artifact;
  }
}

/** The text of the user's `onToolError`, else the content of the error result, else our message for the kind. */
async function getFailureContent(
  failure: McpRuntimeError,
  run: ToolRun,
  converted: ConvertedResult | undefined,
): Promise<string | LangChainBlock[]> {
  const { name, warn } = run.runtime;
  const { onToolError } = outputSettings(run.runtime);
  const isEmpty = converted === undefined || converted.content.length === 0;
  const content = isEmpty ? toFailureMessage(failure, name) : converted.content;
  if (typeof onToolError !== "function") return content;
  return run.runAfterwards(async (cancellation, ms) => {
    const createError = () => new Error(`it did not settle within ${Math.ceil(ms)} ms (timeouts.totalMs)`);
    try {
      const returned: unknown = onToolError(failure);
      const custom = isPromiseLike(returned)
        ? await raceDeadline({ ms, clock: systemClock, cancellation, createError }, returned)
        : returned;
      if (typeof custom === "string") return custom;
      warn("onToolError did not return a string; the default message is used.");
    } catch (error) {
      if (isGraphBubbleUp(error)) throw error;
      cancellation.throwIfCancelled();
      warn(`onToolError failed; the default message is used: ${printValue(error)}`);
    }
    return content;
  });
}

function toToolDetails(runtime: ToolRuntime): McpToolDetails {
  const { server, rule, schema } = runtime;
  const { name, title, annotations, icons, meta, outputSchema } = freezeIfListed(schema.info);
  const { args: _, ...visibleRule } = rule;
  return {
    server,
    name,
    title: toShownTitle(title),
    annotations: toShownAnnotations(annotations),
    icons,
    meta,
    outputSchema,
    rule: visibleRule,
    get inputSchema() {
      return freezeIfListed(runtime.schema.info).inputSchema;
    },
    get schemaHash() {
      return runtime.schema.hash();
    },
  };
}

/** Metadata objects do not refer to their tool: they are printed and stored, and a tool refers to credentials. */
const toolsByMetadata = new WeakMap<object, McpTool>();

/** One getter for all tools: with a getter each, V8 would store every metadata object as a hash table. */
const SCHEMA_HASH = {
  get(this: object) {
    return toolsByMetadata.get(this)?.runtime.schema.hash();
  },
  enumerable: true,
  configurable: true,
};

/** Returns the metadata of every run and every message of the tool; `extra` takes precedence. */
function toToolMetadata(tool: McpTool, { server, info, metadata: extra }: McpToolFields): JsonObject {
  const { name, annotations, icons, meta } = info;
  const title = toShownTitle(info.title);
  const metadata: JsonObject = {
    tool_type: "mcp",
    display_name: title ?? toShownTitle(name),
    server,
    annotations: toShownAnnotations(annotations),
    title,
  };
  if (isSmall(icons)) metadata["icons"] = icons;
  if (isSmall(meta)) metadata["_meta"] = meta;
  toolsByMetadata.set(metadata, tool);
  Object.defineProperty(metadata, "schema_hash", SCHEMA_HASH);
  return Object.assign(metadata, extra);
}

/** Reports a run to callbacks as `StructuredTool.call` does. */
async function startToolRun(
  tool: McpTool,
  args: JsonObject,
  { callbacks, tags, metadata, runId, runName = tool.name }: ToolRunConfig,
): Promise<CallbackManagerForToolRun | undefined> {
  const manager = CallbackManager.configure(
    callbacks,
    tool.callbacks,
    tags,
    tool.tags,
    metadata,
    tool.metadata,
  );
  const input = JSON.stringify(args);
  return manager?.handleToolStart(tool.toJSON(), input, runId, undefined, undefined, undefined, runName);
}

const MAX_METADATA_CHARS = 4_096;

/** Metadata is copied to every run and every message: an icon may be a data URL of any size. */
function isSmall(value: object | undefined): boolean {
  return value !== undefined && JSON.stringify(value).length <= MAX_METADATA_CHARS;
}

function toShownTitle(title: string | undefined): string | undefined {
  return title === undefined ? undefined : stripHiddenCharacters(title);
}

/** Without hidden characters in the title. */
function toShownAnnotations(annotations: JsonObject | undefined): JsonObject | undefined {
  const title = annotations?.["title"];
  if (typeof title !== "string") return annotations;
  const shown = stripHiddenCharacters(title);
  return shown === title ? annotations : Object.freeze({ ...annotations, title: shown });
}
