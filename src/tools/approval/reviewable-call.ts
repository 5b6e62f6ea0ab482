import { isDeepStrictEqual } from "node:util";
import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { toJson } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { applyEdits, prepareCall, toModelVisibleArgs } from "../prepare-call.js";
import { deniedError, toModelFailure } from "../tool-failure.js";
import { type PreparedCall, ToolContext, ToolRun, type ToolRuntime } from "../tool-run.js";

/** LangChain's `ActionRequest`: a call that needs approval. */
interface ActionRequest {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** The arguments that would be sent; sensitive values are masked. */
  readonly args: JsonObject;
  readonly description: string;
}

/** LangChain's `ReviewConfig`. */
interface ReviewConfig {
  readonly actionName: string;
  readonly allowedDecisions: readonly Decision["type"][];
  readonly argsSchema: JsonObject;
}

/** LangChain's `HITLRequest`. */
export interface ApprovalRequest {
  readonly actionRequests: readonly ActionRequest[];
  readonly reviewConfigs: readonly ReviewConfig[];
}

/** LangChain's `Decision`. */
export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "edit"; readonly editedAction: { readonly name: string; readonly args: JsonObject } }
  | { readonly type: "reject"; readonly message?: string | undefined };

export const DECISIONS: readonly Decision["type"][] = ["approve", "edit", "reject"];

export type RequestedAction = Pick<ActionRequest, "name" | "args">;

/** `null`: the decision was about other arguments than those that would be sent now. */
export type ApprovalDecision = Decision | null;

const STALE = "its arguments are not those that were approved. Call it again to request approval again.";

/** A prepared call that may need a decision before it runs. */
export class ReviewableCall {
  /** Whether this process sent the approval request, so the decision is about exactly these arguments. */
  wasRequested = false;
  readonly #run: ToolRun;
  readonly #outcome: PreparedCall | McpRuntimeError;

  /** `outcome`: the call, or why it could not be prepared. */
  constructor(run: ToolRun, outcome: PreparedCall | McpRuntimeError) {
    this.#run = run;
    this.#outcome = outcome;
  }

  /** Prepares a call, so that approval can be requested before any call of its message runs. */
  static async prepare(
    runtime: ToolRuntime,
    call: ToolCall,
    config: RunnableConfig,
  ): Promise<ReviewableCall> {
    const { interceptor } = runtime;
    const context = new ToolContext(runtime, { ...config, toolCall: call } as RunnableConfig);
    const run = new ToolRun(runtime, { args: call.args, context, interceptor, progress: undefined });
    try {
      run.cancellation.throwIfCancelled();
      return new ReviewableCall(run, await prepareCall(run));
    } catch (error) {
      return new ReviewableCall(run, toModelFailure(error, run));
    } finally {
      run.dispose();
    }
  }

  get name(): string {
    return this.#run.runtime.name;
  }

  /** What to request approval for; `undefined` when no approval is needed. */
  get action(): RequestedAction | undefined {
    const outcome = this.#outcome;
    if (outcome instanceof McpRuntimeError || !outcome.needsApproval) return undefined;
    return { name: this.name, args: this.#run.runtime.schema.injector.mask(outcome.args) };
  }

  get reviewConfig(): ReviewConfig {
    const argsSchema = this.#run.runtime.schema.modelSchema();
    return { actionName: this.name, allowedDecisions: DECISIONS, argsSchema };
  }

  describe(): string {
    return `Tool "${this.name}" of server "${this.#run.runtime.server}" needs approval before it runs.`;
  }

  /** Returns what is wrong with the edited arguments of a decision. */
  validateEdits(decision: Decision): string | undefined {
    const outcome = this.#outcome;
    if (decision.type !== "edit" || outcome instanceof McpRuntimeError) return undefined;
    try {
      applyEdits(this.#run, outcome, decision.editedAction.args);
      return undefined;
    } catch (error) {
      if (error instanceof McpRuntimeError) return error.message;
      throw error;
    }
  }

  /**
   * Returns the call that `run` sends. Without a decision, it may still need approval.
   *
   * @throws McpRuntimeError when it was rejected or could not be prepared
   */
  resolve(decision: ApprovalDecision | undefined, run: ToolRun): PreparedCall {
    const outcome = this.#outcome;
    if (outcome instanceof McpRuntimeError) throw outcome;
    if (!outcome.needsApproval || decision === undefined) return outcome;
    if (decision === null || decision.type === "reject") {
      run.isRejected = true;
      throw deniedError(run.runtime, decision === null ? STALE : decision.message || "it was not approved.");
    }
    if (decision.type === "approve") return { ...outcome, needsApproval: false };
    const edited = applyEdits(this.#run, outcome, decision.editedAction.args);
    run.notice = `A person changed the arguments before the call: ${toJson(toModelVisibleArgs(run.runtime, edited.args))}`;
    return { ...edited, needsApproval: false };
  }

  matches(requested: RequestedAction | undefined): boolean {
    const { action } = this;
    if (action === undefined || requested === undefined) return false;
    const toPlain = ({ name, args }: RequestedAction): unknown => JSON.parse(JSON.stringify({ name, args }));
    return isDeepStrictEqual(toPlain(action), toPlain(requested));
  }
}

const INPUT_TYPES: ReadonlySet<unknown> = new Set(["mcp_input", "mcp_inputs"]);

/** Returns the last approval request of a task: its last interrupt, or the one saved with a later input request. */
export function previousApproval(question: unknown): unknown {
  if (!isPlainObject(question)) return undefined;
  return INPUT_TYPES.has(question["type"]) ? question["approval"] : question;
}
