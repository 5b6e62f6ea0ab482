import type { Attributes } from "@opentelemetry/api";
import type { CallerContext } from "../../client/call-options.js";
import { isPlainObject } from "../../json/json.js";
import { withoutUnknown } from "./attributes.js";

/**
 * What ties a span to the LangChain run that it belongs to. A run is no span by itself: whoever traces
 * runs elsewhere, as LangSmith does, finds the call by these.
 */
export function attributesOfRun(context: CallerContext | undefined): Attributes {
  const { config = {}, configurable = {}, runId } = context ?? {};
  const { toolCall } = config;
  return withoutUnknown({
    "langchain.run_id": runId,
    "gen_ai.tool.call.id": textOf(isPlainObject(toolCall) ? toolCall["id"] : undefined),
    "gen_ai.conversation.id": textOf(configurable["thread_id"]),
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
