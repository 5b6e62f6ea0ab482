import { z } from "zod";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { describeValue, formatPath } from "../json/describe-value.js";
import { isPlainObject, parseJson } from "../json/json.js";
import {
  AGENT_SCHEMA,
  findSpelling,
  MAX_PROBLEMS,
  type McpAgentResource,
  MORE_PROBLEMS,
  type ToolSnapshot,
} from "./agent-definition.js";
import { addIssueAt, flattenIssues, parseOptions, ZOD_CONTEXT } from "./parse-options.js";

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
  return parseOptions(PARSED_AGENT_SCHEMA, value, { subject: SUBJECT });
}

type Path = readonly PropertyKey[];
type ParsedResource = Exclude<z.output<typeof AGENT_SCHEMA>["resources"][number], string>;
type ParsedTool = ParsedResource["availableTools"][number];

/** What is found while a definition is converted. Paths have the names of the schema. */
interface AgentReport {
  readonly warnings: string[];
  /** Up to a number of problems, so that a message is created only if it is used. */
  readonly addIssue: (path: Path, describe: () => string) => void;
  /** Formats a path in the spelling of the input. */
  readonly locate: (path: Path) => string;
}

/** A transform, because paths need the spelling of the input. */
const PARSED_AGENT_SCHEMA = z.unknown().transform((agent, context): ParsedAgent => {
  const report: AgentReport = {
    warnings: [],
    addIssue: (path, describe) => {
      if (context.issues.length < MAX_PROBLEMS) addIssueAt(context, toInputPath(agent, path), describe());
      else if (context.issues.length === MAX_PROBLEMS) addIssueAt(context, [], MORE_PROBLEMS);
    },
    locate: (path) => formatPath(toInputPath(agent, path)),
  };
  const parsed = AGENT_SCHEMA.safeParse(agent, ZOD_CONTEXT);
  if (!parsed.success) {
    for (const { path, message } of flattenIssues(parsed.error.issues)) {
      const inputPath = toInputPath(agent, path);
      addIssueAt(context, inputPath, message + suggestMisspelledKey(agent, inputPath));
    }
    return z.NEVER;
  }
  const slugs = new Map<string, Path>();
  const resources = parsed.data.resources.flatMap((resource, index): McpAgentResource[] => {
    const path = ["resources", index];
    if (resource === "no-type")
      report.warnings.push(`${report.locate(path)}: missing $resourceType; the resource is ignored.`);
    if (typeof resource === "string") return [];
    const { name, slug = name } = resource;
    // Servers are looked up by slug: two resources with the same slug would be the same server.
    const first = resource.isEnabled ? findFirstUse(slugs, slug, path) : undefined;
    if (first !== undefined) {
      const key = resource.slug === undefined ? "name" : "slug";
      const describe = () =>
        `duplicate slug, also used by ${report.locate(first)}; each enabled resource needs a unique slug`;
      report.addIssue([...path, key], describe);
    }
    return [{ ...resource, slug, availableTools: toSnapshots(resource, path, report) }];
  });
  return { resources, warnings: report.warnings };
});

function toSnapshots(resource: ParsedResource, resourcePath: Path, report: AgentReport): ToolSnapshot[] {
  const names = new Map<string, Path>();
  return resource.availableTools.map((tool, index) => {
    const path = [...resourcePath, "availableTools", index];
    const first = findFirstUse(names, tool.name, path);
    if (first !== undefined) {
      const describe = () =>
        `duplicate name, also used by ${report.locate(first)}; each tool needs a unique name`;
      report.addIssue([...path, "name"], describe);
    }
    const subject = `Agent resource ${JSON.stringify(resource.name)}, tool ${JSON.stringify(tool.name)}`;
    const warn = (key: string, problem: string) =>
      report.warnings.push(`${subject}, ${report.locate([...path, "argumentProperties", key])}: ${problem}`);
    return { ...tool, argumentProperties: toArgumentProperties(tool, warn) };
  });
}

/** Leaves out the arguments that the model provides. */
function toArgumentProperties(
  { argumentProperties }: ParsedTool,
  warn: (key: string, problem: string) => void,
): ToolSnapshot["argumentProperties"] {
  const entries = argumentProperties.flatMap(([key, property]) => {
    if (property.variant !== "dynamic") return [[key, property] as const];
    const { unknownVariant } = property;
    if (unknownVariant !== undefined)
      warn(key, `unknown variant ${describeValue(unknownVariant)}; the argument is left to the model.`);
    return [];
  });
  return Object.fromEntries(entries);
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

/** Other keys are ignored, so a required field with a misspelled key is reported as missing. */
function suggestMisspelledKey(agent: unknown, path: readonly PropertyKey[]): string {
  const key = path.at(-1);
  let parent = agent;
  for (const segment of path.slice(0, -1)) parent = Reflect.get(Object(parent), segment);
  if (typeof key !== "string" || !isPlainObject(parent) || parent[key] !== undefined) return "";
  const misspelled = findClosestMatch(key, Object.keys(parent));
  return misspelled === undefined ? "" : `; did you write "${misspelled}" instead of "${key}"?`;
}
