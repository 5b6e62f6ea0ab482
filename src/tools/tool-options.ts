import type { ToolMessage } from "@langchain/core/messages";
import type { ToolResult } from "../client/tool-result.js";
import type { ContentOptions } from "./content/tool-content.js";
import type { CallContext } from "../config/call-context.js";
import { DESCRIPTIONS_SCHEMA, INPUT_VALIDATION_SCHEMA } from "../config/tool-rules.js";
import { OUTPUT_FIELDS, type OutputOptions, type ServerOutput } from "../config/output-options.js";
import { isFunction, option, type OptionsOf, optionsSchema } from "../config/parse-options.js";
import { type LimitedStore, limitStore } from "../stores/driver-store.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import { systemClock } from "../async/clock.js";
import { isPlainObject, type JsonObject, omitUndefined } from "../json/json.js";
import { LARGE_RESULTS_SCHEMA, LargeResultStore } from "./large-results/large-result-store.js";
import type { ToolProgress } from "./progress-reporter.js";
import { DESCRIPTION_DEFAULTS, type DescriptionLimits, resolveDescriptions } from "./tool-description.js";

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
  /** HTTP headers for this call only. Programs (stdio), WebSocket servers and Lambda functions do not receive them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Denies the call with this reason, which the model sees. */
  readonly deny?: string;
}

/** The parts of a result that `afterToolCall` receives and may replace. */
export type AfterToolCallResult = Pick<ToolResult, "content" | "structuredContent" | "isError" | "meta">;

/** What `afterToolCall` of `@langchain/mcp-adapters` may return, except for commands and artifacts. */
export interface AdapterToolCallResult {
  readonly result:
    | string
    | ToolMessage
    | readonly [content: string | readonly object[], artifacts: readonly []];
}

type Awaitable<T> = T | Promise<T>;

const TOOL_LIMIT_FIELDS = {
  /**
   * The maximum number of characters of text of one result that a model sees. The `limits.contentChars` of a server
   * definition takes precedence.
   *
   * @default 100000
   */
  contentChars: option.count,
};

/** Limits of all tools. */
export interface ToolLimitOptions extends OptionsOf<typeof TOOL_LIMIT_FIELDS> {}

export const TOOL_OPTION_FIELDS = {
  /**
   * The schema that models see: one that all providers accept, or the server's original.
   *
   * @default "portable"
   */
  schema: option.oneOf("portable", "as-is"),
  /**
   * How long the descriptions of tools may be. The `descriptions` of a server definition take precedence.
   *
   * @default the defaults of `DescriptionOptions`
   */
  descriptions: DESCRIPTIONS_SCHEMA,
  ...OUTPUT_FIELDS,
  /**
   * What happens with arguments that do not match the input schema of a tool: the call fails with kind
   * `invalid-request`, which names every problem to the model; a warning; or nothing. The `inputValidation` of a tool's
   * rule and of a server definition take precedence. In any case, the server decides about what the portable schema
   * does not show.
   *
   * @default "error"
   */
  inputValidation: INPUT_VALIDATION_SCHEMA,
  /**
   * Converts strings that a model has sent in place of another type, as weak models do: `"3"` for a number, `"true"` for
   * a boolean, JSON for an object or array. Only where a string does not match the schema; the tool message tells the
   * model what was converted.
   *
   * @default false
   */
  coerceArguments: option.boolean,
  /**
   * What happens when a result does not match the tool's `outputSchema`: a warning, an error of kind
   * `invalid-response`, or nothing.
   *
   * @default "warn"
   */
  outputValidation: option.oneOf("warn", "error", "off"),
  /**
   * Limits on what the model sees.
   *
   * @default the defaults of `ToolLimitOptions`
   */
  limits: optionsSchema<ToolLimitOptions>(TOOL_LIMIT_FIELDS, {
    hint: "The limits of a server belong in its definition",
  }),
  /**
   * What happens with a result of a tool call whose text is longer than `limits.contentChars`. "truncate": the model sees
   * its start. "keep": the model sees its start and its end, and reads the rest with the tool `read_result`, which is added
   * to the toolset; images, audio and files have a limit, too. An object keeps results with these options.
   *
   * @default "truncate"
   */
  largeResults: LARGE_RESULTS_SCHEMA,
  /**
   * Runs before each call; may change the arguments, add headers or deny the call. The call is denied when it
   * throws, and with kind `invalid-config` when it returns anything else, such as an unknown key. Runs again when a graph
   * resumes after an interrupt, such as an approval or an input request, and with the arguments that a reviewer has
   * edited: the call is denied if it changes those.
   *
   * @default none
   *
   * @example
   * ```ts
   * beforeToolCall: ({ tool, args }) => (tool === "delete" && args.all ? { deny: "not everything" } : undefined)
   * ```
   */
  beforeToolCall:
    option.function<(call: BeforeToolCallInput) => Awaitable<BeforeToolCallResult | undefined | void>>(),
  /**
   * Runs after each call. The fields it returns replace those of the result. `{ result }` replaces the whole result, as
   * in LangChain's adapter: with a string, a ToolMessage or `[content, []]`. When it throws or returns anything else,
   * such as an unknown key, the result is withheld, and the error states that the tool ran.
   *
   * @default none
   */
  afterToolCall:
    option.function<
      (
        call: BeforeToolCallInput & { readonly result: AfterToolCallResult },
      ) => Awaitable<Partial<AfterToolCallResult> | AdapterToolCallResult | undefined | void>
    >(),
  /**
   * Extracts plain JSON from a result into `artifact.customData`, which the model does not see. Synchronous.
   *
   * @default none
   */
  customData: option.function<(result: AfterToolCallResult) => unknown>(),
  /**
   * Sent to the server as `_meta`.
   *
   * @default none
   */
  meta: option.opaque<JsonObject | ((context: CallContext) => Awaitable<JsonObject | undefined>)>(
    "an object or a function",
    (value) => isFunction(value) || isPlainObject(value),
  ),
  /**
   * Decides whether a call that needs approval (`requireApproval` in its rule) may run, where an interrupt of
   * `mcpMiddleware` or `McpToolNode` has not decided it. Only `true` approves. Without it, the call is denied
   * unless the graph can be interrupted.
   *
   * @default none
   */
  onApproval: option.function<(call: BeforeToolCallInput) => boolean | Promise<boolean>>(),
  /**
   * Records which approvals were used, for processes that resume the same threads: a call is sent once for its approval,
   * also with the durability "exit", and with a checkpointer that keeps only the latest checkpoint. The store must have
   * leases; the caller closes it. If it fails, the call is not sent.
   *
   * @default approvals are recorded in the checkpoint
   */
  approvalStore: option.withMethods<KeyValueStore>(
    ["lease"],
    "a store with leases, such as redisStore() or dynamoStore()",
  ),
  /**
   * Receives the progress notifications of a call, at most ten per second. A result waits at most one second for it.
   *
   * @default none
   */
  onProgress: option.function<(progress: ToolProgress) => void>(),
};

