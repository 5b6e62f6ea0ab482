import { z } from "zod";
import type { CallContext } from "./call-context.js";
import { strictObject } from "./schema/strict-object.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { ZOD_ERROR_MAP } from "./schema/zod-issues.js";
import type { McpToolInfo } from "./tool-info.js";

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

const ruleSchema = strictObject({
  idempotent: z.boolean().optional(),
  requireApproval: z
    .custom<NonNullable<ToolRule["requireApproval"]>>(
      (value) => typeof value === "boolean" || typeof value === "function" || value === "unless-read-only",
      { error: 'expected true, false, "unless-read-only" or a function' },
    )
    .optional(),
  timeoutMs: z.number().nonnegative().optional(),
  args: z.record(z.string(), z.unknown()).optional(),
  description: z.string().optional(),
  maxConcurrent: z.number().int().positive().optional(),
});

/** A problem of tool rules, and its path in them. */
export interface RuleIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Returns all problems of tool rules. What a rules function returns is validated when it is called. */
export function validateToolRules(rules: unknown): RuleIssue[] {
  if (rules === undefined || typeof rules === "function") return [];
  if (Array.isArray(rules)) {
    const isNames = rules.every((name) => typeof name === "string");
    return isNames ? [] : [{ path: [], message: "expected an array of tool names" }];
  }
  if (!isPlainObject(rules))
    return [{ path: [], message: `expected rules by tool name, got ${describeValue(rules)}` }];
  return Object.entries(rules).flatMap(([pattern, rule]) =>
    validateToolRule(rule).map(({ path, message }) => ({ path: [pattern, ...path], message })),
  );
}

export function validateToolRule(rule: unknown): RuleIssue[] {
  const parsed = typeof rule === "boolean" ? undefined : ruleSchema.safeParse(rule, ZOD_ERROR_MAP);
  return (parsed?.error?.issues ?? []).map(({ path, message }) => ({ path, message }));
}

/** The options of a server that decide about its tools. */
export interface ToolPolicyOptions {
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
}
