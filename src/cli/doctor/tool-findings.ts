import type { McpToolInfo } from "../../config/server-features.js";
import { hasHiddenCharacters } from "../../errors/sanitize-text.js";
import { SUPPORTED_PROPERTY_NAME, toPortableSchema } from "../../json-schema/portable-schema.js";
import { createFinding, type Finding, type FindingCode } from "../report/finding.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { escapeExcerpt } from "../text-format.js";
import { type JsonObject, toObject, walkObjects } from "../../json/json.js";
import { addDescriptionRest } from "../../tools/tool-description.js";
import { type NamedTool, toToolName } from "../../tools/tool-names.js";
import type { TokenCosts } from "../../tool-search/estimate-tokens.js";
import { describeTool, NAMING } from "../report/render-servers.js";

/** Checks the tools of one server. */
export function checkTools(server: SelectedServer, tools: readonly McpToolInfo[]): Finding[] {
  if (tools.length === 0) {
    const hint = "If it should have tools, check its configuration and its log.";
    return [createFinding("no-tools", { server: server.name, text: "The server lists no tools.", hint })];
  }
  return tools.flatMap((tool) => checkTool(server, tool));
}

function checkTool(server: SelectedServer, tool: McpToolInfo): Finding[] {
  const name = escapeExcerpt(tool.name);
  const findings: Finding[] = [];
  const add = (code: FindingCode, problem: string, hint: string) => {
    const text = server.redactor.redact(`Tool "${name}" ${problem}`);
    findings.push(createFinding(code, { server: server.name, tool: name, text, hint }));
  };
  const hidden = findHiddenCharacters(tool);
  if (hidden !== "")
    add(
      "hidden-characters",
      `has ${hidden} in its text.`,
      "They are removed before models see them. Ask the operator of the server about them.",
    );
  const { schema, warnings } = toPortableSchema(tool.inputSchema);
  if (warnings.length > 0)
    add(
      "schema-loosened",
      `has a schema that cannot be used completely: ${warnings.join(" ")}`,
      "Correct the schema on the server.",
    );
  const providerIssues = findProviderIssues(tool.inputSchema);
  if (providerIssues.length > 0)
    add(
      "schema-changed",
      `has a schema that some providers reject: ${providerIssues.join(", ")}.`,
      "No action needed: models see a portable schema; calls are validated against the original.",
    );
  const lost = addDescriptionRest(schema, describeTool(tool, server)).warnings;
  if (lost.length > 0)
    add(
      "description-truncated",
      `is not described completely: ${lost.join(" ")}`,
      "Models read the beginning. Move the rest to a parameter, a resource or a prompt of the server.",
    );
  if ((tool.description ?? "").trim() === "")
    add(
      "no-description",
      "has no description.",
      'Add one on the server, or as tools: { name: { description: "…" } } in code.',
    );
  return findings;
}

