import { z } from "zod";
import type { CallContext } from "./call-context.js";
import {
  addIssueAt,
  flattenIssues,
  option,
  optionsSchema,
  type PathIssue,
  ZOD_ERROR_MAP,
} from "./parse-options.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { McpToolInfo } from "./list-items.js";

/** Options of one tool, or of all tools that match a pattern. */
export interface ToolRule {
  /**
   * The tool can safely be called twice with the same arguments, so that failed calls are retried.
   *
   * @default the annotations of the tool with `trustAnnotations`, otherwise false
   */
  readonly idempotent?: boolean;
  /**
   * Calls need approval before they run. A function decides by the arguments; when it throws, approval is
   * required.
   *
   * @default false
   */
  readonly requireApproval?: boolean | "unless-read-only" | ((args: JsonObject) => boolean);
  /**
   * The timeout of one call, in milliseconds.
   *
   * @default the timeouts of the server
   */
  readonly timeoutMs?: number;
  /** Arguments that are injected into every call and hidden from the model. */
  readonly args?: Readonly<Record<string, InjectedArgument>>;
  /**
   * The description that the model sees.
   *
   * @default the description of the server
   */
  readonly description?: string;
  /**
   * Concurrent calls of this tool; further calls wait.
   *
   * @default unlimited
   */
  readonly maxConcurrent?: number;
}

/**
 * Rules for the tools of a server, by their names on the server or by patterns with `*`. `false` excludes
 * a tool and `true` keeps it, so `"*": false` makes the other rules an allow list; an array of names is an allow
 * list, too. A function decides for each tool.
 */
export type ToolRules =
  | Readonly<Record<string, ToolRule | boolean>>
  | readonly string[]
  | ((tool: McpToolInfo) => ToolRule | boolean | undefined);

/** A value, or a function that returns it for each call. */
export type InjectedArgument =
  | ((context: CallContext) => unknown)
  | string
  | number
  | boolean
  | null
  | readonly unknown[]
  | { readonly [key: string]: unknown };

const RULE_FIELDS_SCHEMA = optionsSchema<ToolRule>({
  idempotent: z.boolean(),
  requireApproval: option.opaque<NonNullable<ToolRule["requireApproval"]>>(
    'true, false, "unless-read-only" or a function',
    (value) => typeof value === "boolean" || typeof value === "function" || value === "unless-read-only",
  ),
  timeoutMs: z.number().nonnegative(),
  args: z.record(z.string(), z.unknown()),
  description: z.string(),
  maxConcurrent: z.number().int().positive(),
});

export const TOOL_RULE_SCHEMA = z.union([z.boolean(), RULE_FIELDS_SCHEMA]);

/** Tool rules are passed on unchanged. What a rules function returns is validated when it is called. */
export const TOOL_RULES_SCHEMA = z.custom<ToolRules>().superRefine((rules, context) => {
  for (const { path, message } of validateToolRules(rules)) addIssueAt(context, path, message);
});

function validateToolRules(rules: unknown): readonly PathIssue[] {
  if (typeof rules === "function") return [];
  if (Array.isArray(rules)) {
    const isNames = rules.every((name) => typeof name === "string");
    return isNames ? [] : [{ path: [], message: "expected an array of tool names" }];
  }
  if (!isPlainObject(rules))
    return [{ path: [], message: `expected rules by tool name, got ${describeValue(rules)}` }];
  return Object.entries(rules).flatMap(([pattern, rule]) => {
    const { error } = TOOL_RULE_SCHEMA.safeParse(rule, ZOD_ERROR_MAP);
    return error === undefined ? [] : flattenIssues(error.issues, [pattern]);
  });
}

/** The options of a server that decide about its tools. */
export interface ToolPolicyOptions {
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
}
