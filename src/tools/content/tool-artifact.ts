import type { ContentBlock, ToolResult } from "../../client/tool-result.js";
import type { JsonObject } from "../../json/json.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import { copyJson } from "../../json/clone-json.js";

/** What a ToolMessage carries besides what the model reads: plain JSON, fit for a checkpoint. */
export interface ToolArtifact {
  readonly structuredContent: unknown;
  /** `_meta` of the result. */
  readonly meta: JsonObject | undefined;
  readonly isError: boolean;
  /** Every block as the server sent it, also those that were cut, replaced or kept from the model. */
  readonly content: readonly ContentBlock[];
  /** What the option `customData` found in the result. */
  readonly customData?: unknown;
  /** Why there is no good result. */
  readonly error?: ToolFailure | undefined;
}

/** An `McpRuntimeError` in plain JSON. */
export interface ToolFailure {
  readonly kind: FailureKind;
  readonly message: string;
  readonly code?: number | undefined;
  readonly status?: number | undefined;
  readonly server?: string | undefined;
  readonly tool?: string | undefined;
  readonly attempts?: number | undefined;
  readonly outcomeUnknown?: boolean | undefined;
  /** ISO 8601. */
  readonly retryAt?: string | undefined;
  /** Where a person logs in. */
  readonly authorizationUrl?: string | undefined;
  readonly issues?: readonly ConfigIssue[] | undefined;
}

export function toToolArtifact({ structuredContent, meta, isError, content }: ToolResult): ToolArtifact {
  return {
    structuredContent: copyJson(structuredContent),
    meta: copyJson(meta),
    isError,
    content: content.map((block) => copyJson(block)),
  };
}
