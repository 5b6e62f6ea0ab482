import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  type McpHttpHandler,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { servePrompts, serveResources } from "./era-library.js";
import type { MessageTransport } from "../../src/index.js";
import { listPage } from "../../src/testing/list-page.js";
import { McpTestServer, type McpTestServerOptions, type TestTool } from "../../src/testing/index.js";

/**
 * What a server speaks.
 * - `legacy`: the revisions with sessions
 * - `modern`: 2026-07-28 only
 * - `dual`: both
 */
export type ServedEra = "legacy" | "modern" | "dual";

export const ERAS = ["legacy", "modern"] as const;

/** What a tool of a server of 2026-07-28 is given in addition. */
export interface ModernToolContext {
  readonly inputResponses: Record<string, Record<string, unknown>> | undefined;
  readonly requestState: string | undefined;
}

interface EraServerOptions extends McpTestServerOptions {
  /** What is said of how long a list may be kept. */
  readonly cacheHint?: { readonly ttlMs: number; readonly cacheScope: "public" | "private" };
}

/** A test server whose sessions, where it has none, are of the SDK's second line. Its era may change. */
export class EraServer extends McpTestServer {
  era: ServedEra;
  readonly #handlers: Record<Exclude<ServedEra, "legacy">, McpHttpHandler>;
  readonly #cacheHint: EraServerOptions["cacheHint"];
  readonly #instructions: string | undefined;
  readonly #linked = new Set<Server>();

  constructor(era: ServedEra, { cacheHint, ...options }: EraServerOptions = {}) {
    const self: { server?: EraServer } = {};
    super({
      ...options,
      serve: async ({ request, response, body }) => {
        const handler = self.server?.handler;
        if (handler === undefined) return false;
        await toNodeHandler(handler)(request as never, response as never, body);
        return true;
      },
    });
    self.server = this;
    this.era = era;
    this.#cacheHint = cacheHint;
    this.#instructions = options.instructions;
    const create = () => this.#createServer();
    const responseMode = options.answers === "sse" ? "sse" : "auto";
    this.#handlers = {
      modern: createMcpHandler(create, { legacy: "reject", responseMode }),
      dual: createMcpHandler(create, { responseMode }),
    };
  }

  get handler(): McpHttpHandler | undefined {
    return this.era === "legacy" ? undefined : this.#handlers[this.era];
  }

  /** Over a line of any kind. It is of the era of this moment. */
  override async connect(transport: MessageTransport): Promise<void> {
    if (this.era === "legacy") return super.connect(transport);
    const legacy = this.era === "dual" ? "serve" : "reject";
    serveStdio(() => this.#createLinked(), { transport: transport as never, legacy });
  }

  /** Somebody wants to hear what it says by itself. */
  async listenedTo(): Promise<void> {
    await this.waitFor(this.era === "legacy" ? "GET" : "subscriptions/listen");
  }

  override async notifyToolsChanged(): Promise<void> {
    this.handler?.notify.toolsChanged();
    for (const server of this.#linked) await server.sendToolListChanged();
    await super.notifyToolsChanged();
  }

  override async notifyResourcesChanged(): Promise<void> {
    this.handler?.notify.resourcesChanged();
    await super.notifyResourcesChanged();
  }

  override async notifyPromptsChanged(): Promise<void> {
    this.handler?.notify.promptsChanged();
    await super.notifyPromptsChanged();
  }

  override async notifyResourceUpdated(uri: string): Promise<void> {
    this.handler?.notify.resourceUpdated(uri);
    for (const server of this.#linked) await server.sendResourceUpdated({ uri });
    await super.notifyResourceUpdated(uri);
  }

  #createLinked(): Server {
    const server = this.#createServer();
    this.#linked.add(server);
    server.onclose = () => this.#linked.delete(server);
    return server;
  }

  #createServer(): Server {
    const { resources, prompts } = this;
    const instructions = this.#instructions;
    const server = new Server(
      { name: "era-server", version: "2.0.0" },
      {
        capabilities: {
          tools: { listChanged: true },
          ...(resources === undefined ? {} : { resources: { subscribe: true, listChanged: true } }),
          ...(prompts === undefined ? {} : { prompts: { listChanged: true }, completions: {} }),
        },
        ...(instructions === undefined ? {} : { instructions }),
      },
    );
    if (resources !== undefined) serveResources(server, this);
    if (prompts !== undefined) servePrompts(server, this);
    server.setRequestHandler(
      "tools/list",
      ({ params }) => ({ ...this.#listed(params?.cursor), ...this.#cacheHint }) as never,
    );
    server.setRequestHandler("tools/call", async ({ params }, context) => {
      const tool = this.tools.find(({ name }) => name === params.name);
      const args = (params.arguments ?? {}) as Record<string, unknown>;
      if (tool === undefined)
        return { isError: true, content: [{ type: "text", text: `Unknown tool: ${params.name}` }] };
      const headers = Object.fromEntries(context.http?.req?.headers ?? []);
      this.executions.push({ tool: tool.name, args, sessionId: undefined, headers });
      return run(tool, args, context, headers) as never;
    });
    return server;
  }

  #listed(cursor: string | undefined) {
    const items = [...this.tools.map(toListed), ...this.malformedTools];
    const another = (position: number) => toListed({ name: `tool-${position}`, run: () => undefined });
    return listPage({ key: "tools", items, another }, this.listing, cursor);
  }
}

function toListed({ inputSchema = { type: "object" }, ...tool }: TestTool) {
  return { ...tool, inputSchema, run: undefined };
}

async function run(
  tool: TestTool,
  args: Record<string, unknown>,
  { mcpReq }: ServerContext,
  headers: Record<string, string>,
): Promise<unknown> {
  const token = mcpReq._meta?.progressToken;
  const progress = async (value: number, total?: number) => {
    if (token === undefined) return;
    const params = { progressToken: token, progress: value, ...(total === undefined ? {} : { total }) };
    await mcpReq.notify({ method: "notifications/progress", params });
  };
  const more: ModernToolContext = {
    inputResponses: mcpReq.inputResponses as ModernToolContext["inputResponses"],
    requestState: mcpReq.requestState() as string | undefined,
  };
  try {
    const value = await tool.run(args, {
      signal: mcpReq.signal,
      sessionId: undefined,
      headers,
      progress,
      ...more,
    });
    return typeof value === "object" && value !== null
      ? value
      : { content: [{ type: "text", text: String(value) }] };
  } catch (error) {
    return {
      isError: true,
      content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }],
    };
  }
}

export async function startEraServer(era: ServedEra, options?: EraServerOptions): Promise<EraServer> {
  const server = new EraServer(era, options);
  await server.start();
  return server;
}
