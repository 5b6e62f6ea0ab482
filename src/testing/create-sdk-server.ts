import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import { describeThrown, printValue } from "../errors/sanitize-text.js";
import { type JsonObject, omitUndefined } from "../json/json.js";

/** A tool of `McpTestServer`. */
export interface TestTool {
  /** The name that clients call. */
  readonly name: string;
  /** The display name; none by default. */
  readonly title?: string;
  /** Listed for the model; none by default. */
  readonly description?: string;
  /**
   * The JSON schema of the arguments. The server does not validate them.
   * @default { type: "object" }
   */
  readonly inputSchema?: JsonObject;
  /** The JSON schema of the structured result; none by default. */
  readonly outputSchema?: JsonObject;
  /** Listed unchanged, such as `{ readOnlyHint: true }`. */
  readonly annotations?: JsonObject;
  /** Listed unchanged, such as `[{ src: "https://example.com/icon.png" }]`. */
  readonly icons?: readonly JsonObject[];
  /** Listed unchanged, such as `{ ui: { resourceUri: "ui://weather/forecast" } }`. */
  readonly _meta?: JsonObject;
  /** Returns a string or a complete result. An exception becomes an `isError` result, as in real servers. */
  readonly run: (args: JsonObject, context: TestToolContext) => unknown;
}

/** The request that calls a tool. */
export interface TestToolContext {
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal;
  /** `undefined` without sessions and for an in-process connection. */
  readonly sessionId: string | undefined;
  /** The headers of the HTTP request; empty for an in-process connection. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Sends a progress notification if the client sent a progress token. */
  readonly progress: (progress: number, total?: number) => Promise<void>;
}

/** One execution of a tool. */
export interface Execution {
  /** The name of the tool. */
  readonly tool: string;
  /** The arguments as received. */
  readonly args: JsonObject;
  /** `undefined` without sessions and for an in-process connection. */
  readonly sessionId: string | undefined;
  /** The headers of the HTTP request; empty for an in-process connection. */
  readonly headers: TestToolContext["headers"];
}

/** A resource of `McpTestServer`. */
export interface TestResource {
  /** The URI that clients read. */
  readonly uri: string;
  /**
   * The name in the list.
   * @default the URI
   */
  readonly name?: string;
  /** The display name in the list; none by default. */
  readonly title?: string;
  /** The description in the list; none by default. */
  readonly description?: string;
  /** The media type in the list and of the contents; none by default. */
  readonly mimeType?: string;
  /** Returns a string, bytes, or an array of contents. */
  readonly read: (context: TestResourceContext) => unknown;
}

/** The request that reads a resource. */
export type TestResourceContext = Pick<TestToolContext, "signal" | "headers">;

/** A resource template of `McpTestServer`. */
export interface TestResourceTemplate {
  /** A URI template of RFC 6570. */
  readonly uriTemplate: string;
  /** The name in the list. */
  readonly name: string;
  /** The description in the list; none by default. */
  readonly description?: string;
  /** The media type of all resources of the template; none by default. */
  readonly mimeType?: string;
}

/** A prompt of `McpTestServer`. */
export interface TestPrompt {
  /** The name that clients request. */
  readonly name: string;
  /** The display name in the list; none by default. */
  readonly title?: string;
  /** The description in the list; none by default. */
  readonly description?: string;
  /** The listed arguments. The server does not validate them. */
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  /** Returns the text of a user message, or a complete result. */
  readonly get: (args: Readonly<Record<string, string>>) => unknown;
  /** Returns completions for an argument, given the values of the other arguments. */
  readonly complete?: (
    argument: { readonly name: string; readonly value: string },
    others: Readonly<Record<string, string>>,
  ) => readonly string[];
}

/** How a list is returned. */
export type Pagination =
  | {
      /** In one response. */
      readonly type: "none";
    }
  | {
      /** In pages. */
      readonly type: "pages";
      /** The number of items of a page. */
      readonly size: number;
      /** The number of the page, starting at 1, whose request fails; none by default. */
      readonly failingPage?: number;
    }
  | {
      /** With a new cursor on every page. */
      readonly type: "endless";
    }
  | {
      /** With the same cursor on every page. */
      readonly type: "repeated-cursor";
    };

/** What a server offers. It is read for each request, so that it can be changed while clients are connected. */
interface TestServerBehavior {
  readonly tools: readonly TestTool[];
  /** Invalid tool definitions that are listed unchanged. */
  readonly malformedTools: readonly unknown[];
  readonly resources?: readonly TestResource[] | undefined;
  readonly resourceTemplates?: readonly TestResourceTemplate[] | undefined;
  readonly prompts?: readonly TestPrompt[] | undefined;
  readonly pagination: Pagination;
  /** Every tool execution is added. */
  readonly executions: Execution[];
}

/** Creates a server of the official SDK for one session. Subscribed resource URIs are added to `subscribed`. */
export function createSdkServer(
  behavior: TestServerBehavior,
  instructions?: string,
  subscribed = new Set<string>(),
): Server {
  const { resources, prompts } = behavior;
  const capabilities = omitUndefined({
    tools: { listChanged: true },
    logging: {},
    resources: resources && { subscribe: true, listChanged: true },
    prompts: prompts && { listChanged: true },
    completions: prompts && {},
  });
  const info = { name: "mcp-test-server", version: "1.0.0" };
  const server = new Server(info, { capabilities, ...omitUndefined({ instructions }) });
  serveTools(server, behavior);
  if (resources !== undefined) serveResources(server, behavior, subscribed);
  if (prompts !== undefined) servePrompts(server, behavior);
  server.setRequestHandler(SetLevelRequestSchema, () => ({}));
  return server;
}

