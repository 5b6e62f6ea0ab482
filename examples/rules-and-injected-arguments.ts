// Tool rules: which tools are exposed, which arguments are injected, and which calls require approval.
import { createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using server = await startMcpTestServer({
  tools: [
    { name: "get_orders", run: ({ user }) => `orders of ${String(user)}` },
    { name: "delete_order", run: ({ id }) => `order ${String(id)} deleted` },
    { name: "admin_reset", run: () => "everything deleted" },
  ],
});

await using mcp = await createMcpTools(
  {
    shop: {
      url: server.url,
      tools: {
        "get_*": {
          idempotent: true,
          args: {
            user: ({ configurable }) => configurable["user"],
          },
        },
        "delete_*": { requireApproval: true },
        "admin_*": false,
      },
    },
  },
  { naming: { prefix: false }, onApproval: ({ args }) => args["id"] === 7 },
);

console.log(mcp.tools.map(({ name }) => name).join(", "));
console.log(
  String(
    await mcp.tools
      .find(({ name }) => name === "get_orders")
      ?.invoke({ user: "bob" }, { configurable: { user: "alice" } }),
  ),
);
for (const id of [7, 8]) {
  const outcome = await mcp.tryCallTool({ name: "delete_order", args: { id } });
  console.log(outcome.ok ? outcome.result.text() : outcome.error.message);
}
