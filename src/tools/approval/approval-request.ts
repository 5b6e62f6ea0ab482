import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";

/** LangChain's `ActionRequest`: a call that needs approval. */
export interface ActionRequest {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** The arguments that would be sent; sensitive values are masked. */
  readonly args: JsonObject;
  readonly description: string;
}

/** LangChain's `ReviewConfig`. */
export interface ReviewConfig {
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

/** Returns the decisions of an answer (LangChain's `HITLResponse`), or a description of what is wrong with it. */
export function readDecisions(
  answer: unknown,
  actions: readonly Pick<ActionRequest, "name">[],
): Decision[] | string {
  const decisions = isPlainObject(answer) ? answer["decisions"] : undefined;
  if (!Array.isArray(decisions)) return "The answer has no array of decisions: { decisions: [{ type }] }.";
  if (decisions.length !== actions.length) {
    return `The answer has ${count(decisions.length, "decision")} for ${count(actions.length, "call")}.`;
  }
  const problems = actions.flatMap(({ name }, index) => validateDecision(decisions[index], name) ?? []);
  return problems.length > 0 ? problems.join(" ") : (decisions as Decision[]);
}

function validateDecision(decision: unknown, name: string): string | undefined {
  const { type, editedAction, message } = isPlainObject(decision) ? decision : {};
  switch (type) {
    case "approve":
      return undefined;
    case "reject": {
      const isText = message === undefined || message === null || typeof message === "string";
      return isText ? undefined : `The message about ${name} is not a string.`;
    }
    case "edit": {
      if (!isPlainObject(editedAction) || !isPlainObject(editedAction["args"]))
        return `The edited call of ${name} has no arguments: { editedAction: { name, args } }.`;
      const { name: editedName = name } = editedAction;
      return editedName === name ? undefined : `A call of ${name} cannot be changed to another tool.`;
    }
    default:
      return `The decision about ${name} must be one of ${DECISIONS.join(", ")}, got ${describeValue(type)}.`;
  }
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

const INPUT_TYPES: ReadonlySet<unknown> = new Set(["mcp_input", "mcp_inputs"]);

/** Returns the last approval request of a task: its last interrupt, or the one saved with a later input request. */
export function previousApproval(question: unknown): unknown {
  if (!isPlainObject(question)) return undefined;
  return INPUT_TYPES.has(question["type"]) ? question["approval"] : question;
}
