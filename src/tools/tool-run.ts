import type { RunnableConfig } from "@langchain/core/runnables";
import { assertAbortSignal, CancelScope } from "../async/cancel-scope.js";
import { raceDeadline, systemClock } from "../async/clock.js";
import type { Semaphore } from "../async/semaphore.js";
import type { ToolLookup, ToolLookupOptions } from "../catalog/tool-catalog.js";
import type { CallInput, CallToolOptions, ToolCall } from "../client/call-options.js";
import type { InputRequired, ToolResult } from "../client/tool-result.js";
import type { CallContext } from "../config/call-context.js";
import type { ServerOutput } from "../config/output-options.js";
import type { ApprovalCondition, InputValidation, ToolRule } from "../config/tool-rules.js";
import { configError, type McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { TextRedactor } from "../errors/redaction.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import type { ProgressReporter } from "./progress-reporter.js";
import type { ToolSettings } from "./tool-options.js";
import type { ToolSchema } from "./tool-schema.js";

/** The part of a client that a tool needs. */
export interface ToolCaller {
  callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult>;
  /** Returns whose session a call uses. Throws if that is unknown. */
  identityOf(
    options: Pick<CallToolOptions, "context" | "signal"> & { readonly purpose: CallContext["purpose"] },
  ): string;
  /** Throws `denied` for a tool that its pin blocks. */
  assertNotBlocked?(tool: string): void;
  /** Redacts known secrets, such as sensitive arguments, in the texts of the server. */
  readonly redactor: TextRedactor;
  /** The output options of the server. Read for each call: a server may be resolved after its tools were created. */
  readonly output?: ServerOutput | undefined;
  /** The total timeout of the server; 0 means no limit. Read for each call, like the output options. */
  readonly totalMs: number;
  /** Cancelled when the toolset is closed. */
  readonly closed?: CancelScope | undefined;
}

/** Everything a tool needs to run its calls. */
export interface ToolRuntime {
  /** The tool's name, as models see it. */
  readonly name: string;
  readonly server: string;
  /** The tool as last seen; replaced when the server has changed it. */
  schema: ToolSchema;
  /** The part of the catalog that a tool needs: whether the server still lists it. */
  readonly lookup: { find(name: string, options: ToolLookupOptions): Promise<ToolLookup> };
  /** Compare the schema with the server's before each call. */
  readonly refreshSchemaBeforeCall: boolean;
  /** Replaced when a rules function returns another one that differs only in functions. */
  rule: ToolRule;
  /** Of the rule, else of the server, else of the toolset. */
  readonly inputValidation: InputValidation;
  /** A call needs approval if one of these requires it. */
  approval: readonly ApprovalCondition[];
  readonly caller: ToolCaller;
  readonly settings: ToolSettings;
  /** Whether the run of this config may see and call the tool. Never rejects. Without it, all runs may. */
  readonly isAllowed: ((config: RunnableConfig) => boolean | Promise<boolean>) | undefined;
  /** The agent's input, for arguments that are taken from it. */
  readonly agentInput: JsonObject;
  /** Set by a rule's `maxConcurrent`. */
  readonly semaphore: Semaphore | undefined;
  /** For calls to which the middleware or tool node has not attached another one. */
  readonly interceptor: CallInterceptor;
  /** Records a decision about a call that needs approval. */
  readonly onApprovalDecided: (event: ApprovalDecided) => void;
  readonly warn: (message: string) => void;
}

interface FilteredTool extends Pick<ToolRuntime, "isAllowed" | "warn"> {
  readonly caller: Pick<ToolRuntime["caller"], "totalMs">;
}

/**
 * Whether the run of this config may see the tool. A filter that takes longer than a call may, or than `maxMs`, excludes it.
 * Rejects when the scope is cancelled.
 */
export async function isAllowedInTime(
  { isAllowed, caller: { totalMs }, warn }: FilteredTool,
  config: RunnableConfig,
  { cancellation, maxMs: ms = totalMs }: { readonly cancellation: CancelScope; readonly maxMs?: number },
): Promise<boolean> {
  const decision = isAllowed?.(config) ?? true;
  if (typeof decision === "boolean") return decision;
  const deadline = { ms, clock: systemClock, cancellation, createError: () => undefined };
  return raceDeadline(deadline, decision).catch(() => {
    cancellation.throwIfCancelled();
    warn(`filter did not settle within ${Math.ceil(ms)} ms (timeouts.totalMs), so the tool is excluded.`);
    return false;
  });
}

/** A decision about a call that needs approval, for an audit log. */
export interface ApprovalDecided {
  /** The name of the server. */
  readonly server: string;
  /** The name of the tool on the server. */
  readonly tool: string;
  /** The id that the model gave the call; `undefined` for calls without a model. */
  readonly toolCallId: string | undefined;
  /**
   * SHA-256, in hex, of the arguments that approval was requested for, as JSON with sorted keys. Injected and
   * sensitive arguments are `"***"` in it, as in the request.
   */
  readonly argsHash: string;
  /** The same of the arguments that a reviewer has set; `undefined` unless the decision is "edit". */
  readonly editedArgsHash: string | undefined;
  /**
   * "approve", "edit" or "reject" by a reviewer or `onApproval`. "deny" without a decision that counts: nothing could
   * request approval, or the decision was about other arguments.
   */
  readonly decision: "approve" | "edit" | "reject" | "deny";
  /** What requested approval: the middleware, the tool node, the tool itself, or the option `onApproval`. */
  readonly source: "middleware" | "tool-node" | "tool" | "onApproval";
  /** Whose session the call uses; empty for servers without `identity`, `undefined` if it is unknown. */
  readonly identity: string | undefined;
  /** When the decision was applied to the call (Unix time in milliseconds). */
  readonly time: number;
}

/** An approval that an interrupt has returned. */
export interface Approval {
  /** Identifies the approval: the thread, the message and the call. */
  readonly key: string;
  /** Identifies the call in the request for approval. */
  readonly callHash: string;
  /** The hash of the arguments that are sent: those of the request, or edited ones. */
  readonly argsHash: string;
}

/** A call that is ready to be sent: injected, validated, and with `beforeToolCall` applied. */
export interface PreparedCall extends Pick<CallToolOptions, "headers"> {
  /** The arguments that will be sent. */
  readonly args: JsonObject;
  /** Whether these arguments have to be approved first. */
  readonly needsApproval: boolean;
  /** The approval that an interrupt has returned: the call is sent once for it. */
  readonly approval?: Approval | undefined;
}

/** The steps of a call in which a person may take part. `approval/` and `elicitation/` implement them. */
export interface CallInterceptor {
  /** Completes and validates the arguments. Throws when the call must not be sent. */
  readonly prepare: (run: ToolRun) => PreparedCall | Promise<PreparedCall>;
  /** Requests approval for a call that needs it. Returns the call to send; throws when it is denied. */
  readonly approve: (run: ToolRun, prepared: PreparedCall) => Promise<PreparedCall>;
  /** Returns `undefined` when the input that the server needs cannot be requested from here. */
  readonly openInput: (run: ToolRun) => InputSource | undefined;
}

/** Provides the input that a server requests before it runs one call. */
export interface InputSource {
  /** Returns the input to send first: of an earlier run of the same call, or empty. */
  first(): CallInput | Promise<CallInput>;
  /** Returns the input to send next, or `undefined` to end the run without it. */
  next(required: InputRequired): Promise<CallInput | undefined>;
}

/** How long a hook may take in any case that runs after the call: the call may have used up its time. */
const MIN_LAST_HOOK_MS = 1_000;

/** One call of a tool. Dispose it when the call has ended. */
export class ToolRun {
  readonly runtime: ToolRuntime;
  /** As the model sent them: not validated yet. */
  readonly args: unknown;
  readonly context: ToolContext;
  readonly interceptor: CallInterceptor;
  /** `undefined` when there is no progress listener. */
  readonly progress: ProgressReporter | undefined;
  /** Cancelled by the caller's signal, when the toolset closes, and when the hooks of the run take too long. */
  readonly cancellation: CancelScope;
  /** How long the run has waited for its hooks. */
  #hookMs = 0;
  /** A message for the model, set when a reviewer has edited the call or its arguments were converted. */
  notice: string | undefined;
  /**
   * Whether the failure is reported to the model in any case: a reviewer has rejected the call, its task was cancelled, or
   * another run has started it for the same approval.
   */
  isRejected = false;
  /** Whether the call was passed to the client: from then on, the server may have run it. */
  hasBegunSending = false;
  /** The injected values that must not be shown: hooks and functions of rules may quote them in what they throw. */
  secrets: readonly string[] | undefined;

  constructor(runtime: ToolRuntime, call: Pick<ToolRun, "args" | "context" | "interceptor" | "progress">) {
    this.runtime = runtime;
    this.args = call.args;
    this.context = call.context;
    this.interceptor = call.interceptor;
    this.progress = call.progress;
    this.cancellation = CancelScope.fromSignal(call.context.signal);
    runtime.caller.closed?.attach(this.cancellation);
  }

  addSecrets(secrets: readonly string[]): void {
    if (secrets.length > 0)
      this.secrets = this.secrets === undefined ? secrets : [...this.secrets, ...secrets];
  }

  dispose(): void {
    this.#detach(this.cancellation);
  }

  /**
   * Waits for a promise of a hook. All hooks of a run may take `timeouts.totalMs` together; then the run is cancelled. The
   * request of the call has a total timeout of its own.
   */
  async waitForHook<T>(pending: PromiseLike<T>, createError: () => McpRuntimeError): Promise<T> {
    const { cancellation } = this;
    const ms = this.#remainingHookMs;
    const startedAt = systemClock.now();
    const expire = () => cancellation.cancel(createError());
    const cancelTimer = ms === Number.POSITIVE_INFINITY ? undefined : systemClock.after(ms, expire);
    try {
      return await cancellation.race(Promise.resolve(pending));
    } finally {
      cancelTimer?.();
      this.#hookMs += systemClock.now() - startedAt;
    }
  }

  /**
   * Runs a hook after the run has ended. The caller's signal and closing the toolset still cancel it, unless they have
   * already ended the run. The hook may take what is left for the hooks of the run, at least a second.
   */
  async runAfterwards<T>(hook: (cancellation: CancelScope, maxMs: number) => Promise<T>): Promise<T> {
    const { signal } = this.context;
    const { closed } = this.runtime.caller;
    const isOver = signal?.aborted === true || closed?.isCancelled === true;
    const cancellation = CancelScope.fromSignal(isOver ? undefined : signal);
    if (!isOver) closed?.attach(cancellation);
    const maxMs = isOver ? 0 : this.#remainingHookMs;
    try {
      return await hook(cancellation, Math.max(MIN_LAST_HOOK_MS, maxMs));
    } finally {
      this.#detach(cancellation);
    }
  }

  /** What is left of the time for hooks. */
  get #remainingHookMs(): number {
    const { totalMs } = this.runtime.caller;
    return totalMs === 0 ? Number.POSITIVE_INFINITY : Math.max(0, totalMs - this.#hookMs);
  }

  #detach(cancellation: CancelScope): void {
    this.runtime.caller.closed?.detach(cancellation);
    cancellation.dispose();
  }
}

