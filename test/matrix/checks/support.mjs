/** A model that calls `web__echo` once. `fakeModel` of `@langchain/core/testing` is not in the oldest versions. */
export function createModel(modules) {
  const { BaseChatModel } = modules["@langchain/core/language_models/chat_models"];
  const { AIMessage } = modules["@langchain/core/messages"];
  class ScriptedModel extends BaseChatModel {
    _llmType() {
      return "scripted";
    }
    bindTools() {
      return this;
    }
    async _generate(messages) {
      const isDone = messages.at(-1)?.name === "web__echo";
      const call = { id: "1", name: "web__echo", args: { text: "works" }, type: "tool_call" };
      const message = new AIMessage({ content: "", tool_calls: isDone ? [] : [call] });
      return { generations: [{ text: "", message }] };
    }
  }
  return new ScriptedModel({});
}

/** Runs a function with a toolset over a real server whose calls need approval. */
export async function withApprovedTools(modules, use) {
  const { createMcpTools } = modules["langchain-mcp-runtime"];
  const { startMcpTestServer } = modules["langchain-mcp-runtime/testing"];
  const server = await startMcpTestServer();
  const mcp = await createMcpTools(
    { web: { url: server.url } },
    { tools: { "*": { requireApproval: true } } },
  );
  try {
    return await use(mcp);
  } finally {
    await mcp.close();
    await server.close();
  }
}

/** Responds to JSON-RPC messages like an MCP server with one tool, `echo`. */
export function respond({ id, method, params }) {
  if (id === undefined) return undefined;
  const results = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "echo", version: "1.0.0" },
    },
    "tools/list": { tools: [{ name: "echo", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: params?.arguments?.text ?? "" }] },
  };
  const result = results[method];
  if (result === undefined)
    return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
  return { jsonrpc: "2.0", id, result };
}