/** Labels of invisible characters that can hide instructions. */
const HIDDEN_CHARACTERS: readonly (readonly [RegExp, string])[] = [
  [/[\u{e0000}-\u{e007f}]/u, "tag characters"],
  [/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u, "text direction overrides"],
  [/[\u200b-\u200d\u2060-\u2065\ufeff\u00ad]/u, "zero-width characters"],
  [/[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u, "variation selectors"],
  [/[\u115f\u1160\u3164\uffa0]|\u17b4|\u17b5/u, "fillers"],
  // oxlint-disable-next-line no-control-regex -- control characters are what this pattern detects
  [/\u001b/u, "terminal escapes"],
];
const MAX_STRINGS = 5_000;

/** Describes the invisible characters in the text of a tool; empty if there are none. */
function findHiddenCharacters({ name, title, description, inputSchema }: McpToolInfo): string {
  const hidden = [name, title ?? "", description ?? "", ...collectStrings(inputSchema)]
    .filter(hasHiddenCharacters)
    .join("");
  if (hidden === "") return "";
  const kinds = HIDDEN_CHARACTERS.filter(([pattern]) => pattern.test(hidden)).map(([, label]) => label);
  return kinds.length === 0 ? "control characters" : kinds.join(", ");
}

function collectStrings(schema: object): string[] {
  const strings: string[] = [];
  for (const node of walkObjects(schema)) {
    if (!Array.isArray(node)) for (const key of Object.keys(node)) strings.push(key);
    for (const value of Object.values(node) as unknown[]) if (typeof value === "string") strings.push(value);
    if (strings.length >= MAX_STRINGS) break;
  }
  return strings;
}

const UNIONS = ["anyOf", "oneOf", "allOf", "not", "if", "enum", "const"] as const;

/** Describes why providers reject the original schema. The portable schema has none of these problems. */
function findProviderIssues(schema: JsonObject): string[] {
  const names = Object.keys(toObject(schema["properties"]));
  const badNames = names.filter((name) => !SUPPORTED_PROPERTY_NAME.test(name));
  return [
    ...(schema["type"] === "object" ? [] : ["the root is not of type object"]),
    ...UNIONS.filter((keyword) => keyword in schema).map((keyword) => `${keyword} at the root`),
    ...(badNames.length === 0 ? [] : [`argument names with unsupported characters (${badNames.length})`]),
    ...(hasReference(schema) ? ["references ($ref)"] : []),
  ];
}

function hasReference(schema: JsonObject): boolean {
  for (const node of walkObjects(schema)) if (typeof Reflect.get(node, "$ref") === "string") return true;
  return false;
}

/** Checks the names that models see for changes, collisions and names shared by servers. */
export function checkNames(tools: readonly NamedTool[]): Finding[] {
  const named = tools.map((tool) => ({ ...tool, modelName: toToolName(tool, NAMING) }));
  const changed = named.filter(({ server, tool, modelName }) => modelName !== `${server}__${tool}`);
  return [
    ...changed.map(({ server, tool, modelName }) => {
      const text = `Models see the tool "${escapeExcerpt(tool)}" as ${modelName}.`;
      const hint = "No action needed: calls use the original name.";
      return createFinding("name-changed", { server, tool: escapeExcerpt(tool), text, hint });
    }),
    ...findShared(named, ({ modelName }) => modelName).map(([first, ...others]) => {
      const owners = [first, ...others].map(({ server, tool }) => `"${escapeExcerpt(tool)}" of "${server}"`);
      const text = `${owners.join(" and ")} get the same name: ${first.modelName}.`;
      const hint =
        "Tools of one server get a suffix; of two servers, the tool of the later one is left out. Exclude one with tools: { name: false }, or set naming.onCollision.";
      return createFinding("name-collision", { server: first.server, text, hint });
    }),
    ...findShared(tools, ({ tool }) => tool).flatMap(([first, ...others]) => {
      const servers = [...new Set([first, ...others].map(({ server }) => server))];
      if (servers.length < 2) return [];
      const tool = escapeExcerpt(first.tool);
      const text = `Servers ${servers.join(", ")} all have a tool "${tool}".`;
      const hint = 'No action needed, unless you set naming: { prefix: "none" }.';
      return [createFinding("name-shared", { tool, text, hint })];
    }),
  ];
}

/** Groups tools by key and returns the groups with more than one tool. */
function findShared<Tool>(tools: readonly Tool[], keyOf: (tool: Tool) => string): [Tool, ...Tool[]][] {
  const groups = new Map<string, [Tool, ...Tool[]]>();
  for (const tool of tools) {
    const group = groups.get(keyOf(tool));
    if (group === undefined) groups.set(keyOf(tool), [tool]);
    else group.push(tool);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Models choose worse with more tools, and each request pays for their definitions. */
const MAX_DEFINITION_TOKENS = 25_000;
const MAX_NAMED = 3;

/** Checks how much of every request the definitions of all tools take, and names the largest servers and tools. */
export function checkTokens({ tokens, servers }: TokenCosts): Finding[] {
  if (tokens <= MAX_DEFINITION_TOKENS) return [];
  const costs = Object.entries(servers).flatMap(([server, cost]) =>
    cost === undefined ? [] : { server, ...cost },
  );
  const largest = nameLargest(
    costs.map((cost): [string, number] => [cost.server, cost.tokens]),
    tokens,
  );
  const tools = nameLargest(
    costs.flatMap((cost) => Object.entries(cost.tools)),
    tokens,
  );
  const text = `The definitions of all tools take about ${tokens} tokens of every request to a model. Largest servers: ${largest}; largest tools: ${tools}.`;
  const hint =
    'Set disclosure: "auto" in mcpMiddleware or McpToolNode: models then search for tools and load what they need. Or keep only the tools you use, with rules as an allow list: tools: { "*": false, "find_*": true }.';
  return [createFinding("too-many-tokens", { text, hint })];
}

function nameLargest(costs: readonly (readonly [name: string, tokens: number])[], total: number): string {
  return costs
    .toSorted(([, left], [, right]) => right - left)
    .slice(0, MAX_NAMED)
    .map(([name, tokens]) => `${name} (${tokens}, ${Math.round((tokens / total) * 100)}%)`)
    .join(", ");
}
