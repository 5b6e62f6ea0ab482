// The client that the conformance suite tests: lists the tools of the server at the given address and
// calls each of them once, as an agent would. The suite names the scenario and what belongs to it.
import { McpClient } from "langchain-mcp-runtime";
import { authFor } from "./auth-for.js";
import { withLogins } from "./with-logins.js";

interface WantedCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

const url = process.argv[2] ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
// The older suite names none: then the client finds out.
const version = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"];
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Record<string, string>;
const { toolCalls } = context as { toolCalls?: readonly WantedCall[] };

const ARGUMENTS: Readonly<Record<string, object>> = { add_numbers: { a: 2, b: 3 } };
/** Their servers list tools, and know no call. */
const ONLY_LISTED: ReadonlySet<string> = new Set(["json-schema-ref-no-deref"]);

const auth = await authFor(scenario, url, context);
await using client = new McpClient({
  name: "conformance",
  url,
  protocol: version === "2026-07-28" ? version : "auto",
  // Leaves everything out: what arrives there are the defaults.
  onElicitationRequest: { form: () => ({ action: "accept" }) },
  ...(auth === undefined ? {} : { auth }),
});

const tools = await withLogins(client, () => client.listTools());
// One tool wants to see another's schema as it arrived here.
const { inputSchema: schema } = tools.find(({ name }) => name === "json_schema_2020_12_tool") ?? {};
const known: typeof ARGUMENTS = { ...ARGUMENTS, json_schema_echo: { schema } };
const each = tools.map(({ name }) => ({ name, arguments: { ...known[name] } }));
const calls = ONLY_LISTED.has(scenario) ? [] : (toolCalls ?? each);
for (const { name, arguments: args } of calls) {
  const result = await withLogins(client, () => client.callTool({ name, args }));
  console.log(name, result.isError ? "failed:" : "gave:", result.text());
}
