import { isOfferedToModels, type McpToolInfo } from "../config/server-features.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { stripHiddenCharacters } from "../errors/sanitize-text.js";
import { compareSchemas, MAX_COMPARISON_STEPS } from "../json-schema/diff/compare-schemas.js";
import type { ParameterChange } from "../json-schema/diff/parameter-change.js";
import { StepBudget } from "../json-schema/step-budget.js";
import { isDeepEqual } from "../json/json.js";

/** How one tool changed. */
export interface ToolChange {
  /** The tool's name on the server, without hidden characters like all names here. */
  readonly tool: string;
  /** `additive`: existing calls still work. */
  readonly change: "additive" | "breaking";
  /** The changed parameters of the input schema: at most 200, and 10,000 of all tools of the server. */
  readonly parameters: readonly ParameterChange[];
  /** Whether the description differs; a missing one equals an empty one. */
  readonly isDescriptionChanged: boolean;
  /**
   * Names of changed annotations, such as `title` or `readOnlyHint`. Empty for snapshots of an agent
   * definition, which have no annotations.
   */
  readonly annotations: readonly string[];
}

/** The tools that a server is compared with. */
export interface ToolBaseline {
  /** The saved tools. */
  readonly tools: readonly McpToolInfo[];
  /** From an agent definition: without titles and annotations. */
  readonly isSnapshot: boolean;
}

/** How a server's tools differ from the baseline. */
export interface ServerDrift {
  /**
   * - `same`: no difference
   * - `changed`: see `added`, `removed` and `changed`
   * - `unreachable`: the server could not be listed; `error` has the reason. Nothing is reported as removed
   */
  readonly state: "same" | "changed" | "unreachable";
  /** Names of tools that only the server has, sorted. */
  readonly added: readonly string[];
  /** Names of tools that only the baseline has, sorted. */
  readonly removed: readonly string[];
  /** The tools that both have and that differ, in the order of the baseline. */
  readonly changed: readonly ToolChange[];
  /** Why the server could not be listed; `undefined` unless the state is `unreachable`. */
  readonly error?: McpRuntimeError | undefined;
}

/** How many changed parameters are reported for a server. */
const MAX_PARAMETERS = 10_000;
/** What comparing a tool may cost on average, if the server has many. One comparison may cost more. */
const STEPS_PER_TOOL = 2_000;

/** What is left for the comparison of a list. */
interface ComparisonLimits {
  steps: number;
  parameters: number;
}

/** Compares the current tools of a server with the baseline, by name. */
export function compareTools(
  { tools, isSnapshot }: ToolBaseline,
  current: readonly McpToolInfo[],
): ServerDrift {
  const before = toToolMap(tools);
  const after = toToolMap(current);
  const limits: ComparisonLimits = {
    steps: MAX_COMPARISON_STEPS + STEPS_PER_TOOL * before.size,
    parameters: MAX_PARAMETERS,
  };
  const added = toShownNames([...after.keys()].filter((name) => !before.has(name)));
  const removed = toShownNames([...before.keys()].filter((name) => !after.has(name)));
  const changed = [...before.values()].flatMap((tool) => {
    const match = after.get(tool.name);
    if (match === undefined) return [];
    return compareTool(tool, match, isSnapshot ? [] : findChangedAnnotations(tool, match), limits);
  });
  const isSame = added.length + removed.length + changed.length === 0;
  return { state: isSame ? "same" : "changed", added, removed, changed };
}

function toToolMap(tools: readonly McpToolInfo[]): Map<string, McpToolInfo> {
  return new Map(tools.filter(isOfferedToModels).map((tool) => [tool.name, tool]));
}

/** The result for a server that could not be listed. */
export function createUnreachableDrift(error: McpRuntimeError): ServerDrift {
  return { state: "unreachable", added: [], removed: [], changed: [], error };
}

function compareTool(
  before: McpToolInfo,
  after: McpToolInfo,
  annotations: readonly string[],
  limits: ComparisonLimits,
): ToolChange[] {
  const steps = new StepBudget(Math.min(MAX_COMPARISON_STEPS, limits.steps));
  const { severity, parameters: changes } = compareSchemas(before.inputSchema, after.inputSchema, steps);
  const parameters = changes.slice(0, limits.parameters);
  limits.steps -= steps.used;
  limits.parameters -= parameters.length;
  const isDescriptionChanged = (before.description ?? "") !== (after.description ?? "");
  if (severity === "none" && !isDescriptionChanged && annotations.length === 0) return [];
  return [
    {
      tool: stripHiddenCharacters(before.name),
      change: severity === "breaking" ? "breaking" : "additive",
      parameters: parameters.map(({ parameter, what }) => ({
        parameter: stripHiddenCharacters(parameter),
        what,
      })),
      isDescriptionChanged,
      annotations,
    },
  ];
}

/** Annotations matter: for trusted servers, hints decide about retries and approval. */
function findChangedAnnotations(before: McpToolInfo, after: McpToolInfo): string[] {
  const [previous, current] = [before, after].map(({ title, annotations }) => ({ title, ...annotations }));
  const names = Object.keys({ ...previous, ...current }) as (keyof typeof previous)[];
  return toShownNames(names.filter((name) => !isDeepEqual(previous?.[name], current?.[name])));
}

function toShownNames(names: readonly string[]): string[] {
  return names.map((name) => stripHiddenCharacters(name)).toSorted();
}
