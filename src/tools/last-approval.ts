import { isJsonObject } from "../definitions/json.js";

/** The last approval that a task has asked for: its last question, or one that came before that. */
export function lastApproval(question: unknown): unknown {
  if (!isJsonObject(question)) return undefined;
  return question["type"] === "mcp_input" ? question["approval"] : question;
}