const TOOLS = {
  key: "tools",
  extra: (position: number) => ({ name: `tool-${position}`, inputSchema: { type: "object" } }),
};

function serveTools(server: Server, behavior: TestServerBehavior): void {
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const { tools, malformedTools, pagination } = behavior;
    const valid = tools.map(({ inputSchema = { type: "object" }, ...tool }) => {
      return { ...tool, inputSchema, run: undefined };
    });
    return paginate({ ...TOOLS, items: [...valid, ...malformedTools] }, pagination, params?.cursor);
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { signal, sessionId } = extra;
    const args = (params.arguments ?? {}) as JsonObject;
    const headers = extra.requestInfo?.headers ?? {};
    const tool = behavior.tools.find(({ name }) => name === params.name);
    if (tool === undefined) return toErrorResult(`Unknown tool: ${params.name}`);
    behavior.executions.push({ tool: tool.name, args, sessionId, headers });
    const progressToken = params._meta?.progressToken;
    const progress = async (value: number, total?: number) => {
      if (progressToken === undefined) return;
      const progressParams = { progressToken, progress: value, ...omitUndefined({ total }) };
      await extra.sendNotification({ method: "notifications/progress", params: progressParams });
    };
    try {
      const value = await tool.run(args, { signal, sessionId, headers, progress });
      return toResult(value, { content: [{ type: "text", text: printValue(value) }] });
    } catch (error) {
      return toErrorResult(describeThrown(error));
    }
  });
}

function toErrorResult(text: string) {
  return { isError: true, content: [{ type: "text" as const, text }] };
}

/** Returns a value that is an object as it is, since it is a complete result; otherwise, `textResult`. */
function toResult(value: unknown, textResult: object): never {
  return (typeof value === "object" && value !== null ? value : textResult) as never;
}

const RESOURCES = {
  key: "resources",
  extra: (position: number) => ({ uri: `test://${position}`, name: `resource-${position}` }),
};
const TEMPLATES = {
  key: "resourceTemplates",
  extra: (position: number) => ({ uriTemplate: `test://${position}/{x}`, name: `template-${position}` }),
};

function serveResources(server: Server, behavior: TestServerBehavior, subscribed: Set<string>): void {
  server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { resources = [], pagination } = behavior;
    const items = resources.map(({ uri, name = uri, title, description, mimeType }) => {
      return { uri, name, title, description, mimeType };
    });
    return paginate({ ...RESOURCES, items }, pagination, params?.cursor);
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, ({ params }) => {
    const { resourceTemplates: items = [], pagination } = behavior;
    return paginate({ ...TEMPLATES, items }, pagination, params?.cursor);
  });
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, { signal, requestInfo }) => {
    const resource = behavior.resources?.find(({ uri }) => uri === params.uri);
    if (resource === undefined) throw new McpError(RPC_CODES.notFound, `Resource ${params.uri} not found`);
    const read = await resource.read({ signal, headers: requestInfo?.headers ?? {} });
    return { contents: Array.isArray(read) ? read : [toContent(resource, read)] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
}

export function toContent({ uri, mimeType }: TestResource, read: unknown): JsonObject {
  if (read instanceof Uint8Array) return { uri, mimeType, blob: Buffer.from(read).toString("base64") };
  return { uri, mimeType, text: printValue(read) };
}

const PROMPTS = { key: "prompts", extra: (position: number) => ({ name: `prompt-${position}` }) };

function servePrompts(server: Server, behavior: TestServerBehavior): void {
  const find = (wanted: string) => {
    const prompt = behavior.prompts?.find(({ name }) => name === wanted);
    if (prompt === undefined) throw new McpError(ErrorCode.InvalidParams, `Prompt ${wanted} not found`);
    return prompt;
  };
  server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => {
    const { prompts = [], pagination } = behavior;
    const items = prompts.map(({ name, title, description, arguments: args }) => {
      return { name, title, description, arguments: args };
    });
    return paginate({ ...PROMPTS, items }, pagination, params?.cursor);
  });
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }) => {
    const value = await find(params.name).get(params.arguments ?? {});
    const message = { role: "user", content: { type: "text", text: printValue(value) } };
    return toResult(value, { messages: [message] });
  });
  server.setRequestHandler(CompleteRequestSchema, ({ params: { ref, argument, context } }) => {
    const prompt = ref.type === "ref/prompt" ? find(ref.name) : undefined;
    const values = [...(prompt?.complete?.(argument, context?.arguments ?? {}) ?? [])];
    return { completion: { values, total: values.length, hasMore: false } };
  });
}

interface ListedItems {
  /** The key of the list in the result. */
  readonly key: string;
  readonly items: readonly unknown[];
  /** Creates the item at a position of an endless list. */
  readonly extra: (position: number) => JsonObject;
}

export function paginate(
  { key, items, extra }: ListedItems,
  pagination: Pagination,
  cursor: string | undefined,
): JsonObject {
  const position = Number(cursor ?? 0);
  switch (pagination.type) {
    case "none":
      return { [key]: items };
    case "endless":
      return { [key]: [extra(position)], nextCursor: String(position + 1) };
    case "repeated-cursor":
      return { [key]: items, nextCursor: "1" };
    case "pages": {
      if (position / pagination.size + 1 === pagination.failingPage)
        throw new Error("This page cannot be read.");
      const next = position + pagination.size;
      const more = next < items.length ? { nextCursor: String(next) } : {};
      return { [key]: items.slice(position, next), ...more };
    }
  }
}
