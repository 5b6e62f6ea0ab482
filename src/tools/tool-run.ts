import type { CallToolOptions, ToolCall } from "../client/call-tool.js";
import { ToolResult } from "../client/tool-result.js";
import { Cancellation } from "../concurrency/cancellation.js";
import type { Semaphore } from "../concurrency/semaphore.js";
import type { CallContext } from "../definitions/call-context.js";
import { describeFound } from "../definitions/definition-issues.js";
import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { ToolRule } from "../definitions/tool-rules.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ArgumentFiller } from "./argument-properties.js";
import { withDefaults } from "./default-arguments.js";
import type { ArgumentCheck } from "./enforced-schema.js";
import type { CallPreview, ToolSettings } from "./tool-options.js";

/** What a tool needs of a client: the one method that calls. */
export interface ToolCaller {
  callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult>;
}

export interface ToolParts {
  readonly server: string;
  readonly info: McpToolInfo;
  readonly rule: ToolRule;
  readonly caller: ToolCaller;
  readonly settings: ToolSettings;
  readonly inputCheck: ArgumentCheck;
  readonly outputCheck: ArgumentCheck | undefined;
  readonly filler: ArgumentFiller;
  /** The agent's input, for arguments that are taken from it. */
  readonly agentInput: JsonObject;
  /** Set by a rule's `maxConcurrent`. */
  readonly slots: Semaphore | undefined;
  readonly warn: (message: string) => void;
}

/** One call from the model's arguments to the server's result. Nothing is sent before all checks are passed. */
export async function runTool(parts: ToolParts, given: unknown, context: CallContext): Promise<ToolResult> {
  const { settings, info, server, caller, rule } = parts;
  const filled = await fillArguments(parts, given, context);
  const preview = (args: JsonObject): CallPreview => ({
    server,
    tool: info.name,
    args: structuredClone(args),
    context,
  });
  const changes = await settings.beforeCall?.(preview(filled));
  if (changes?.veto !== undefined) throw refusal(parts, changes.veto);
  const args = changes?.args ?? filled;
  checkArguments(parts, args);
  if (needsApproval(parts, args)) await approve(parts, preview(parts.filler.masked(args)));
  const meta = typeof settings.meta === "function" ? await settings.meta(context) : settings.meta;
  const { signal } = context;
  const timeoutMs = timeoutOf(context) ?? rule.timeoutMs;
  const call = { name: info.name, args, id: context.toolCallId };
  const options = { signal, timeoutMs, meta, headers: changes?.headers };
  const result = await inTurn(parts, signal, () => caller.callTool(call, options));
  checkOutput(parts, result);
  return afterCall(parts, preview(args), result);
}

/** The model's arguments, with defaults, the rule's hidden ones, and those that the agent fills in. */
async function fillArguments(parts: ToolParts, given: unknown, context: CallContext): Promise<JsonObject> {
  const { info, rule, filler, agentInput } = parts;
  if (!isJsonObject(given))
    throw badArguments(parts, [{ path: "", message: `expected an object, found ${describeFound(given)}` }]);
  const hidden = await Promise.all(
    Object.entries(rule.args ?? {}).map(async ([name, source]) => {
      const value: unknown = typeof source === "function" ? await source(context) : source;
      return [name, value] as const;
    }),
  );
  const own = {
    ...withDefaults(info.inputSchema, given),
    ...Object.fromEntries(hidden.filter(([, value]) => value !== undefined)),
  };
  return filler.isEmpty ? own : filler.fill(own, agentInput);
}

function checkArguments(parts: ToolParts, args: JsonObject): void {
  const issues = parts.inputCheck.issuesOf(args);
  if (issues.length > 0) throw badArguments(parts, issues);
}

function badArguments({ info, server }: ToolParts, issues: McpRuntimeError["issues"]): McpRuntimeError {
  const lines = issues.map(({ path, message }) => (path === "" ? `- ${message}` : `- ${path}: ${message}`));
  const text = [`The arguments of tool "${info.name}" are not right, and it was not called:`, ...lines].join(
    "\n",
  );
  return new McpRuntimeError("invalid-request", text, { server, tool: info.name, issues });
}

function refusal({ info, server }: ToolParts, why: string, cause?: unknown): McpRuntimeError {
  return new McpRuntimeError("refused", `The call of tool "${info.name}" was refused: ${why}`, {
    server,
    tool: info.name,
    cause,
  });
}

function needsApproval({ rule, info }: ToolParts, args: JsonObject): boolean {
  const { requireApproval = false } = rule;
  if (requireApproval === "unless-read-only") return info.annotations?.["readOnlyHint"] !== true;
  if (typeof requireApproval === "boolean") return requireApproval;
  try {
    return requireApproval(structuredClone(args));
  } catch {
    return true;
  }
}

async function approve(parts: ToolParts, call: CallPreview): Promise<void> {
  const { onApproval } = parts.settings;
  if (onApproval === undefined)
    throw refusal(parts, "it needs an approval, and nobody is there to give it (option onApproval).");
  const decision: unknown = await onApproval(call);
  // Only a plain yes counts: what a careless function gives back is none.
  if (decision !== true) throw refusal(parts, "it was not approved.");
}

/** LangChain keeps the time limit of a run in its metadata, next to the signal that enforces it. */
function timeoutOf({ config }: CallContext): number | undefined {
  const metadata = config["metadata"];
  const timeoutMs = isJsonObject(metadata) ? metadata["timeoutMs"] : undefined;
  return typeof timeoutMs === "number" && timeoutMs > 0 ? timeoutMs : undefined;
}

async function inTurn<T>(
  { slots }: ToolParts,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  if (slots === undefined) return call();
  const waiting = Cancellation.fromSignal(signal);
  const leave = await slots.enter(waiting).finally(() => waiting.release());
  try {
    return await call();
  } finally {
    leave();
  }
}

function checkOutput(parts: ToolParts, result: ToolResult): void {
  const { outputCheck, settings, server, info, warn } = parts;
  if (outputCheck === undefined || settings.outputValidation === "off" || result.isError) return;
  const issues = outputCheck.issuesOf(result.structuredContent);
  if (issues.length === 0) return;
  const lines = issues
    .map(({ path, message }) => `${path === "" ? "structuredContent" : path}: ${message}`)
    .join("; ");
  const text = `The result of tool "${info.name}" of server "${server}" does not fit its output schema: ${lines}`;
  if (settings.outputValidation === "warn") warn(text);
  else throw new McpRuntimeError("malformed", text, { server, tool: info.name, issues });
}

async function afterCall(
  { settings, server, info }: ToolParts,
  call: CallPreview,
  result: ToolResult,
): Promise<ToolResult> {
  if (settings.afterCall === undefined) return result;
  const { content, structuredContent, isError, meta } = result;
  const preview = structuredClone({ content, structuredContent, isError, meta });
  const changed = await settings.afterCall({ ...call, result: preview });
  if (changed === undefined) return result;
  const whole = { content, structuredContent, isError, meta, ...changed };
  const json = { content: whole.content, isError: whole.isError, _meta: whole.meta };
  return new ToolResult(json, whole.structuredContent, { server, tool: info.name });
}
