import type { ToolResult } from "../client/tool-result.js";
import { CONTENT_DEFAULTS, type ContentOptions } from "./content/tool-content.js";
import type { CallContext } from "../config/call-context.js";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolProgress } from "./progress-reporter.js";

/** A call that is about to be made. What a hook does to it harms nobody: it is a copy. */
export interface BeforeToolCallInput {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly args: JsonObject;
  readonly context: CallContext;
}

export interface BeforeToolCallResult {
  /** Sent instead. */
  readonly args?: JsonObject;
  /** HTTP headers for this call only. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Do not call; the model is told why. */
  readonly deny?: string;
}

export type AfterToolCallResult = Pick<ToolResult, "content" | "structuredContent" | "isError" | "meta">;

/** How tools behave. Everything is optional; `TOOL_DEFAULTS` has the defaults. */
export interface ToolOptions {
  /** Show models a schema that all providers take, or the server's as it is. */
  readonly schema?: "portable" | "as-is";
  readonly structuredContent?: ContentOptions["structuredContent"];
  readonly outputHandling?: Partial<ContentOptions["outputHandling"]>;
  /** What happens when a result does not fit the tool's `outputSchema`. */
  readonly outputValidation?: "warn" | "error" | "off";
  readonly limits?: {
    /** The most characters of text that a model is shown of one result. */
    readonly contentChars?: number;
  };
  /** A failed tool call: tell the model, throw, or tell the model in your own words. */
  readonly onToolError?: "return" | "throw" | ((error: McpRuntimeError) => string | Promise<string>);
  readonly beforeToolCall?: (
    call: BeforeToolCallInput,
  ) => BeforeToolCallResult | undefined | void | Promise<BeforeToolCallResult | undefined | void>;
  /** What it gives back takes the place of the result. */
  readonly afterToolCall?: (
    call: BeforeToolCallInput & { readonly result: AfterToolCallResult },
  ) =>
    | Partial<AfterToolCallResult>
    | undefined
    | void
    | Promise<Partial<AfterToolCallResult> | undefined | void>;
  /** What it finds in a result is kept in the artifact, as `customData`: plain JSON, which no model sees. */
  readonly customData?: (result: AfterToolCallResult) => unknown;
  /** Sent to the server as `_meta`. */
  readonly meta?:
    | JsonObject
    | ((context: CallContext) => JsonObject | undefined | Promise<JsonObject | undefined>);
  /** Asked before a tool runs whose rule says `requireApproval`. Without it such a tool is refused. */
  readonly onApproval?: (call: BeforeToolCallInput) => boolean | Promise<boolean>;
  /** Told how far a call is, no more often than ten times a second. */
  readonly onProgress?: (progress: ToolProgress) => void;
}

/** Every default of a tool, in one place. */
export const TOOL_DEFAULTS = {
  schema: "portable",
  structuredContent: CONTENT_DEFAULTS.structuredContent,
  outputHandling: CONTENT_DEFAULTS.outputHandling,
  outputValidation: "warn",
  limits: { contentChars: CONTENT_DEFAULTS.contentChars },
  onToolError: "return",
  resourceTools: false,
} as const;

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

export function resolveToolOptions(options: ToolOptions): ToolSettings {
  const issues = issuesOf(options);
  if (issues.length > 0) throw configError("The set of tool options", issues);
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

function issuesOf(options: ToolOptions): ConfigIssue[] {
  const choices = CHOICES.filter(([key, allowed, orFunction]) => {
    const value = options[key];
    const isFine =
      value === undefined || allowed.includes(value as string) || (orFunction && typeof value === "function");
    return !isFine;
  }).map(([path, allowed]) => ({
    path,
    message: `expected one of ${allowed.join(", ")}, found ${describeValue(options[path])}`,
  }));
  const functions = FUNCTIONS.filter(
    (path) => options[path] !== undefined && typeof options[path] !== "function",
  ).map((path) => ({ path, message: `expected a function, found ${describeValue(options[path])}` }));
  const handling = issuesOfHandling(options.outputHandling);
  const { meta } = options;
  const isMeta = meta === undefined || typeof meta === "function" || isPlainObject(meta);
  return [
    ...choices,
    ...functions,
    ...issuesOfLimits(options.limits),
    ...handling,
    ...(isMeta ? [] : [{ path: "meta", message: "expected an object or a function" }]),
  ];
}

function issuesOfLimits(limits: unknown): ConfigIssue[] {
  if (limits === undefined) return [];
  if (!isPlainObject(limits))
    return [{ path: "limits", message: `expected { contentChars }, found ${describeValue(limits)}` }];
  const { contentChars, ...others } = limits;
  const isLimit = contentChars === undefined || (Number.isInteger(contentChars) && Number(contentChars) > 0);
  return [
    ...(isLimit ? [] : [{ path: "limits.contentChars", message: "expected a whole number from 1" }]),
    ...Object.keys(others).map((key) => ({
      path: `limits.${key}`,
      message: "is no limit of tools, which is contentChars; those of a server stand in its definition",
    })),
  ];
}

function issuesOfHandling(handling: unknown): ConfigIssue[] {
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
      message: "expected image, audio or resource as content or artifact",
    }));
}
