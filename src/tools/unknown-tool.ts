import type { ToolResult } from "../client/tool-result.js";
import type { Cancellation } from "../concurrency/cancellation.js";
import type { ToolContext } from "./tool-context.js";
import { kindOfFailure } from "../errors/kind-of-failure.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/server-text.js";
import type { ToolParts } from "./tool-parts.js";

const INVALID_PARAMS = -32_602;
/** A list is believed for this long, and asked for no more often. */
const FRESH_MS = 60_000;
/** How long somebody who has a failure in hand waits to hear what it was. */
const MAX_WAIT_MS = 5_000;

/**
 * What a call gave, unless the server does not have the tool. Servers answer that with -32602 or with
 * an error result, as they answer bad arguments and a failing tool: their list decides, not their words.
 */
export async function unlessUnknown(
  parts: ToolParts,
  calling: Promise<ToolResult>,
  { context, cancellation }: { readonly context: ToolContext; readonly cancellation: Cancellation },
): Promise<ToolResult> {
  const { view, schema } = parts;
  const isUnlisted = async () => {
    const limits = { isDoubted: true, maxAgeMs: FRESH_MS, waitMs: MAX_WAIT_MS };
    const found = await view.lookUp(schema.info.name, { asker: { context }, cancellation, ...limits });
    return found.state === "unlisted";
  };
  try {
    const result = await calling;
    if (!result.isError || !(await isUnlisted())) return result;
    throw unknownTool(parts, result);
  } catch (error) {
    if (!isInvalidParams(error) || !(await isUnlisted())) throw error;
    throw error.with({ kind: kindOfFailure({ code: error.code, isUnlisted: true }) });
  }
}

function isInvalidParams(error: unknown): error is McpRuntimeError {
  return (
    error instanceof McpRuntimeError && error.kind === "invalid-request" && error.code === INVALID_PARAMS
  );
}

function unknownTool({ server, schema: { info } }: ToolParts, result: ToolResult): McpRuntimeError {
  const said = quoteServer(result.text());
  const text = `Server "${server}" lists no tool "${info.name}"${said === "" ? "." : `, and said: ${said}`}`;
  return new McpRuntimeError(kindOfFailure({ isUnlisted: true }), text, {
    server,
    tool: info.name,
    attempts: 1,
  });
}
