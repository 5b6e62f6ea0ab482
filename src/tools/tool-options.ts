import type { ToolResult } from "../client/tool-result.js";
import { CONTENT_DEFAULTS, type ContentOptions } from "./content/tool-content.js";
import type { CallContext } from "../config/call-context.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolProgress } from "./progress-reporter.js";

/** The call that a hook receives. A copy: mutating it has no effect. */
export interface BeforeToolCallInput {
  /** The name of the server. */
  readonly server: string;
  /** The tool's name on the server. */
  readonly tool: string;
  /** The arguments that would be sent. */
  readonly args: JsonObject;
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

/** `ToolOptions` with defaults applied. */
export type ToolSettings = Required<
  Pick<ToolOptions, "schema" | "structuredContent" | "outputValidation" | "onToolError">
> &
  Pick<
    ToolOptions,
    "beforeToolCall" | "afterToolCall" | "customData" | "meta" | "onApproval" | "onProgress"
  > & {
    readonly outputHandling: ContentOptions["outputHandling"];
    readonly contentChars: number;
  };

/** @throws McpRuntimeError `invalid-config` */
export function resolveToolOptions(options: ToolOptions): ToolSettings {
  const issues = validateToolOptions(options);
  if (issues.length > 0) throw configError("The options object", issues);
  const { beforeToolCall, afterToolCall, customData, meta, onApproval, onProgress } = options;
  return {
    schema: options.schema ?? TOOL_DEFAULTS.schema,
    structuredContent: options.structuredContent ?? TOOL_DEFAULTS.structuredContent,
    outputValidation: options.outputValidation ?? TOOL_DEFAULTS.outputValidation,
    onToolError: options.onToolError ?? TOOL_DEFAULTS.onToolError,
    outputHandling: { ...TOOL_DEFAULTS.outputHandling, ...options.outputHandling },
    contentChars: options.limits?.contentChars ?? TOOL_DEFAULTS.limits.contentChars,
    ...(beforeToolCall === undefined ? {} : { beforeToolCall }),
    ...(afterToolCall === undefined ? {} : { afterToolCall }),
    ...(customData === undefined ? {} : { customData }),
    ...(meta === undefined ? {} : { meta }),
    ...(onApproval === undefined ? {} : { onApproval }),
    ...(onProgress === undefined ? {} : { onProgress }),
  };
}

const CHOICES: readonly (readonly [
  key: keyof ToolOptions,
  choices: readonly string[],
  orFunction: boolean,
])[] = [
  ["schema", ["portable", "as-is"], false],
  ["structuredContent", ["fallback", "prefer", "append", "artifact"], false],
  ["outputValidation", ["warn", "error", "off"], false],
  ["onToolError", ["return", "throw"], true],
];
const FUNCTIONS = ["beforeToolCall", "afterToolCall", "customData", "onApproval", "onProgress"] as const;

function validateToolOptions(options: ToolOptions): ConfigIssue[] {
  const choices = CHOICES.filter(([key, allowed, orFunction]) => {
    const value = options[key];
    const isValid =
      value === undefined || allowed.includes(value as string) || (orFunction && typeof value === "function");
    return !isValid;
  }).map(([path, allowed]) => ({
    path,
    message: `expected one of ${allowed.join(", ")}, got ${describeValue(options[path])}`,
  }));
  const functions = FUNCTIONS.filter(
    (path) => options[path] !== undefined && typeof options[path] !== "function",
  ).map((path) => ({ path, message: `expected a function, got ${describeValue(options[path])}` }));
  const handling = validateOutputHandling(options.outputHandling);
  const { meta } = options;
  const isMeta = meta === undefined || typeof meta === "function" || isPlainObject(meta);
  return [
    ...choices,
    ...functions,
    ...validateLimits(options.limits),
    ...handling,
    ...(isMeta ? [] : [{ path: "meta", message: "expected an object or a function" }]),
  ];
}

function validateLimits(limits: unknown): ConfigIssue[] {
  if (limits === undefined) return [];
  if (!isPlainObject(limits))
    return [{ path: "limits", message: `expected { contentChars }, got ${describeValue(limits)}` }];
  const { contentChars, ...others } = limits;
  const isLimit = contentChars === undefined || (Number.isInteger(contentChars) && Number(contentChars) > 0);
  return [
    ...(isLimit ? [] : [{ path: "limits.contentChars", message: "expected a whole number above 0" }]),
    ...Object.keys(others).map((key) => ({
      path: `limits.${key}`,
      message: "unknown option; valid options: contentChars. The limits of a server belong in its definition",
    })),
  ];
}

function validateOutputHandling(handling: unknown): ConfigIssue[] {
  if (handling === undefined) return [];
  if (!isPlainObject(handling))
    return [{ path: "outputHandling", message: "expected { image, audio, resource }" }];
  return Object.entries(handling)
    .filter(
      ([key, value]) =>
        !["image", "audio", "resource"].includes(key) ||
        !["content", "artifact", undefined].includes(value as string),
    )
    .map(([key]) => ({
      path: `outputHandling.${key}`,
      message: "expected image, audio or resource with the value content or artifact",
    }));
}
