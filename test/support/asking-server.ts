import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const HAIKU = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "A haiku, please." } }],
  maxTokens: 100,
};

export const BOOKING = {
  message: "Which table?",
  requestedSchema: {
    type: "object" as const,
    properties: {
      name: { type: "string" as const },
      guests: { type: "integer" as const, minimum: 1, default: 2 },
    },
    required: ["name"],
  },
};

/**
 * A server whose tools ask the client: `sample`, `form`, `url`, `roots`, `ask` (anything), `many` (many at once).
 * Where a request belongs to a call it travels on that call's stream, otherwise on the server's own.
 */
export function createAskingServer({ belongs = true }: { belongs?: boolean } = {}): Server {
  const mcp = new McpServer({ name: "asking", version: "1.0.0" }, { capabilities: { logging: {} } });
  const { server } = mcp;
  const add = (
    name: string,
    ask: (params: Record<string, unknown>, options: AskOptions) => Promise<unknown>,
  ) =>
    mcp.registerTool(
      name,
      { inputSchema: { params: z.record(z.string(), z.unknown()).optional() } },
      async (args, extra) => {
        const options = { signal: extra.signal, ...(belongs ? { relatedRequestId: extra.requestId } : {}) };
        const answer = await ask(args.params ?? {}, options);
        return { content: [{ type: "text" as const, text: JSON.stringify(answer) }] };
      },
    );
  add("sample", (params, options) => server.createMessage({ ...HAIKU, ...params }, options));
  add("form", (params, options) => server.elicitInput({ ...BOOKING, ...params }, options));
  add("url", (params, options) =>
    server.elicitInput(
      { mode: "url", message: "Log in.", url: "https://example.com/login", elicitationId: "e1", ...params },
      options,
    ),
  );
  add("roots", (_, options) => server.listRoots(undefined, options));
  add("ask", ({ method, ...params }, options) =>
    server.request({ method: String(method), params }, ResultSchema, options),
  );
  add("many", ({ count }, options) =>
    Promise.all(
      Array.from({ length: Number(count) }, () =>
        server.createMessage(HAIKU, belonging(options)).then(() => 1),
      ),
    ),
  );
  return server;
}

/** Without the signal, which would get a listener for each of them. */
function belonging({ relatedRequestId }: AskOptions) {
  return relatedRequestId === undefined ? {} : { relatedRequestId };
}

interface AskOptions {
  readonly signal: AbortSignal;
  readonly relatedRequestId?: string | number;
}
