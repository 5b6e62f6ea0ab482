import type { ToolResult } from "../client/tool-result.js";
import { copyJson } from "../json/clone-json.js";
import type { ToolArtifact } from "./content/tool-artifact.js";
import type { ToolParts } from "./tool-runtime.js";

/** The artifact, with what the option `customData` finds in the result. It is the user's code: when it fails, the result stays. */
export function withCustomData(
  artifact: ToolArtifact,
  { content, structuredContent, isError, meta }: ToolResult,
  { settings, warn }: Pick<ToolParts, "settings" | "warn">,
): ToolArtifact {
  if (settings.customData === undefined) return artifact;
  try {
    const found = settings.customData(structuredClone({ content, structuredContent, isError, meta }));
    if (found instanceof Promise) {
      found.catch(() => undefined);
      warn("customData gave a promise, which is ignored: it has to give its value at once.");
      return artifact;
    }
    return found === undefined ? artifact : { ...artifact, customData: copyJson(found) };
  } catch (error) {
    warn(`customData failed, and is ignored: ${String(error)}`);
    return artifact;
  }
}
