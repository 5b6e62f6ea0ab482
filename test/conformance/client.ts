// The client that the conformance suite tests: lists the tools of the server at the given address and
// calls each of them once, as an agent would. The suite names the scenario and what belongs to it.
import { McpClient } from "langchain-mcp-runtime";
import { authFor } from "./auth-for.js";
import { withLogins } from "./with-logins.js";

const url = process.argv[2] ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Record<string, string>;

const ARGUMENTS: Readonly<Record<string, object>> = { add_numbers: { a: 2, b: 3 } };

const auth = authFor(scenario, context);
await using client = new McpClient({
  name: "conformance",
  url,
  // Leaves everything out: what arrives there are the defaults.
  onElicit: { form: () => ({ action: "accept" }) },
  ...(auth === undefined ? {} : { auth }),
});

const tools = await withLogins(client, () => client.listTools());
for (const { name } of tools) {
  const args = { ...ARGUMENTS[name] };
  const result = await withLogins(client, () => client.callTool({ name, args }));
  console.log(name, result.isError ? "failed:" : "gave:", result.text());
}
