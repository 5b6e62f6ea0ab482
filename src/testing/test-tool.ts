import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../json/json.js";
import { paginate } from "./paginate.js";
import { type PromptBehavior, servePrompts } from "./test-prompt.js";
import { type ResourceBehavior, serveResources } from "./test-resource.js";

/** The request that calls a tool. */
export interface TestToolContext {
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  readonly sessionId: string | undefined;
  /** The headers of the HTTP request; empty for an in-process connection. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Sends a progress notification if the client sent a progress token. */
  readonly progress: (progress: number, total?: number) => Promise<void>;
}

/** A tool of `McpTestServer`. */
export interface TestTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  /** Returns a string or a complete result. An exception becomes an `isError` result, as in real servers. */
  readonly run: (args: JsonObject, context: TestToolContext) => unknown;
}

export interface TestServerBehavior extends ResourceBehavior, PromptBehavior {
  readonly tools: readonly TestTool[];
  /** Invalid tool definitions that are listed unchanged. */
  readonly malformedTools: readonly unknown[];
  readonly instructions: string | undefined;
}

/** One execution of a tool. */
export interface Execution {
  readonly tool: string;
  readonly args: JsonObject;
  readonly sessionId: string | undefined;
  readonly headers: TestToolContext["headers"];
}

const TOOLS = {
  key: "tools",
  extra: (position: number) => ({ name: `tool-${position}`, inputSchema: { type: "object" } }),
};

/** Creates a server of the official SDK for one session. Subscribed resource URIs are added to `subscribed`. */
export function createSdkServer(
  behavior: () => TestServerBehavior,
  onExecution: (execution: Execution) => void,
  subscribed = new Set<string>(),
): Server {
  const { instructions, resources, prompts } = behavior();
  const server = new Server(
    { name: "mcp-test-server", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(resources === undefined ? {} : { resources: { subscribe: true, listChanged: true } }),
        ...(prompts === undefined ? {} : { prompts: { listChanged: true }, completions: {} }),
      },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  if (resources !== undefined) serveResources(server, behavior, subscribed);
  if (prompts !== undefined) servePrompts(server, behavior);
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const { tools, malformedTools, pagination } = behavior();
    const items = [...tools.map(toListed), ...malformedTools];
    return paginate({ ...TOOLS, items }, pagination, params?.cursor);
  });
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const args = (params.arguments ?? {}) as JsonObject;
    const headers = extra.requestInfo?.headers ?? {};
    const tool = behavior().tools.find(({ name }) => name === params.name);
    if (tool === undefined)
      return { isError: true, content: [{ type: "text", text: `Unknown tool: ${params.name}` }] };
    onExecution({ tool: tool.name, args, sessionId: extra.sessionId, headers });
    const token = params._meta?.progressToken;
    const progress = async (value: number, total?: number) => {
      if (token === undefined) return;
      const progressParams = {
        progressToken: token,
        progress: value,
        ...(total === undefined ? {} : { total }),
      };
      await extra.sendNotification({ method: "notifications/progress", params: progressParams });
    };
    try {
      return toResult(
        await tool.run(args, { signal: extra.signal, sessionId: extra.sessionId, headers, progress }),
      );
    } catch (error) {
      return {
        isError: true,
        content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }],
      };
    }
  });
  return server;
}

function toResult(value: unknown): never {
  const result =
    typeof value === "object" && value !== null
      ? value
      : { content: [{ type: "text", text: String(value) }] };
  return result as never;
}

function toListed(tool: TestTool): JsonObject {
  const { name, description, inputSchema = { type: "object" }, outputSchema, annotations } = tool;
  return { name, description, inputSchema, outputSchema, annotations };
}
