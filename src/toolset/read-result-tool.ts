import { CancelScope } from "../async/cancel-scope.js";
import { toCallContext } from "../client/resolve-identity.js";
import type { CallToolOptions, ToolCall } from "../client/call-options.js";
import { ToolResult } from "../client/tool-result.js";
import type { McpToolInfo } from "../config/server-features.js";
import { SERVER_DEFAULTS } from "../config/server-config.js";
import { Redactor } from "../errors/redaction.js";
import { WarningLimit } from "../telemetry/warning-limit.js";
import type { CreateToolsOptions, ServerTools } from "../tools/create-tools.js";
import type { IdentifyCaller, LargeResultStore } from "../tools/large-results/large-result-store.js";
import { argumentError, READER, ResultText } from "../tools/large-results/result-text.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { TOOLSET_SERVER } from "../tools/tool-names.js";
import { RuleSet } from "../tools/rule-set.js";

const LINE_NUMBER = { type: "integer", minimum: 1 };

const READ_RESULT: McpToolInfo = {
  name: READER.tool,
  title: "Read result",
  description:
    "Reads more of a large tool result, of which only the start and the end were shown. Use one of: from and to (lines), grep, jsonPath.",
  inputSchema: {
    type: "object",
    properties: {
      handle: { type: "string", description: "The handle of the result." },
      from: { ...LINE_NUMBER, description: "The first line to read or to search, counted from 1." },
      to: { ...LINE_NUMBER, description: "The last line to read or to search." },
      grep: {
        type: "string",
        description: "A regular expression: returns the matching lines with their numbers.",
      },
      jsonPath: {
        type: "string",
        description: "A path into a JSON result: $.items[0].name, or $.items[*].name for all items.",
      },
    },
    required: ["handle"],
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};

const UNKNOWN_HANDLE =
  "there is no such result in this conversation, or it has expired. Call the tool again that returned it";

/** The tool with which a model reads what was kept of large results. It belongs to the toolset, not to a server. */
export function createReadResultTool(
  resultStore: LargeResultStore,
  { identify, closed }: { readonly identify: IdentifyCaller; readonly closed?: CancelScope },
): ServerTools {
  resultStore.identify = identify;
  return {
    server: TOOLSET_SERVER,
    tools: [{ info: READ_RESULT }],
    // What it returns is limited by `readChars`.
    caller: {
      closed,
      output: { contentChars: Number.MAX_SAFE_INTEGER },
      totalMs: SERVER_DEFAULTS.timeouts.totalMs,
      redactor: new Redactor(),
      identityOf: () => "",
      callTool: async (call, options) => {
        const text = await readResult(resultStore, call, options);
        return new ToolResult({ content: [{ type: "text", text }] }, undefined, READER);
      },
    },
    lookup: { find: async () => ({ state: "listed", info: READ_RESULT }) },
    refreshSchemaBeforeCall: false,
    rules: new RuleSet(),
    warnings: new WarningLimit(TOOLSET_SERVER),
    trustAnnotations: true,
    metadata: {},
  };
}

/** Finds the tool that the store names to models. Without it, large results are truncated. */
export function attachReader(
  tools: readonly McpTool[],
  { settings: { largeResults: resultStore }, warn }: Pick<CreateToolsOptions, "settings" | "warn">,
): void {
  if (resultStore === undefined) return;
  resultStore.reader = tools.find(({ listed }) => listed.server === TOOLSET_SERVER)?.runtime;
  if (resultStore.reader === undefined)
    warn(`Large results are truncated and not kept, because the tool rules exclude "${READ_RESULT.name}".`);
}

async function readResult(
  resultStore: LargeResultStore,
  { args = {} }: ToolCall,
  options: CallToolOptions,
): Promise<string> {
  const { handle, from, to, grep, jsonPath } = args as unknown as ReadArguments;
  if (grep !== undefined && jsonPath !== undefined)
    throw argumentError("jsonPath", "use either grep or jsonPath");
  const context = toCallContext(options.context, { ...READER, purpose: "call", signal: options.signal });
  const texts = await resultStore.find(toText(handle), context);
  if (texts === undefined) throw argumentError("handle", UNKNOWN_HANDLE);
  const text = new ResultText(texts, resultStore.options.readChars);
  const cancellation = CancelScope.fromSignal(options.signal);
  try {
    if (jsonPath !== undefined) return text.readPath(toText(jsonPath));
    if (grep === undefined) return text.readLines({ from, to });
    return await text.search(toText(grep), { from, to }, cancellation);
  } finally {
    cancellation.dispose();
  }
}

/** Validated with the input schema, unless the option `inputValidation` is not "error". */
interface ReadArguments {
  readonly handle: unknown;
  readonly from?: number;
  readonly to?: number;
  readonly grep?: unknown;
  readonly jsonPath?: unknown;
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
