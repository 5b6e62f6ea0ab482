import type { Cancellation } from "../concurrency/cancellation.js";
import type { JsonObject } from "../definitions/json.js";
import { refusal } from "./refusal.js";
import { isBubblingUp } from "./tool-failure.js";
import type { CallPreview } from "./tool-options.js";
import type { ToolParts } from "./tool-parts.js";
import { ask } from "./user-code.js";

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

export async function approve(
  parts: ToolParts,
  call: CallPreview,
  cancellation: Cancellation,
): Promise<void> {
  const { onApproval } = parts.settings;
  if (onApproval === undefined) {
    throw refusal(parts, "it needs an approval, and nobody is there to give it (option onApproval).");
  }
  const decision: unknown = await ask(cancellation, () => onApproval(call));
  // Only a plain yes counts: what a careless function gives back is none.
  if (decision !== true) throw refusal(parts, "it was not approved.");
}
