import type { RequestOptions, ToolCall } from "../client/call-options.js";
import type { ToolResult } from "../client/tool-result.js";
import type { McpToolInfo } from "../config/server-features.js";
import type { ServerTools } from "../tools/create-tools.js";

/** A tool that the server does not have, and that uses something else of the server. */
export interface AddedTool {
  readonly info: McpToolInfo;
  readonly run: (call: ToolCall, options: RequestOptions) => Promise<ToolResult>;
}

const ADDED_TOOLS = new WeakSet<McpToolInfo>();

/** Whether a tool was added: what it does is not decided by the server, so it is not pinned. */
export function isAddedTool(info: McpToolInfo): boolean {
  return ADDED_TOOLS.has(info);
}

/**
 * Adds tools to those of a server. The same options (naming, rules, limits) apply to them. A tool of the server with the
 * same name takes precedence. `assertEnabled` throws while the server must not be used.
 */
export function withAddedTools(
  serverTools: ServerTools,
  tools: readonly AddedTool[],
  assertEnabled?: () => void,
): ServerTools {
  if (tools.length === 0) return serverTools;
  const existing = new Set(serverTools.tools.map(({ info }) => info.name));
  const added = new Map(
    tools.filter(({ info }) => !existing.has(info.name)).map((tool) => [tool.info.name, tool]),
  );
  for (const { info } of added.values()) ADDED_TOOLS.add(info);
  const { caller, lookup } = serverTools;
  return {
    ...serverTools,
    tools: [...serverTools.tools, ...[...added.values()].map(({ info }) => ({ info }))],
    caller: {
      closed: caller.closed,
      get output() {
        return caller.output;
      },
      redact: (message) => caller.redact(message),
      identityOf: (options) => caller.identityOf(options),
      callTool: async (call, options) => {
        const tool = added.get(call.name);
        if (tool === undefined) return caller.callTool(call, options);
        assertEnabled?.();
        const { signal, timeoutMs, context } = options;
        return tool.run(call, { signal, timeoutMs, context });
      },
    },
    lookup: {
      find: async (name, options) => {
        const tool = added.get(name);
        return tool === undefined ? lookup.find(name, options) : { state: "listed", info: tool.info };
      },
    },
  };
}
