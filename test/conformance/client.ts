// The client under test: lists the tools of the server at the given URL and calls each of them once, as an
// agent would. The suite passes the scenario and its context in environment variables.
import { McpClient } from "langchain-mcp-runtime";
import { createAuth } from "./create-auth.js";
import { withLogins } from "./with-logins.js";

interface ToolCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

const url = process.argv[2] ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
// The older suite does not set it: then the client negotiates.
const version = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"];
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Record<string, string>;
const { toolCalls } = context as { toolCalls?: readonly ToolCall[] };

const ARGUMENTS: Readonly<Record<string, object>> = { add_numbers: { a: 2, b: 3 } };
/** The servers of these scenarios do not support calls. */
const LIST_ONLY_SCENARIOS: ReadonlySet<string> = new Set(["json-schema-ref-no-deref"]);

const auth = await createAuth(scenario, url, context);
await using client = new McpClient({
  name: "conformance",
  url,
  protocol: version === "2026-07-28" ? version : "auto",
  // Accepts without content, so that the defaults apply.
  onElicitationRequest: { form: () => ({ action: "accept" }) },
  ...(auth === undefined ? {} : { auth }),
});

const tools = await withLogins(client, () => client.listTools());
// One tool expects another tool's schema as the client received it.
const { inputSchema: schema } = tools.find(({ name }) => name === "json_schema_2020_12_tool") ?? {};
const argumentsByTool: typeof ARGUMENTS = { ...ARGUMENTS, json_schema_echo: { schema } };
const defaultCalls = tools.map(({ name }) => ({ name, arguments: { ...argumentsByTool[name] } }));
const calls = LIST_ONLY_SCENARIOS.has(scenario) ? [] : (toolCalls ?? defaultCalls);
for (const { name, arguments: args } of calls) {
  const result = await withLogins(client, () => client.callTool({ name, args }));
  console.log(name, result.isError ? "failed:" : "returned:", result.text());
}
