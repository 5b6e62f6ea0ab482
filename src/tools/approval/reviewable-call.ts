import { isDeepStrictEqual } from "node:util";
import type { ToolContext } from "../tool-context.js";
import type { JsonObject } from "../../json/json.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { type ActionRequest, type Decision, DECISIONS, type ReviewConfig } from "./approval-request.js";
import { type PreparedCall, visibleArguments, withEdits } from "../prepared-call.js";
import { refusal } from "../denied-error.js";
import { toJson } from "../../json-schema/truncate-json.js";
import type { ToolParts } from "../tool-runtime.js";

/**
 * What a door has found out about a call before it runs:
 * - `cleared`: it may run; `note` is for the model
 * - `unasked`: it is prepared, and the door could ask nobody
 * - `failed`: it could not be prepared
 * - `rejected`: somebody said no
 */
export type Settlement =
  | { readonly type: "cleared"; readonly prepared: PreparedCall; readonly note?: string }
  | { readonly type: "unasked"; readonly prepared: PreparedCall }
  | { readonly type: "failed"; readonly failure: McpRuntimeError }
  | { readonly type: "rejected"; readonly failure: McpRuntimeError };

/** What somebody was asked about. */
export type AskedAction = Pick<ActionRequest, "name" | "args">;

interface ReviewedCallFields {
  /** The tool's name, as models see it. */
  readonly name: string;
  readonly parts: ToolParts;
  readonly context: ToolContext;
  readonly outcome: PreparedCall | McpRuntimeError;
}

/** A call that was prepared and waits for what somebody says to it. */
export class ReviewedCall {
  /** Its question went out from this process: whoever answers has seen these very arguments. */
  wasAsked = false;
  readonly #fields: ReviewedCallFields;

  constructor(fields: ReviewedCallFields) {
    this.#fields = fields;
  }

  /** What to ask about; nothing, where nobody has to be asked. */
  get action(): AskedAction | undefined {
    const { name, parts, outcome } = this.#fields;
    if (outcome instanceof McpRuntimeError || !outcome.needsApproval) return undefined;
    return { name, args: parts.schema.filler.masked(outcome.args) };
  }

  get reviewConfig(): ReviewConfig {
    const { name, parts } = this.#fields;
    return { actionName: name, allowedDecisions: DECISIONS, argsSchema: parts.schema.shown() };
  }

  describe(): string {
    const { name, parts } = this.#fields;
    return `Tool "${name}" of server "${parts.server}" needs an approval before it runs.`;
  }

  /** What is wrong with a decision about this call. */
  problemOf(decision: Decision): string | undefined {
    try {
      this.settle(decision);
      return undefined;
    } catch (error) {
      if (error instanceof McpRuntimeError) return error.message;
      throw error;
    }
  }

  settle(decision: Decision | undefined): Settlement {
    const { parts, context, outcome } = this.#fields;
    if (outcome instanceof McpRuntimeError) return { type: "failed", failure: outcome };
    if (!outcome.needsApproval) return { type: "cleared", prepared: outcome };
    switch (decision?.type) {
      case undefined:
        return { type: "unasked", prepared: outcome };
      case "approve":
        return { type: "cleared", prepared: outcome };
      case "reject":
        return { type: "rejected", failure: refusal(parts, decision.message || "it was not approved.") };
      case "edit": {
        const prepared = withEdits(parts, outcome, { edited: decision.editedAction.args, context });
        return { type: "cleared", prepared, note: this.#noteOn(prepared) };
      }
    }
  }

  /** Somebody said yes to something else: the arguments came out differently when they were prepared again. */
  outdated(): Settlement {
    const why = "its arguments are not those that were approved. Call it again to ask once more.";
    return { type: "rejected", failure: refusal(this.#fields.parts, why) };
  }

  isSameAs(asked: AskedAction | undefined): boolean {
    const { action } = this;
    if (action === undefined || asked === undefined) return false;
    const plain = ({ name, args }: AskedAction): unknown => JSON.parse(JSON.stringify({ name, args }));
    return isDeepStrictEqual(plain(action), plain(asked));
  }

  #noteOn({ args }: PreparedCall): string {
    const shown: JsonObject = visibleArguments(this.#fields.parts, args);
    return `A person changed the arguments before the call: ${toJson(shown)}`;
  }
}

/** What becomes of a call by the answers to those that were asked about. */
export function settlementOf(
  call: ReviewedCall,
  answers: ReadonlyMap<ReviewedCall, Decision | undefined>,
): Settlement {
  const answer = answers.get(call);
  return answer === undefined && answers.has(call) ? call.outdated() : call.settle(answer);
}
