import type { StructuredTool } from "@langchain/core/tools";
import type { HeldCall } from "./elicitation/interrupt-for-input.js";
import type { Settlement } from "./approval/reviewable-call.js";
import type { ToolParts } from "./tool-runtime.js";

/** What a tool has besides what everybody may see of it. */
export interface ToolInside {
  readonly parts: ToolParts;
  /**
   * The tool as core is to see it during a call: without a schema to check. Made by the first call, as
   * it turns the tool into a prototype, which takes more time and room than all the rest of it.
   */
  readonly unchecked: () => StructuredTool;
  /** By the arguments that stand for a call. */
  settled?: WeakMap<object, Settlement>;
  held?: WeakMap<object, HeldCall>;
}
