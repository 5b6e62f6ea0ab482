import type { LookUp, LookUpOptions } from "../catalog/tool-lookup.js";
import type { CallToolOptions, ToolCall } from "../client/call-options.js";
import type { ToolResult } from "../client/tool-result.js";
import type { CancelScope } from "../async/cancel-scope.js";
import type { Semaphore } from "../async/semaphore.js";
import type { JsonObject } from "../json/json.js";
import type { ToolRule } from "../config/tool-rules.js";
import type { ToolSettings } from "./tool-options.js";
import type { ToolSchema } from "./tool-schema.js";

/** What a tool needs of a client: the one method that calls. */
export interface ToolCaller {
  callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult>;
  /** Cancelled when its toolset is closed. */
  readonly closed?: CancelScope | undefined;
}

/** What a tool needs of the catalogue: where it stands in its server's list. */
export interface ToolView {
  lookUp(name: string, options: LookUpOptions): Promise<LookUp>;
}

export interface ToolParts {
  readonly server: string;
  /** The tool as it is known now; another one when the server has changed it. */
  schema: ToolSchema;
  readonly view: ToolView;
  /** Compare it with the server before a call. */
  readonly refreshesSchema: boolean;
  readonly rule: ToolRule;
  readonly caller: ToolCaller;
  /** Tells a tool that is gone from one that fails. */
  readonly settings: ToolSettings;
  /** The agent's input, for arguments that are taken from it. */
  readonly agentInput: JsonObject;
  /** Whether the server is believed what it says of its tool. */
  readonly trustAnnotations: boolean;
  /** Set by a rule's `maxConcurrent`. */
  readonly slots: Semaphore | undefined;
  readonly warn: (message: string) => void;
}
