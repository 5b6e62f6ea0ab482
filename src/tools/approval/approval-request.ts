import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";

/** A call that somebody is asked about, as LangChain's human-in-the-loop format has it. */
export interface ActionRequest {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** As they would be sent; sensitive ones are masked. */
  readonly args: JsonObject;
  readonly description: string;
}

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

export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "edit"; readonly editedAction: { readonly name: string; readonly args: JsonObject } }
  | { readonly type: "reject"; readonly message?: string | undefined };

export const DECISIONS: readonly Decision["type"][] = ["approve", "edit", "reject"];

/** The decisions of an answer (LangChain's `HITLResponse`), or what is wrong with it. */
export function readDecisions(
  answer: unknown,
  actions: readonly Pick<ActionRequest, "name">[],
): Decision[] | string {
  const decisions = isPlainObject(answer) ? answer["decisions"] : undefined;
  if (!Array.isArray(decisions)) return `The answer has no list of decisions: { decisions: [{ type }] }.`;
  if (decisions.length !== actions.length) {
    return `The answer has ${count(decisions.length, "decision")} for ${count(actions.length, "call")}.`;
  }
  const problems = actions.flatMap(({ name }, index) => problemOf(decisions[index], name) ?? []);
  return problems.length > 0 ? problems.join(" ") : (decisions as Decision[]);
}

function problemOf(decision: unknown, name: string): string | undefined {
  const { type, editedAction, message } = isPlainObject(decision) ? decision : {};
  switch (type) {
    case "approve":
      return undefined;
    case "reject": {
      const isText = message === undefined || message === null || typeof message === "string";
      return isText ? undefined : `The message about ${name} is no text.`;
    }
    case "edit": {
      if (!isPlainObject(editedAction) || !isPlainObject(editedAction["args"]))
        return `The changed call of ${name} has no arguments: { editedAction: { name, args } }.`;
      const { name: edited = name } = editedAction;
      return edited === name ? undefined : `A call of ${name} cannot become one of another tool.`;
    }
    default:
      return `The decision about ${name} is none of ${DECISIONS.join(", ")}: found ${describeValue(type)}.`;
  }
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
