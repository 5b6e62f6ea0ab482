import type { ToolResult } from "../client/tool-result.js";
import type { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import { classifyFailure } from "../errors/classify-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import type { ToolParts } from "./tool-runtime.js";

const INVALID_PARAMS = -32_602;
/** A list is believed for this long, and asked for no more often. */
const FRESH_MS = 60_000;
/** How long somebody who has a failure in hand waits to hear what it was. */
const MAX_WAIT_MS = 5_000;

interface Doubt {
  readonly context: ToolContext;
  readonly cancellation: CancelScope;
}

/**
 * What is wrong when a call gave an error result. Servers answer a call of a tool that they do not have
 * with one or with -32602, as they answer a failing tool and bad arguments: their list decides, not their
 * words.
 */
export async function unknownByResult(
  parts: ToolParts,
  result: ToolResult,
  doubt: Doubt,
): Promise<McpRuntimeError | undefined> {
  return (await isUnlisted(parts, doubt)) ? unknownTool(parts, result) : undefined;
}

/** The failure of a call, as one of a tool that the server does not have where that is the case. */
export async function unknownByFailure(parts: ToolParts, failure: unknown, doubt: Doubt): Promise<unknown> {
  if (!isInvalidParams(failure) || !(await isUnlisted(parts, doubt))) return failure;
  return failure.with({ kind: classifyFailure({ code: failure.code, isUnlisted: true }) });
}

async function isUnlisted({ view, schema }: ToolParts, { context, cancellation }: Doubt): Promise<boolean> {
  const limits = { isDoubted: true, maxAgeMs: FRESH_MS, waitMs: MAX_WAIT_MS };
  const found = await view.lookUp(schema.info.name, { asker: { context }, cancellation, ...limits });
  return found.state === "unlisted";
}

function isInvalidParams(error: unknown): error is McpRuntimeError {
  return (
    error instanceof McpRuntimeError && error.kind === "invalid-request" && error.code === INVALID_PARAMS
  );
}

function unknownTool({ server, schema: { info } }: ToolParts, result: ToolResult): McpRuntimeError {
  const said = quoteServer(result.text());
  const text = `Server "${server}" lists no tool "${info.name}"${said === "" ? "." : `, and said: ${said}`}`;
  return new McpRuntimeError(classifyFailure({ isUnlisted: true }), text, {
    server,
    tool: info.name,
    attempts: 1,
  });
}
