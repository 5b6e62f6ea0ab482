import { compareSchemas, type ParameterChangeKind } from "../json-schema/diff.js";
import type { CancelScope } from "../async/cancel-scope.js";
import type { ToolContext } from "./tool-context.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { ToolParts } from "./tool-runtime.js";

/** A view of the server that is younger than this is good enough. */
const MAX_AGE_MS = 300_000;
/** How long a call waits for a newer one. */
const MAX_WAIT_MS = 10_000;

const WORDS: Readonly<Record<ParameterChangeKind, string>> = {
  added: "may be given now",
  required: "must be given now",
  removed: "is gone",
  type: "takes other values now",
  changed: "is described differently now",
};

/**
 * Before a call of a tool that was saved with an agent: is it still what the agent knows? More that
 * may be given does no harm. Where calls as they were made before no longer work, nothing is called:
 * the model gets the parameters as they are now, and the tool keeps them.
 */
export async function refreshSchema(
  parts: ToolParts,
  context: ToolContext,
  cancellation: CancelScope,
): Promise<void> {
  const { server, view, schema, warn } = parts;
  const { name } = schema.info;
  const asker = { context };
  const found = await view.lookUp(name, { asker, cancellation, maxAgeMs: MAX_AGE_MS, waitMs: MAX_WAIT_MS });
  if (found.state === "unknown") {
    warn(`It could not be compared with the server, and is called as it is known: ${String(found.error)}`);
    return;
  }
  if (found.state === "unlisted") {
    const text = `Server "${server}" no longer has a tool "${name}". It was not called.`;
    throw new McpRuntimeError("not-found", text, { server, tool: name });
  }
  const { severity, parameters } = compareSchemas(schema.info.inputSchema, found.info.inputSchema);
  if (severity !== "breaking") return;
  parts.schema = schema.of(found.info);
  const text = `Tool "${name}" has changed since it was described, and was not called. Its parameters are now: ${JSON.stringify(parts.schema.shown())}`;
  const issues = parameters.map(({ parameter, what }) => ({ path: parameter, message: WORDS[what] }));
  throw new McpRuntimeError("invalid-request", text, { server, tool: name, issues });
}
