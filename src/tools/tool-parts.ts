import type { KnownTools } from "../catalogue/known-tools.js";
import type { CallToolOptions, ToolCall } from "../client/call-tool.js";
import type { ToolResult } from "../client/tool-result.js";
import type { Cancellation } from "../concurrency/cancellation.js";
import type { Semaphore } from "../concurrency/semaphore.js";
import type { JsonObject } from "../definitions/json.js";
import type { McpToolInfo } from "../definitions/tool-info.js";
import type { ToolRule } from "../definitions/tool-rules.js";
import type { ArgumentFiller } from "./argument-properties.js";
import type { DefaultArguments } from "./default-arguments.js";
import type { ArgumentCheck } from "./enforced-schema.js";
import type { ToolSettings } from "./tool-options.js";

/** What a tool needs of a client: the one method that calls. */
export interface ToolCaller {
  callTool(call: ToolCall, options: CallToolOptions): Promise<ToolResult>;
  /** Cancelled when its toolset is closed. */
  readonly closed?: Cancellation | undefined;
}

export interface ToolParts {
  readonly server: string;
  readonly info: McpToolInfo;
  readonly rule: ToolRule;
  readonly caller: ToolCaller;
  /** Tells a tool that is gone from one that fails. */
  readonly knownTools: KnownTools;
  readonly settings: ToolSettings;
  readonly defaults: DefaultArguments;
  readonly inputCheck: ArgumentCheck;
  readonly outputCheck: ArgumentCheck | undefined;
  readonly filler: ArgumentFiller;
  /** The agent's input, for arguments that are taken from it. */
  readonly agentInput: JsonObject;
  /** Whether the server is believed what it says of its tool. */
  readonly trustAnnotations: boolean;
  /** Set by a rule's `maxConcurrent`. */
  readonly slots: Semaphore | undefined;
  readonly warn: (message: string) => void;
}
