import { isPlainObject } from "../../json/json.js";

const OURS: ReadonlySet<unknown> = new Set(["mcp_input", "mcp_inputs"]);

/** The last approval that a task has asked for: its last question, or one that came before that. */
export function lastApproval(question: unknown): unknown {
  if (!isPlainObject(question)) return undefined;
  return OURS.has(question["type"]) ? question["approval"] : question;
}
