import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import { type JsonObject, cloneJson } from "../../json/json.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";

/** The `artifact` of a ToolMessage: plain JSON that can be saved in a checkpoint. The model does not see it. */
export interface ToolArtifact {
  readonly structuredContent: unknown;
  /** `_meta` of the result. */
  readonly meta: JsonObject | undefined;
  readonly isError: boolean;
  /** All blocks as the server sent them, including those that were truncated, replaced or hidden from the model. */
  readonly content: readonly ContentBlock[];
  /** The return value of the option `customData`. */
  readonly customData?: unknown;
  /** Set when the call failed. */
  readonly error?: ToolFailure | undefined;
}

/** An `McpRuntimeError` as plain JSON. */
export interface ToolFailure {
  readonly kind: FailureKind;
  readonly message: string;
  /** The JSON-RPC error code. */
  readonly code?: number | undefined;
  /** The HTTP status. */
  readonly status?: number | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly attempts?: number | undefined;
  /** Whether the tool may have run although the call failed. */
  readonly outcomeUnknown?: boolean | undefined;
  /** When the server allows the next attempt, as an ISO 8601 date. */
  readonly retryAt?: string | undefined;
  /** Where a person can log in. */
  readonly authorizationUrl?: string | undefined;
  readonly issues?: readonly ConfigIssue[] | undefined;
}

export function toToolArtifact({ structuredContent, meta, isError, content }: ToolResult): ToolArtifact {
  return {
    structuredContent: cloneJson(structuredContent),
    meta: cloneJson(meta),
    isError,
    content: content.map((block) => cloneJson(block)),
  };
}
