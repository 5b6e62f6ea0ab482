import type { ToolResult } from "../client/tool-result.js";
import { CONTENT_DEFAULTS, type ContentOptions } from "./content/tool-content.js";
import type { CallContext } from "../config/call-context.js";
import { isFunction, option, type OptionFields, optionsSchema } from "../config/parse-options.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import type { ToolProgress } from "./progress-reporter.js";

/** The call that a hook receives. A copy: mutating it has no effect. */
export interface BeforeToolCallInput {
  /** The name of the server. */
  readonly server: string;
  /** The tool's name on the server. */
  readonly tool: string;
  /** The arguments that would be sent. */
  readonly args: JsonObject;
  /** The run and the caller that the call belongs to. */
  readonly context: CallContext;
}

/** What `beforeToolCall` may return to change or deny a call. */
export interface BeforeToolCallResult {
  /** Arguments to send instead. */
  readonly args?: JsonObject;
  /** HTTP headers for this call only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Denies the call with this reason, which the model sees. */
  readonly deny?: string;
}

/** The parts of a result that `afterToolCall` receives and may replace. */
export type AfterToolCallResult = Pick<ToolResult, "content" | "structuredContent" | "isError" | "meta">;

/** How tools behave. All options are optional; `TOOL_DEFAULTS` has the defaults. */
export interface ToolOptions {
  /**
   * The schema that models see: one that all providers accept, or the server's original.
   *
   * @default "portable"
   */
  readonly schema?: "portable" | "as-is";
  /**
   * Where `structuredContent` is shown to the model, as JSON. "fallback": when there is no other content;
   * "prefer": instead of the text blocks; "append": after them, unless one of them is the same JSON; "artifact":
   * never.
   *
   * @default "fallback"
   */
  readonly structuredContent?: ContentOptions["structuredContent"];
  /**
   * Whether the model sees images, audio and embedded resources ("content"), or they are only in the artifact
   * ("artifact").
   *
   * @default { image: "content", audio: "content", resource: "content" }
   */
  readonly outputHandling?: Partial<ContentOptions["outputHandling"]>;
  /**
   * What happens when a result does not match the tool's `outputSchema`: a warning, an error of kind
   * `invalid-response`, or nothing.
   *
   * @default "warn"
   */
  readonly outputValidation?: "warn" | "error" | "off";
  /** Limits on what the model sees. */
  readonly limits?: {
    /**
     * The maximum number of characters of text of one result that a model sees.
     *
     * @default 100000
     */
    readonly contentChars?: number;
  };
  /**
   * What a failed tool call does: return an error message to the model, throw, or return the string of your
   * function to the model.
   *
   * @default "return"
   */
  readonly onToolError?: "return" | "throw" | ((error: McpRuntimeError) => string | Promise<string>);
  /**
   * Runs before each call; may change the arguments, add headers or deny the call. The call is denied when it
   * throws.
   *
   * @example
   * ```ts
   * beforeToolCall: ({ tool, args }) => (tool === "delete" && args.all ? { deny: "not everything" } : undefined)
   * ```
   */
  readonly beforeToolCall?: (
    call: BeforeToolCallInput,
  ) => BeforeToolCallResult | undefined | void | Promise<BeforeToolCallResult | undefined | void>;
  /** Runs after each call. The fields it returns replace those of the result. */
  readonly afterToolCall?: (
    call: BeforeToolCallInput & { readonly result: AfterToolCallResult },
  ) =>
    | Partial<AfterToolCallResult>
    | undefined
    | void
    | Promise<Partial<AfterToolCallResult> | undefined | void>;
  /** Extracts plain JSON from a result into `artifact.customData`, which the model does not see. Synchronous. */
  readonly customData?: (result: AfterToolCallResult) => unknown;
  /** Sent to the server as `_meta`. */
  readonly meta?:
    | JsonObject
    | ((context: CallContext) => JsonObject | undefined | Promise<JsonObject | undefined>);
  /**
   * Decides whether a call that needs approval (`requireApproval` in its rule) may run, where an interrupt of
   * `mcpMiddleware` or `McpToolNode` has not decided it. Only `true` approves. Without it, the call is denied
   * unless the graph can be interrupted.
   */
  readonly onApproval?: (call: BeforeToolCallInput) => boolean | Promise<boolean>;
  /** Receives the progress notifications of a call, at most ten per second. */
  readonly onProgress?: (progress: ToolProgress) => void;
}

/** The defaults of `ToolOptions`, and of the factory option `resourceTools`. */
export const TOOL_DEFAULTS = {
  schema: "portable",
  structuredContent: CONTENT_DEFAULTS.structuredContent,
  outputHandling: CONTENT_DEFAULTS.outputHandling,
  outputValidation: "warn",
  limits: { contentChars: CONTENT_DEFAULTS.contentChars },
  onToolError: "return",
  resourceTools: false,
} as const;

/** The schemas of the fields of `ToolOptions`. */
export const TOOL_OPTION_FIELDS: OptionFields<ToolOptions> = {
  schema: option.oneOf("portable", "as-is"),
  structuredContent: option.oneOf("fallback", "prefer", "append", "artifact"),
  outputHandling: optionsSchema<Partial<ContentOptions["outputHandling"]>>({
    image: option.oneOf("content", "artifact"),
    audio: option.oneOf("content", "artifact"),
    resource: option.oneOf("content", "artifact"),
  }),
  outputValidation: option.oneOf("warn", "error", "off"),
  limits: optionsSchema<NonNullable<ToolOptions["limits"]>>(
    { contentChars: option.count },
    { hint: "The limits of a server belong in its definition" },
  ),
  onToolError: option.oneOf("return", "throw").or(option.function()),
  beforeToolCall: option.function(),
  afterToolCall: option.function(),
  customData: option.function(),
  meta: option.opaque("an object or a function", (value) => isFunction(value) || isPlainObject(value)),
  onApproval: option.function(),
  onProgress: option.function(),
};

type Hooks = "beforeToolCall" | "afterToolCall" | "customData" | "meta" | "onApproval" | "onProgress";

/** `ToolOptions` with defaults applied. */
export type ToolSettings = Required<Omit<ToolOptions, Hooks | "outputHandling" | "limits">> & {
  readonly [Hook in Hooks]: ToolOptions[Hook] | undefined;
} & Pick<ContentOptions, "outputHandling" | "contentChars">;

/** Fills in the defaults of validated options. */
export function resolveToolOptions(options: ToolOptions): ToolSettings {
  return {
    schema: options.schema ?? TOOL_DEFAULTS.schema,
    structuredContent: options.structuredContent ?? TOOL_DEFAULTS.structuredContent,
    outputValidation: options.outputValidation ?? TOOL_DEFAULTS.outputValidation,
    onToolError: options.onToolError ?? TOOL_DEFAULTS.onToolError,
    outputHandling: { ...TOOL_DEFAULTS.outputHandling, ...omitUndefined(options.outputHandling) },
    contentChars: options.limits?.contentChars ?? TOOL_DEFAULTS.limits.contentChars,
    beforeToolCall: options.beforeToolCall,
    afterToolCall: options.afterToolCall,
    customData: options.customData,
    meta: options.meta,
    onApproval: options.onApproval,
    onProgress: options.onProgress,
  };
}
