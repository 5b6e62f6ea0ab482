import { isDeepStrictEqual } from "node:util";
import type { ToolContext } from "../tool-context.js";
import type { JsonObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ActionRequest, type Decision, DECISIONS, type ReviewConfig } from "./approval-request.js";
import { type PreparedCall, toModelVisibleArgs, applyEdits } from "../prepare-call.js";
import { deniedError } from "../tool-failure.js";
import { toJson } from "../../json/truncate-json.js";
import type { ToolRuntime } from "../tool-runtime.js";

/**
 * What is known about a call before it runs:
 * - `approved`: it may run; `notice` is for the model
 * - `undecided`: it is prepared, and no decision could be requested
 * - `failed`: it could not be prepared
 * - `rejected`: a reviewer rejected it
 */
export type ApprovalOutcome =
  | { readonly type: "approved"; readonly prepared: PreparedCall; readonly notice?: string }
  | { readonly type: "undecided"; readonly prepared: PreparedCall }
  | { readonly type: "failed"; readonly failure: McpRuntimeError }
  | { readonly type: "rejected"; readonly failure: McpRuntimeError };

export type RequestedAction = Pick<ActionRequest, "name" | "args">;

interface ReviewableCallOptions {
  /** The tool's name, as models see it. */
  readonly name: string;
  readonly runtime: ToolRuntime;
  readonly context: ToolContext;
  readonly outcome: PreparedCall | McpRuntimeError;
}

/** A prepared call that may need a decision before it runs. */
export class ReviewableCall {
  /** Whether this process sent the approval request, so the decision is about exactly these arguments. */
  wasRequested = false;
  readonly #options: ReviewableCallOptions;

  constructor(options: ReviewableCallOptions) {
    this.#options = options;
  }

  /** What to request approval for; `undefined` when no approval is needed. */
  get action(): RequestedAction | undefined {
    const { name, runtime, outcome } = this.#options;
    if (outcome instanceof McpRuntimeError || !outcome.needsApproval) return undefined;
    return { name, args: runtime.schema.injector.mask(outcome.args) };
  }

  get reviewConfig(): ReviewConfig {
    const { name, runtime } = this.#options;
    return { actionName: name, allowedDecisions: DECISIONS, argsSchema: runtime.schema.modelSchema() };
  }

  describe(): string {
    const { name, runtime } = this.#options;
    return `Tool "${name}" of server "${runtime.server}" needs approval before it runs.`;
  }

  /** Returns what is wrong with a decision about this call. */
  validateDecision(decision: Decision): string | undefined {
    try {
      this.resolve(decision);
      return undefined;
    } catch (error) {
      if (error instanceof McpRuntimeError) return error.message;
      throw error;
    }
  }

  /** @throws McpRuntimeError `invalid-request` for edited arguments that are invalid */
  resolve(decision: Decision | undefined): ApprovalOutcome {
    const { runtime, context, outcome } = this.#options;
    if (outcome instanceof McpRuntimeError) return { type: "failed", failure: outcome };
    if (!outcome.needsApproval) return { type: "approved", prepared: outcome };
    switch (decision?.type) {
      case undefined:
        return { type: "undecided", prepared: outcome };
      case "approve":
        return { type: "approved", prepared: outcome };
      case "reject":
        return {
          type: "rejected",
          failure: deniedError(runtime, decision.message || "it was not approved."),
        };
      case "edit": {
        const prepared = applyEdits(runtime, outcome, { edited: decision.editedAction.args, context });
        return { type: "approved", prepared, notice: this.#editNotice(prepared) };
      }
    }
  }

  /** The arguments were different when the call was prepared again, so the approval does not apply to them. */
  rejectStale(): ApprovalOutcome {
    const reason = "its arguments are not those that were approved. Call it again to request approval again.";
    return { type: "rejected", failure: deniedError(this.#options.runtime, reason) };
  }

  matches(requested: RequestedAction | undefined): boolean {
    const { action } = this;
    if (action === undefined || requested === undefined) return false;
    const toPlain = ({ name, args }: RequestedAction): unknown => JSON.parse(JSON.stringify({ name, args }));
    return isDeepStrictEqual(toPlain(action), toPlain(requested));
  }

  #editNotice({ args }: PreparedCall): string {
    const visibleArgs: JsonObject = toModelVisibleArgs(this.#options.runtime, args);
    return `A person changed the arguments before the call: ${toJson(visibleArgs)}`;
  }
}

/** Resolves a call with the decisions that were requested. A call that has no entry was not requested. */
export function resolveOutcome(
  call: ReviewableCall,
  decisions: ReadonlyMap<ReviewableCall, Decision | undefined>,
): ApprovalOutcome {
  const decision = decisions.get(call);
  return decision === undefined && decisions.has(call) ? call.rejectStale() : call.resolve(decision);
}
