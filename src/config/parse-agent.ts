import type { z } from "zod";
import { configError, type ConfigIssue } from "../errors/mcp-runtime-error.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import { isPlainObject, parseJson } from "../json/json.js";
import { AGENT_SCHEMA, findSpelling, type McpAgentResource, type ToolSnapshot } from "./agent-definition.js";
import { catchUnreadable, flattenIssues, type Validated, ZOD_ERROR_MAP } from "./parse-options.js";

const SUBJECT = "The agent definition";

/** The result of `parseAgent`. */
export interface ParsedAgent {
  /** All MCP resources in their original order, including disabled ones. */
  readonly resources: readonly McpAgentResource[];
  /** Human-readable descriptions of what was ignored. */
  readonly warnings: readonly string[];
}

/**
 * Parses the MCP resources of an agent definition, an object or a JSON string, and ignores the rest. All
 * values are copied, because the input may change later. Throws one error of kind `invalid-config` with all
 * problems, whose paths use the spelling of the input, `input_schema` or `inputSchema`.
 */
export function parseAgent(agent: unknown): ParsedAgent {
  const value = typeof agent === "string" ? parseJson(agent, SUBJECT) : agent;
  const validated = catchUnreadable(value, () => validateAgent(value));
  if ("data" in validated) return validated.data;
  throw configError(SUBJECT, validated.issues);
}

type Path = readonly PropertyKey[];
type ParsedResource = Exclude<z.output<typeof AGENT_SCHEMA>["resources"][number], string>;

function validateAgent(agent: unknown): Validated<ParsedAgent> {
  const locate = (path: Path) => formatPath(toInputPath(agent, path));
  const parsed = AGENT_SCHEMA.safeParse(agent, ZOD_ERROR_MAP);
  if (!parsed.success) {
    const found = flattenIssues(parsed.error.issues);
    return { issues: found.map(({ path, message }) => ({ path: locate(path), message })) };
  }
  const issues: ConfigIssue[] = [];
  const warnings: string[] = [];
  const slugs = new Map<string, Path>();

  function toResource(resource: ParsedResource, path: Path): McpAgentResource {
    const { slug = resource.name } = resource;
    // Servers are looked up by slug: two resources with the same slug would be the same server.
    const first = resource.isEnabled ? findFirstUse(slugs, slug, path) : undefined;
    if (first !== undefined)
      issues.push({
        path: locate([...path, resource.slug === undefined ? "name" : "slug"]),
        message: `duplicate slug, also used by ${locate(first)}; each enabled resource needs a unique slug`,
      });
    return { ...resource, slug, availableTools: toSnapshots(resource, [...path, "availableTools"]) };
  }

  function toSnapshots(resource: ParsedResource, path: Path): ToolSnapshot[] {
    const names = new Map<string, Path>();
    return resource.availableTools.map((tool, index) => {
      const toolPath = [...path, index];
      const first = findFirstUse(names, tool.name, toolPath);
      if (first !== undefined)
        issues.push({
          path: locate([...toolPath, "name"]),
          message: `duplicate name, also used by ${locate(first)}; each tool needs a unique name`,
        });
      const properties = tool.argumentProperties.flatMap(([key, property]) => {
        if (property.variant !== "dynamic") return [[key, property] as const];
        if (property.unknownVariant !== undefined)
          warnings.push(
            `Agent resource ${JSON.stringify(resource.name)}, tool ${JSON.stringify(tool.name)}, ` +
              `${locate([...toolPath, "argumentProperties", key])}: ` +
              `unknown variant ${describeValue(property.unknownVariant)}; the argument is left to the model.`,
          );
        return [];
      });
      return { ...tool, argumentProperties: Object.fromEntries(properties) };
    });
  }

  const resources = parsed.data.resources.flatMap((resource, index) => {
    const path = ["resources", index];
    if (resource === "no-type")
      warnings.push(`${locate(path)}: missing $resourceType; the resource is ignored.`);
    return typeof resource === "string" ? [] : [toResource(resource, path)];
  });
  return issues.length > 0 ? { issues } : { data: { resources, warnings } };
}

/** Returns the owner of the first use of a value, and records the owner of a new one. */
function findFirstUse(owners: Map<string, Path>, value: string, owner: Path): Path | undefined {
  const first = owners.get(value);
  if (first === undefined) owners.set(value, owner);
  return first;
}

/** The path of a field in the spelling of the input. */
function toInputPath(agent: unknown, path: Path): PropertyKey[] {
  let parent = agent;
  return path.map((key) => {
    const spelling = isPlainObject(parent) ? findSpelling(parent, String(key)) : key;
    parent = Reflect.get(Object(parent), spelling);
    return spelling;
  });
}
