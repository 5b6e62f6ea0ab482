import { type AIMessage, type BaseMessage, isBaseMessage, type ToolCall } from "@langchain/core/messages";
import { isPlainObject } from "../json/json.js";

interface PendingCalls {
  readonly messageId: string | undefined;
  readonly allCalls: readonly ToolCall[];
  /** Those that have no answer yet. */
  readonly calls: readonly ToolCall[];
}

/** The calls of the last word of a model that wait to be run. */
export function pendingCalls(state: unknown): PendingCalls {
  const messages = messagesOf(state);
  const last = messages.findLast((message): message is AIMessage => message.type === "ai");
  const answered = new Set(messages.map((message) => Reflect.get(message, "tool_call_id")));
  const allCalls = last?.tool_calls ?? [];
  const calls = allCalls.filter(({ id }) => id === undefined || !answered.has(id));
  return { messageId: last?.id, allCalls, calls };
}

/** Of a graph's state, or the state itself. */
function messagesOf(state: unknown): BaseMessage[] {
  const messages: unknown = isPlainObject(state) ? state["messages"] : state;
  return Array.isArray(messages) ? messages.filter((message) => isBaseMessage(message)) : [];
}