/** The config of a run of `McpTool.run`. */
export interface ToolRunConfig extends RunnableConfig {
  /** Limits one attempt of the call, in place of the `timeoutMs` of the tool's rule and of `timeouts.requestMs`. */
  timeoutMs?: number;
}

/** Timers of Node.js cannot wait longer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The signal of a run that also ends with its `timeout`. LangChain creates it only for runnables that it invokes itself. */
export function toRunSignal({
  signal,
  timeout,
}: Pick<RunnableConfig, "signal" | "timeout">): AbortSignal | undefined {
  if (timeout === undefined) return signal;
  if (typeof timeout !== "number" || !(timeout > 0)) {
    const message = `expected a number of milliseconds above 0, got ${describeValue(timeout)}`;
    throw configError("The config of the run", [{ path: "timeout", message }]);
  }
  const isLimited = timeout <= MAX_TIMEOUT_MS;
  return isLimited ? combineSignals(signal, AbortSignal.timeout(Math.ceil(timeout))) : signal;
}

/** A signal that is aborted with the first of both. */
export function combineSignals(
  first: AbortSignal | undefined,
  second: AbortSignal | undefined,
): AbortSignal | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  assertAbortSignal(first);
  assertAbortSignal(second);
  return AbortSignal.any([first, second]);
}

