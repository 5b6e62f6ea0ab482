import type { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import type { JsonObject } from "../json/json.js";
import { needsApproval } from "./approval/needs-approval.js";
import {
  agentInputOf,
  checkArguments,
  checkGiven,
  completeArguments,
  withHidden,
} from "./prepare-arguments.js";
import { refreshSchema } from "./refresh-schema.js";
import { refusal } from "./denied-error.js";
import type { BeforeToolCallResult, BeforeToolCallInput } from "./tool-options.js";
import type { ToolParts } from "./tool-runtime.js";
import { ask, checkChanges } from "./user-hooks.js";

interface GivenCall {
  /** What the model gave as arguments. */
  readonly given: unknown;
  readonly context: ToolContext;
}

/** A call that is ready to be sent: every hook that comes before it has run. */
export interface PreparedCall {
  /** As they are sent. */
  readonly args: JsonObject;
  readonly headers: BeforeToolCallResult["headers"];
  /** Somebody has to say yes to these arguments first. */
  readonly needsApproval: boolean;
}

/** Everything that comes before the call but its approval; at once where no code of a user's is asked. */
export function prepareCall(
  parts: ToolParts,
  call: GivenCall,
  cancellation: CancelScope,
): PreparedCall | Promise<PreparedCall> {
  const { refreshesSchema, rule, settings } = parts;
  const isPlain = !refreshesSchema && rule.args === undefined && settings.beforeToolCall === undefined;
  if (!isPlain) return prepareAsking(parts, call, cancellation);
  return toPrepared(parts, completeArguments(parts, checkGiven(parts, call.given), call.context), undefined);
}

/** With a fresh schema, hidden arguments and `beforeToolCall`, in this order. */
async function prepareAsking(
  parts: ToolParts,
  { given, context }: GivenCall,
  cancellation: CancelScope,
): Promise<PreparedCall> {
  if (parts.refreshesSchema) await refreshSchema(parts, context, cancellation);
  const { args: hidden } = parts.rule;
  const known = checkGiven(parts, given);
  const whole = hidden === undefined ? known : await withHidden(hidden, known, { context, cancellation });
  const filled = completeArguments(parts, whole, context);
  const { beforeToolCall: hook } = parts.settings;
  if (hook === undefined) return toPrepared(parts, filled, undefined);
  const changes = checkChanges(await ask(cancellation, () => hook(previewOf(parts, filled, context))));
  if (changes.deny !== undefined) throw refusal(parts, changes.deny);
  return toPrepared(parts, changes.args ?? filled, changes.headers);
}

function toPrepared(
  parts: ToolParts,
  args: JsonObject,
  headers: BeforeToolCallResult["headers"],
): PreparedCall {
  checkArguments(parts, args);
  return { args, headers, needsApproval: needsApproval(parts, args) };
}

/** A copy: what a hook does to it harms nobody. */
export function previewOf(
  { server, schema: { info } }: ToolParts,
  args: JsonObject,
  context: ToolContext,
): BeforeToolCallInput {
  return { server, tool: info.name, args: structuredClone(args), context: context.forUser() };
}

/** With the arguments that a person wrote instead, checked. What is filled in by us stays ours. */
export function withEdits(
  parts: ToolParts,
  prepared: PreparedCall,
  { edited, context }: { readonly edited: JsonObject; readonly context: ToolContext },
): PreparedCall {
  const { rule, schema } = parts;
  const isHidden = ([name]: readonly [string, unknown]) => Object.hasOwn(rule.args ?? {}, name);
  const theirs = Object.entries(structuredClone(edited)).filter((entry) => !isHidden(entry));
  const ours = Object.entries(prepared.args).filter(isHidden);
  const whole = Object.fromEntries([...theirs, ...ours]);
  const args = schema.filler.isEmpty ? whole : schema.filler.fill(whole, agentInputOf(parts, context));
  checkArguments(parts, args);
  return { ...prepared, args };
}

/** As a model may see them: without what is filled in for it and hidden from it. */
export function visibleArguments({ rule, schema }: ToolParts, args: JsonObject): JsonObject {
  const visible = Object.entries(args).filter(([name]) => !Object.hasOwn(rule.args ?? {}, name));
  return schema.filler.masked(Object.fromEntries(visible));
}