/** How tools behave. All options are optional; `TOOL_DEFAULTS` has the defaults. */
export interface ToolOptions extends OutputOptions, OptionsOf<typeof TOOL_OPTION_FIELDS> {}

/** The defaults of `ToolOptions`, and of the factory options `resourceTools` and `skillTools`. */
export const TOOL_DEFAULTS = {
  schema: "portable",
  descriptions: DESCRIPTION_DEFAULTS,
  structuredContent: "fallback",
  outputHandling: { image: "content", audio: "content", resource: "content" },
  inputValidation: "error",
  coerceArguments: false,
  outputValidation: "warn",
  limits: { contentChars: 100_000 },
  largeResults: "truncate",
  onToolError: "return",
  resourceTools: false,
  skillTools: false,
} as const;

type Hooks = "beforeToolCall" | "afterToolCall" | "customData" | "meta" | "onApproval" | "onProgress";

/** `ToolOptions` with defaults applied. */
export type ToolSettings = Required<
  Omit<ToolOptions, Hooks | "outputHandling" | "limits" | "descriptions" | "largeResults" | "approvalStore">
> & {
  readonly approvalStore: LimitedStore | undefined;
  readonly descriptions: DescriptionLimits;
  /** `undefined`: large results are truncated. */
  readonly largeResults: LargeResultStore | undefined;
} & {
  readonly [Hook in Hooks]?: ToolOptions[Hook] | undefined;
} & Pick<ContentOptions, "outputHandling" | "contentChars">;

const OPTION_KEYS = Object.keys(TOOL_OPTION_FIELDS) as (keyof ToolOptions)[];

/** Fills in the defaults of validated options. */
export function resolveToolOptions(options: ToolOptions): ToolSettings {
  const contentChars = options.limits?.contentChars ?? TOOL_DEFAULTS.limits.contentChars;
  const { largeResults = TOOL_DEFAULTS.largeResults } = options;
  const keepOptions = largeResults === "keep" ? {} : largeResults;
  const given: ToolOptions = Object.fromEntries(OPTION_KEYS.map((key) => [key, options[key]]));
  return {
    ...TOOL_DEFAULTS,
    ...omitUndefined(given),
    descriptions: resolveDescriptions(options.descriptions),
    outputHandling: { ...TOOL_DEFAULTS.outputHandling, ...omitUndefined(options.outputHandling) },
    contentChars,
    largeResults: keepOptions === "truncate" ? undefined : new LargeResultStore(keepOptions, contentChars),
    approvalStore: options.approvalStore && limitStore(options.approvalStore, systemClock),
  };
}

type OutputSettings = Pick<
  ToolSettings,
  "structuredContent" | "outputHandling" | "onToolError" | "contentChars"
>;

/** The settings for the results of a server: its own take precedence over those of the toolset. */
export function resolveOutput(settings: ToolSettings, server: ServerOutput | undefined): OutputSettings {
  if (server === undefined) return settings;
  const outputHandling = { ...settings.outputHandling, ...omitUndefined(server.outputHandling) };
  return { ...settings, ...server, outputHandling };
}
