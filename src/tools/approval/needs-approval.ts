import type { JsonObject } from "../../json/json.js";
import { isBubblingUp } from "../tool-failure.js";
import type { ToolParts } from "../tool-runtime.js";

/** Whether a rule asks for approval at all, whatever the arguments. */
export function mayNeedApproval({ rule: { requireApproval = false } }: ToolParts): boolean {
  return requireApproval !== false;
}

/** Whether somebody has to say yes first. A server's word that it only reads counts where the server is trusted. */
export function needsApproval(
  { rule, schema: { info }, trustAnnotations }: ToolParts,
  args: JsonObject,
): boolean {
  const { requireApproval = false } = rule;
  if (requireApproval === "unless-read-only") {
    return !(trustAnnotations && info.annotations?.["readOnlyHint"] === true);
  }
  if (typeof requireApproval === "boolean") return requireApproval;
  try {
    const decision: unknown = requireApproval(structuredClone(args));
    return decision !== false;
  } catch (error) {
    if (isBubblingUp(error)) throw error;
    return true;
  }
}