/** The context of a call, read lazily from the run's config. User callbacks receive `toPlainContext()`. */
export class ToolContext implements CallContext {
  readonly purpose = "call";
  readonly server: string;
  readonly tool: string;
  readonly toolCallId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly runId: string | undefined;
  readonly #config: RunnableConfig;

  constructor({ server, schema }: ToolRuntime, config: RunnableConfig, runId?: string) {
    const { toolCall } = config as JsonObject;
    this.server = server;
    this.tool = schema.info.name;
    // A tool call without an id counts, too: its failure is returned, not thrown.
    if (isPlainObject(toolCall)) this.toolCallId = typeof toolCall["id"] === "string" ? toolCall["id"] : "";
    this.signal = config.signal;
    this.runId = runId;
    this.#config = config;
  }

  /** The original config. Not for user callbacks, which could mutate it. */
  get runConfig(): ToolRunConfig {
    return this.#config;
  }

  get configurable(): JsonObject {
    return { ...this.#config.configurable };
  }

  get context(): unknown {
    return (this.#config as JsonObject)["context"];
  }

  get state(): unknown {
    return (this.#config as JsonObject)["state"];
  }

  get store(): unknown {
    return (this.#config as JsonObject)["store"];
  }

  get config(): JsonObject {
    const config: JsonObject = { ...this.#config };
    const { toolCall } = config;
    return isPlainObject(toolCall) ? { ...config, toolCall: structuredClone(toolCall) } : config;
  }

  /** Returns a plain object with copies where copying is possible. */
  toPlainContext(): CallContext {
    const { purpose, server, tool, toolCallId, configurable } = this;
    const { context, state, store, signal, runId, config } = this;
    return { purpose, server, tool, toolCallId, configurable, context, state, store, signal, runId, config };
  }
}
