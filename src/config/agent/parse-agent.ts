import type { McpAgentResource, ParsedAgent, ToolDiscovery } from "./agent-definition.js";
import { configError } from "../../errors/config-error.js";
import { formatPath } from "../../json/describe-value.js";
import { parseJson } from "../../json/parse-json.js";
import {
  addIssue,
  readField,
  isObject,
  readItems,
  type ParseReport,
  type Cursor,
  readBoolean,
  isMissing,
  readJsonObject,
  readNonEmptyString,
  readEnum,
  readOptionalString,
} from "./parse-cursor.js";
import { parseToolSnapshots } from "./parse-tool-snapshot.js";

const SUBJECT = "The agent definition";

/**
 * Parses the MCP resources of an agent definition, an object or a JSON string, and ignores the rest. All
 * values are copied, because the input may change later. Throws one error of kind `invalid-config` with all
 * problems.
 *
 * Does not use zod: an agent may be built in code, where a getter or a proxy can throw, and errors have to
 * use the spelling of the input, `input_schema` or `inputSchema`.
 */
export function parseAgent(agent: unknown): ParsedAgent {
  const report: ParseReport = { issues: [], warnings: [] };
  const value = typeof agent === "string" ? parseJson(agent, SUBJECT) : agent;
  const resources = parseResources({ value, path: [], report });
  if (report.issues.length > 0) throw configError(SUBJECT, report.issues);
  return { resources, warnings: report.warnings };
}

function parseResources(agent: Cursor): McpAgentResource[] {
  if (!isObject(agent)) return [];
  const slugs = new Map<string, Cursor>();
  return readItems(readField(agent, "resources")).flatMap((cursor) => {
    if (!isObject(cursor) || !isMcpResource(cursor)) return [];
    const resource = parseAgentResource(cursor);
    if (resource.isEnabled) validateSlug(cursor, resource.slug, slugs);
    return [resource];
  });
}

function isMcpResource(cursor: Cursor): boolean {
  const { value: resourceType } = readField(cursor, "$resourceType", "resourceType");
  if (typeof resourceType === "string") return resourceType.toLowerCase() === "mcp";
  cursor.report.warnings.push(`${formatPath(cursor.path)}: missing $resourceType; the resource is ignored.`);
  return false;
}

/** Servers are looked up by slug: two resources with the same slug would be the same server. */
function validateSlug(cursor: Cursor, slug: string, slugs: Map<string, Cursor>): void {
  const first = slugs.get(slug);
  if (first === undefined) slugs.set(slug, cursor);
  else if (slug !== "")
    addIssue(
      readSlug(cursor),
      `duplicate slug, also used by ${formatPath(first.path)}; each enabled resource needs a unique slug`,
    );
}

/** Definitions built in code may contain functions and URL objects, which are kept. */
const SERVER_CLONE_OPTIONS = { nonJson: "preserve", maxDepth: 1_000 } as const;

/** Parses one MCP resource. Problems are added to the report of the cursor. */
function parseAgentResource(cursor: Cursor): McpAgentResource {
  const name = readNonEmptyString(readField(cursor, "name"));
  const slug = readSlug(cursor);
  const server = readField(cursor, "server");
  return {
    name,
    description: readOptionalString(readField(cursor, "description")),
    slug: isMissing(readField(cursor, "slug")) ? name : readNonEmptyString(slug),
    folderPath: readOptionalString(readField(cursor, "folderPath")),
    isEnabled: readBoolean(readField(cursor, "isEnabled"), true),
    availableTools: parseToolSnapshots(readField(cursor, "availableTools"), name),
    discovery: parseDiscovery(cursor),
    server: isMissing(server) ? undefined : readJsonObject(server, SERVER_CLONE_OPTIONS),
  };
}

/** The slug defaults to the name. */
function readSlug(cursor: Cursor): Cursor {
  const slug = readField(cursor, "slug");
  return isMissing(slug) ? readField(cursor, "name") : slug;
}

const CACHED: ToolDiscovery = { type: "cached", refreshSchemaBeforeCall: true };

/** The values of `dynamicTools`, the predecessor of `toolsConfiguration`. */
const DISCOVERY_BY_DYNAMIC_TOOLS: Readonly<Record<"none" | "schema" | "all", ToolDiscovery>> = {
  none: { type: "cached", refreshSchemaBeforeCall: false },
  schema: { type: "dynamic", allowAll: false },
  all: { type: "dynamic", allowAll: true },
};

function parseDiscovery(cursor: Cursor): ToolDiscovery {
  const configuration = readField(cursor, "toolsConfiguration");
  if (!isMissing(configuration) && isObject(configuration)) {
    const mode = readField(configuration, "discoveryMode");
    if (!isMissing(mode)) return isObject(mode) ? parseDiscoveryMode(mode) : CACHED;
  }
  const dynamicTools = readField(cursor, "dynamicTools");
  if (isMissing(dynamicTools)) return CACHED;
  const dynamicMode = readEnum(dynamicTools, ["none", "schema", "all"]);
  return dynamicMode === undefined ? CACHED : DISCOVERY_BY_DYNAMIC_TOOLS[dynamicMode];
}

function parseDiscoveryMode(cursor: Cursor): ToolDiscovery {
  const type = readEnum(readField(cursor, "type"), ["cached", "dynamic"]);
  if (type === "dynamic") return { type, allowAll: readBoolean(readField(cursor, "allowAll"), false) };
  return {
    type: "cached",
    refreshSchemaBeforeCall: readBoolean(readField(cursor, "refreshSchemaBeforeCall"), true),
  };
}
