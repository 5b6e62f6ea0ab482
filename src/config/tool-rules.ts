import { z } from "zod";
import type { CallContext } from "./call-context.js";
import { closedObject } from "./strict-object.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { PLAIN_WORDS } from "./zod-error-map.js";
import type { McpToolInfo } from "./tool-info.js";

/** How one tool, or all that a pattern matches, is treated. */
export interface ToolRule {
  /** Running it twice does no more harm than running it once. */
  readonly idempotent?: boolean;
  /** Somebody has to say yes before it runs. A function decides by the arguments; when it throws, the answer is yes. */
  readonly requireApproval?: boolean | "unless-read-only" | ((args: JsonObject) => boolean);
  readonly timeoutMs?: number;
  /** Arguments that are filled in by us and hidden from the model: values, or functions of the call. */
  readonly args?: Readonly<Record<string, InjectedArgument>>;
  /** Shown to the model instead of the server's. */
  readonly description?: string;
  /** Calls of this tool at the same time; the others wait. */
  readonly maxConcurrent?: number;
}

/**
 * Rules for the tools of a server, by its own names or by patterns with `*`. `false` leaves a tool
 * out, so `"*": false` makes an allow list of the rest; a list of names is one, too. A function
 * decides tool by tool.
 */
export type ToolRules =
  | Readonly<Record<string, ToolRule | false>>
  | readonly string[]
  | ((tool: McpToolInfo) => ToolRule | false | undefined);

/** A value, or a function that is asked for it at each call. */
export type InjectedArgument =
  | ((context: CallContext) => unknown)
  | string
  | number
  | boolean
  | null
  | readonly unknown[]
  | { readonly [key: string]: unknown };

const ruleSchema = closedObject({
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

/** A problem of some rules, and where in them it is. */
export interface RuleIssue {
  readonly at: readonly PropertyKey[];
  readonly message: string;
}

/** Every problem of some rules. What a function gives is checked when it gives it. */
export function issuesOfRules(rules: unknown): RuleIssue[] {
  if (rules === undefined || typeof rules === "function") return [];
  if (Array.isArray(rules)) {
    const isNames = rules.every((name) => typeof name === "string");
    return isNames ? [] : [{ at: [], message: "expected a list of tool names" }];
  }
  if (!isPlainObject(rules))
    return [{ at: [], message: `expected rules by tool name, found ${describeValue(rules)}` }];
  return Object.entries(rules).flatMap(([pattern, rule]) =>
    issuesOfRule(rule).map(({ at, message }) => ({ at: [pattern, ...at], message })),
  );
}

export function issuesOfRule(rule: unknown): RuleIssue[] {
  const parsed = rule === false ? undefined : ruleSchema.safeParse(rule, PLAIN_WORDS);
  return (parsed?.error?.issues ?? []).map(({ path, message }) => ({ at: path, message }));
}

/** How the tools of a server are treated. */
export interface ToolPolicyOptions {
  readonly tools: ToolRules | undefined;
  readonly trustAnnotations: boolean;
}
