import type { McpAgentResource, ParsedAgent } from "./agent-definition.js";
import { configError } from "../errors/config-error.js";
import { formatPath } from "../json/describe-value.js";
import { parseJsonText } from "../json/parse-json.js";
import { readAgentResource, slugOf } from "./parse-agent-resource.js";
import { complain, field, isObject, items, type Findings, type Written } from "./parse-cursor.js";

const SUBJECT = "The agent definition";

/**
 * The MCP resources of an agent definition, an object or JSON text. The rest of the agent is not ours
 * and not looked at. Everything is copied: what was given may change afterwards. All problems come
 * together in one error of kind `definition`.
 *
 * This is not done with zod: an agent may have been made in code, where a getter or a proxy can throw
 * anything, and problems must be told by the names that were written, `input_schema` or `inputSchema`.
 */
export function parseAgent(agent: unknown): ParsedAgent {
  const findings: Findings = { issues: [], warnings: [] };
  const value = typeof agent === "string" ? parseJsonText(agent, SUBJECT) : agent;
  const resources = readResources({ value, path: [], findings });
  if (findings.issues.length > 0) throw configError(SUBJECT, findings.issues);
  return { resources, warnings: findings.warnings };
}

function readResources(agent: Written): McpAgentResource[] {
  if (!isObject(agent)) return [];
  const slugs = new Map<string, Written>();
  return items(field(agent, "resources")).flatMap((at) => {
    if (!isObject(at) || !isMcp(at)) return [];
    const resource = readAgentResource(at);
    if (resource.isEnabled) checkSlug(at, resource.slug, slugs);
    return [resource];
  });
}

function isMcp(at: Written): boolean {
  const { value: kind } = field(at, "$resourceType", "resourceType");
  if (typeof kind === "string") return kind.toLowerCase() === "mcp";
  at.findings.warnings.push(`${formatPath(at.path)}: it does not say its $resourceType, so it is left out.`);
  return false;
}

/** A slug is what an address is looked up by: two resources with one slug would be one server twice. */
function checkSlug(at: Written, slug: string, slugs: Map<string, Written>): void {
  const first = slugs.get(slug);
  if (first === undefined) slugs.set(slug, at);
  else if (slug !== "")
    complain(
      slugOf(at),
      `is also the slug of ${formatPath(first.path)}; every enabled resource needs one of its own`,
    );
}
