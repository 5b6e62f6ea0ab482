import type { JsonObject } from "../../json/json.js";
import { isGraphBubbleUp } from "../tool-failure.js";
import type { ToolRuntime } from "../tool-runtime.js";

/** Whether the rule requires approval for some arguments. */
export function mayNeedApproval({ rule: { requireApproval = false } }: ToolRuntime): boolean {
  return requireApproval !== false;
}

/** Fails closed: a rule function that throws or returns anything but `false` requires approval. */
export function needsApproval(
  { rule, schema: { info }, trustAnnotations }: ToolRuntime,
  args: JsonObject,
): boolean {
  const { requireApproval = false } = rule;
  if (requireApproval === "unless-read-only") {
    return !(trustAnnotations && info.annotations?.["readOnlyHint"] === true);
  }
  if (typeof requireApproval === "boolean") return requireApproval;
  try {
    const isRequired: unknown = requireApproval(structuredClone(args));
    return isRequired !== false;
  } catch (error) {
    if (isGraphBubbleUp(error)) throw error;
    return true;
  }
}
