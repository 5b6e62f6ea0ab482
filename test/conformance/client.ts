// The client under test: lists the tools of the server at the given URL and calls each of them once, as an
// agent would. Lists skills, too, and loads them in the scenarios that are about loading. The suite passes the scenario
// and its context in environment variables.
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

/** The servers of these scenarios serve a changed skill. */
const LOAD_SKILLS = /^sep-2640-client-verify-/;

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

for (const skill of await withLogins(client, () => client.listSkills())) {
  console.log("skill", skill.name);
  const files = LOAD_SKILLS.test(scenario) && skill.files !== "dynamic" ? skill.files : [];
  // SKILL.md is the first; a skill that is withheld ends the client.
  for (const { path } of files) console.log((await client.readSkill(skill, { file: path })).text);
}
