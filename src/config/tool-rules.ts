import { z } from "zod";
import type { CallContext } from "./call-context.js";
import { exposeKeys, option, type OptionsOf, optionsSchema, parsePart } from "./parse-options.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, isStringArray, type JsonObject } from "../json/json.js";
import type { McpToolInfo } from "./server-features.js";

export const INPUT_VALIDATION_SCHEMA = option.oneOf("error", "warn", "off");

/** Decides by the arguments and the caller. */
type CallCondition = (args: JsonObject, context: CallContext) => boolean | Promise<boolean>;

const RULE_FIELDS = {
  /**
   * The tool can safely be called twice with the same arguments, so that failed calls are retried.
   *
   * @default the annotations of the tool with `trustAnnotations`, otherwise false
   */
  idempotent: z.boolean(),
  /**
   * Calls need approval before they run. A function decides by the arguments and the caller, and may be
   * asynchronous; only `false` runs the call without approval, so a failure of the function requires it. Of the
   * rules for all servers and those of a server the strictest counts.
   *
   * @default false
   *
   * @example
   * ```ts
   * requireApproval: ({ amount }, { configurable }) => Number(amount) > limitOf(configurable["user"])
   * ```
   */
  requireApproval: option.opaque<boolean | "unless-read-only" | CallCondition>(
    'true, false, "unless-read-only" or a function',
    (value) => typeof value === "boolean" || typeof value === "function" || value === "unless-read-only",
  ),
  /**
   * The call is made once, whatever happens to the process: that it is sent, and the task that the server creates for it,
   * are saved in the checkpoint, the graph is interrupted, and any process that resumes it goes on with the same task. Calls
   * outside of a graph with a checkpointer fail. A function decides by the arguments and the caller, like that of
   * `requireApproval`; it has to return the same for the same call.
   *
   * @default false
   */
  durable: option.opaque<boolean | CallCondition>(
    "true, false or a function",
    (value) => typeof value === "boolean" || typeof value === "function",
  ),
  /**
   * Calls the tool as a task if it can be called with or without one (`execution.taskSupport: "optional"` of servers of
   * 2025-11-25).
   *
   * @default true for durable calls, otherwise false
   */
  task: z.boolean(),
  /**
   * The timeout of one call, in milliseconds.
   *
   * @default the timeouts of the server
   */
  timeoutMs: z.number().nonnegative(),
  /**
   * Arguments that are injected into every call and hidden from the model.
   *
   * @default {}
   */
  args: z.record(z.string(), z.custom<InjectedArgument>()),
  /**
   * The description that the model sees.
   *
   * @default the description of the server
   */
  description: z.string(),
  /**
   * Concurrent calls of this tool; further calls wait.
   *
   * @default unlimited
   */
  maxConcurrent: z.number().int().positive(),
  /**
   * What happens with arguments that do not match the input schema: the call fails with kind `invalid-request`, which
   * names every problem to the model; a warning; or nothing, so that the server decides.
   *
   * @default the `inputValidation` of the server, else of the toolset ("error")
   */
  inputValidation: INPUT_VALIDATION_SCHEMA,
};

/** Options of one tool, or of all tools that match a pattern. */
export interface ToolRule extends OptionsOf<typeof RULE_FIELDS> {}

/** What happens with arguments that do not match the input schema of a tool. */
export type InputValidation = "error" | "warn" | "off";

/** When calls of a tool need approval. */
export type ApprovalCondition = NonNullable<ToolRule["requireApproval"]>;

/**
 * Rules for tools, by name or by patterns with `*`. `false` excludes a tool and `true` keeps it, so `"*": false` makes
 * the other rules an allow list; an array of names is an allow list, too.
 *
 * A key matches the name of a tool on its server and the name that models see, which is more specific. In the rules for
 * all servers, a key such as `bank__pay` applies to the tool that models see under this name. If another server lists a
 * tool literally named `bank__pay`, only the guards of the rule (`false` and `requireApproval`) apply to it, never `args`.
 * With a `naming.prefix` function, this holds for every key.
 *
 * A guard that matches no tool excludes those with a similar name, with an error in the log; any other rule without a match
 * is a warning, or an error if an allow list then keeps no tool.
 *
 * A function decides for each tool; it may be asynchronous. If it throws, takes longer than ten seconds or returns
 * anything but a rule, a boolean or nothing, the tool is excluded, with a warning.
 */
export type ToolRules =
  | Readonly<Record<string, ToolRule | boolean>>
  | readonly string[]
  | ((tool: McpToolInfo) => RuleResult | Promise<RuleResult>);

type RuleResult = ToolRule | boolean | undefined | void;

/** A value, or a function that returns it for each call. */
export type InjectedArgument =
  | ((context: CallContext) => unknown)
  | string
  | number
  | boolean
  | null
  | readonly unknown[]
  | { readonly [key: string]: unknown };

const RULE_FIELDS_SCHEMA = optionsSchema<ToolRule>(RULE_FIELDS);

/** A plain object: the fields of a class instance may be inherited, and would not be merged with other rules. */
export const TOOL_RULE_SCHEMA = z.union([
  z.boolean(),
  option
    .opaque<ToolRule>("an object", isPlainObject)
    .transform((rule): ToolRule => exposeKeys(rule as JsonObject))
    .pipe(RULE_FIELDS_SCHEMA),
]);

/** What a rules function returns is validated when it is called. */
export const TOOL_RULES_SCHEMA = z.custom<ToolRules>().transform((rules: unknown, context): ToolRules => {
  if (typeof rules === "function") return rules as ToolRules;
  if (Array.isArray(rules)) {
    // A copy has no holes.
    const names: unknown = Array.from(rules);
    if (isStringArray(names)) return names;
    context.addIssue("expected an array of tool names");
  } else if (isPlainObject(rules)) {
    const entries = Object.entries(exposeKeys(rules));
    return Object.fromEntries(
      entries.map(([key, rule]) => [key, parsePart(TOOL_RULE_SCHEMA, rule, context, [key]) ?? false]),
    );
  } else context.addIssue(`expected rules by tool name, got ${describeValue(rules)}`);
  return z.NEVER;
});

const DESCRIPTION_FIELDS = {
  /**
   * The maximum number of characters of a tool's description. Several models of OpenAI and Azure reject more than 1,024.
   *
   * @default 1024
   */
  maxChars: option.count,
  /**
   * What happens with the rest of a longer description. "keep" moves it into the description of the tool's first
   * parameter; where there is none, or with `schema: "as-is"`, it is omitted with a warning. "truncate" omits it. The
   * description ends with a sentence.
   *
   * @default "keep"
   */
  overflow: option.oneOf("truncate", "keep"),
};

/** How long the descriptions of tools may be. */
export interface DescriptionOptions extends OptionsOf<typeof DESCRIPTION_FIELDS> {}

export const DESCRIPTIONS_SCHEMA = optionsSchema<DescriptionOptions>(DESCRIPTION_FIELDS);

/** The options of a server that decide about its tools. */
export interface ToolPolicyOptions {
  /** The rules of the server definition; `undefined` when it has none. */
  readonly tools: ToolRules | undefined;
  /** Whether the annotations of the tools decide about approvals and retries. */
  readonly trustAnnotations: boolean;
  /** How long the descriptions of the tools may be; `undefined` when the definition does not set it. */
  readonly descriptions: DescriptionOptions | undefined;
  /** What happens with invalid arguments; `undefined` when the definition does not set it. */
  readonly inputValidation: InputValidation | undefined;
}
