import type { McpToolInfo } from "../../config/tool-info.js";
import { excerpt, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { toPortableSchema } from "../../json-schema/portable-schema.js";
import { createFinding, type Finding, type FindingCode } from "./finding.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { type NamedTool, assignToolNames, resolveNaming } from "../../tools/tool-names.js";

/** Checks the tools of one server. */
export function checkTools(server: string, tools: readonly McpToolInfo[]): Finding[] {
  if (tools.length === 0) {
    const hint = "If it should have tools, check its configuration and its log.";
    return [createFinding("no-tools", { server, text: "The server lists no tools.", hint })];
  }
  return tools.flatMap((tool) => checkTool(server, tool));
}

function checkTool(server: string, tool: McpToolInfo): Finding[] {
  const name = excerpt(tool.name);
  const finding = (code: FindingCode, text: string, hint: string): Finding =>
    createFinding(code, { server, tool: name, text: `Tool "${name}" ${text}`, hint });
  const providerIssues = findProviderIssues(tool.inputSchema);
  const { warnings } = toPortableSchema(tool.inputSchema);
  const hidden = findHiddenCharacters(tool);
  return [
    ...(hidden === ""
      ? []
      : [
          finding(
            "hidden-characters",
            `has ${hidden} in its text.`,
            "They are removed before models see them. Ask the operator of the server about them.",
          ),
        ]),
    ...(warnings.length === 0
      ? []
      : [
          finding(
            "schema-loosened",
            `has a schema that cannot be used completely: ${warnings.join(" ")}`,
            "Correct the schema on the server.",
          ),
        ]),
    ...(providerIssues.length === 0
      ? []
      : [
          finding(
            "schema-changed",
            `has a schema that some providers reject: ${providerIssues.join(", ")}.`,
            "No action needed: models see a portable schema; calls are validated against the original.",
          ),
        ]),
    ...((tool.description ?? "").trim() === ""
      ? [
          finding(
            "no-description",
            "has no description.",
            'Add one on the server, or as tools: { name: { description: "…" } } in code.',
          ),
        ]
      : []),
  ];
}

/** Labels of invisible characters that can hide instructions. */
const HIDDEN_CHARACTERS: readonly (readonly [RegExp, string])[] = [
  [/[\u{e0000}-\u{e007f}]/u, "tag characters"],
  [/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u, "text direction overrides"],
  [/[\u200b-\u200d\u2060-\u2065\ufeff\u00ad]/u, "zero-width characters"],
  // oxlint-disable-next-line no-control-regex -- control characters are what this pattern detects
  [/\u001b/u, "terminal escapes"],
];
const MAX_STRINGS = 5_000;

/** Describes the invisible characters in the text of a tool; empty if there are none. */
function findHiddenCharacters({ name, title, description, inputSchema }: McpToolInfo): string {
  const hidden = [name, title ?? "", description ?? "", ...collectStrings(inputSchema)]
    .filter((text) => stripHiddenCharacters(text) !== text)
    .join("");
  if (hidden === "") return "";
  const kinds = HIDDEN_CHARACTERS.filter(([pattern]) => pattern.test(hidden)).map(([, label]) => label);
  return kinds.length === 0 ? "control characters" : kinds.join(", ");
}

/** Collects all strings and keys of a schema. Iterative, since the depth is controlled by the server. */
function collectStrings(schema: unknown): string[] {
  const strings: string[] = [];
  const queue: unknown[] = [schema];
  while (queue.length > 0 && strings.length < MAX_STRINGS) {
    const value = queue.pop();
    if (typeof value === "string") strings.push(value);
    else if (Array.isArray(value)) queue.push(...(value as unknown[]));
    else if (isPlainObject(value)) queue.push(...Object.keys(value), ...Object.values(value));
  }
  return strings;
}

const UNIONS = ["anyOf", "oneOf", "allOf", "not", "if", "enum", "const"] as const;
const PROPERTY_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;
const MAX_SCHEMAS = 20_000;

/** Describes why providers reject the original schema. The portable schema has none of these problems. */
function findProviderIssues(schema: JsonObject): string[] {
  const unions = UNIONS.filter((keyword) => keyword in schema);
  const names = Object.keys(isPlainObject(schema["properties"]) ? schema["properties"] : {});
  const badNames = names.filter((name) => !PROPERTY_NAME.test(name));
  return [
    ...(schema["type"] === "object" ? [] : ["the root is not of type object"]),
    ...unions.map((keyword) => `${keyword} at the root`),
    ...(badNames.length === 0 ? [] : [`argument names with unsupported characters (${badNames.length})`]),
    ...(hasReference(schema) ? ["references ($ref)"] : []),
  ];
}

function hasReference(schema: JsonObject): boolean {
  const queue: unknown[] = [schema];
  for (let seen = 0; queue.length > 0 && seen < MAX_SCHEMAS; seen += 1) {
    const value = queue.pop();
    if (Array.isArray(value)) queue.push(...(value as unknown[]));
    if (!isPlainObject(value)) continue;
    if (typeof value["$ref"] === "string") return true;
    queue.push(...Object.values(value));
  }
  return false;
}

/** The default naming of `createMcpTools`. */
const NAMING = resolveNaming({}, "server");

interface ModelTool extends NamedTool {
  /** The name that models see. */
  readonly modelName: string;
}

/** Checks the names that models see for changes, collisions and names shared by servers. */
export function checkNames(tools: readonly NamedTool[]): Finding[] {
  const named = tools.map((tool) => ({ ...tool, modelName: assignToolNames([tool], NAMING)[0] ?? "" }));
  return [
    ...named.filter(isChanged).map(({ server, tool, modelName }) => {
      const [name, text] = [excerpt(tool), `Models see the tool "${excerpt(tool)}" as ${modelName}.`];
      const hint = "No action needed: calls use the original name.";
      return createFinding("name-changed", { server, tool: name, text, hint });
    }),
    ...findShared(named, ({ modelName }) => modelName).map(toCollisionFinding),
    ...findShared(tools, ({ tool }) => tool).flatMap(toSharedFindings),
  ];
}

function isChanged({ server, tool, modelName }: ModelTool): boolean {
  return modelName !== `${server}__${tool}`;
}

/** Groups tools by key and returns the groups with more than one tool. */
function findShared<Tool>(tools: readonly Tool[], keyOf: (tool: Tool) => string): Tool[][] {
  const groups = new Map<string, Tool[]>();
  for (const tool of tools) groups.set(keyOf(tool), [...(groups.get(keyOf(tool)) ?? []), tool]);
  return [...groups.values()].filter((group) => group.length > 1);
}

function toCollisionFinding(owners: readonly ModelTool[]): Finding {
  const text = `${owners.map(formatTool).join(" and ")} get the same name: ${owners[0]?.modelName ?? ""}.`;
  const hint =
    'createMcpTools throws: set naming: { onCollision: "suffix" }, or exclude one with tools: { name: false }.';
  return createFinding("name-collision", { server: owners[0]?.server, text, hint });
}

function toSharedFindings(owners: readonly NamedTool[]): Finding[] {
  const servers = [...new Set(owners.map(({ server }) => server))];
  if (servers.length < 2) return [];
  const tool = excerpt(owners[0]?.tool ?? "");
  const text = `Servers ${servers.join(", ")} all have a tool "${tool}".`;
  const hint = 'No action needed, unless you set naming: { prefix: "none" }.';
  return [createFinding("name-shared", { tool, text, hint })];
}

function formatTool({ server, tool }: NamedTool): string {
  return `"${excerpt(tool)}" of "${server}"`;
}
