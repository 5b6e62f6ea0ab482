import { basename } from "node:path";
import { describeValue } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { parseJsonPath } from "../../json/json-path.js";
import type { ServerDefinition } from "../server-definition.js";
import { type ConfigIssue, McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { Redactor } from "../../errors/redaction.js";
import { toReadable } from "../../errors/sanitize-text.js";
import type { ConfigEntry } from "./parse-document.js";
import { CONFIG_FORMATS } from "./config-formats.js";
import type { ConfigFolders } from "./config-locations.js";
import type { ConfigProblemKind } from "./config-problem.js";
import type { ConfigFile } from "./config-source.js";
import { endpointOf } from "./endpoint-key.js";
import { VariableExpansion, type VariableScope } from "./expand-variables.js";
import { placeProgram, type ReadText } from "./resolve-program-paths.js";
import { toDefinition, type TranslatedEntry } from "./to-definition.js";

/** What is wrong with a server, and where in it. */
export interface ServerProblem {
  readonly kind: Extract<ConfigProblemKind, "unset-variable" | "bad-definition">;
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/**
 * What was made of an entry.
 * - `ready`: it can be used
 * - `off`: it is switched off, and was not looked at any further
 * - `broken`: it cannot be used
 */
export type ReadServer = {
  readonly variables: readonly string[];
  readonly ignored: readonly string[];
} & (
  | { readonly state: "ready"; readonly definition: ServerDefinition; readonly endpoint: string }
  | { readonly state: "off"; readonly why: string }
  | { readonly state: "broken"; readonly problems: readonly ServerProblem[] }
);

interface ServerParts {
  readonly file: ConfigFile;
  readonly folders: ConfigFolders;
  readonly readText: ReadText;
}

/** Makes a definition of ours of what stands in a file: translated, filled in, checked. */
export async function readServer(
  { name, value, offBy }: ConfigEntry,
  parts: ServerParts,
): Promise<ReadServer> {
  const problem = problemOf(name, value);
  if (problem !== undefined || !isPlainObject(value))
    return { variables: [], ignored: [], ...broken([{ path: "", message: problem ?? "" }]) };
  const { reach, treatment, ignored, off, issues, places } = toDefinition(value, parts.file);
  const told = { variables: [], ignored };
  const why = offBy === undefined ? off : `it is off by ${offBy} of its file`;
  if (why !== undefined) return { ...told, state: "off", why };
  if (issues.length > 0) return inPlace({ ...told, ...broken(issues) }, places);
  const expansion = new VariableExpansion(scopeOf(parts));
  const expanded = expansion.expand(reach, []) as JsonObject;
  const variables = [...expansion.variables];
  if (expansion.problems.length > 0) {
    const problems = expansion.problems.map((one) => ({ ...one, kind: "unset-variable" as const }));
    return inPlace({ ...told, variables, state: "broken", problems }, places);
  }
  const placed = await placeProgram(expanded, parts.file.folder, parts.readText);
  if ("issue" in placed) return { ...told, variables, ...broken([placed.issue]) };
  const definition = { ...placed.reach, ...treatment, ...secretsOf(treatment["secrets"], expansion) };
  const read = { ...told, variables, ...checked(name, definition, new Redactor(expansion.secrets)) };
  return inPlace(read, places);
}

/** Problems are told where the file has what is wrong, by the names that it has for it. */
function inPlace(read: ReadServer, places: TranslatedEntry["places"]): ReadServer {
  if (read.state !== "broken") return read;
  const problems = read.problems.map((problem) => {
    const [first, ...rest] = problem.path;
    const place = first === undefined ? undefined : places.get(first);
    return place === undefined ? problem : { ...problem, path: [...place, ...rest] };
  });
  return { ...read, problems };
}

function problemOf(name: string, value: unknown): string | undefined {
  if (name.trim() === "" || toReadable(name) !== name || name === "__proto__")
    return "has a name that cannot be used: give it one of letters and digits";
  return isPlainObject(value) ? undefined : `expected an object, found ${describeValue(value)}`;
}

function scopeOf({ file, folders }: ServerParts): VariableScope {
  const predefined = new Map([
    ["workspaceFolder", file.folder],
    ["workspaceFolderBasename", basename(file.folder)],
    ["userHome", folders.home],
    ["cwd", folders.project],
    ["pathSeparator", folders.platform === "win32" ? "\\" : "/"],
    ["/", folders.platform === "win32" ? "\\" : "/"],
  ]);
  const { hasBareVariables } = CONFIG_FORMATS[file.format];
  return { env: folders.env, predefined, inputs: file.document.inputs, hasBareVariables };
}

/** A value from the environment may end up where nobody looks for secrets: in a path, in an argument. */
function secretsOf(own: unknown, { secrets }: VariableExpansion): JsonObject {
  if (secrets.size === 0 || (own !== undefined && !Array.isArray(own))) return {};
  return { secrets: [...(own ?? []), ...secrets] };
}

type Checked =
  | { readonly state: "ready"; readonly definition: ServerDefinition; readonly endpoint: string }
  | ReturnType<typeof broken>;

function checked(name: string, definition: JsonObject, redactor: Redactor): Checked {
  const known = definition as unknown as ServerDefinition;
  try {
    return { state: "ready", definition: known, endpoint: endpointOf(name, known) };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return broken(error.issues.map(({ path, message }) => ({ path, message: redactor.text(message) })));
  }
}

function broken(issues: readonly ConfigIssue[]) {
  const problems = issues.map(({ path, message }): ServerProblem => {
    const segments = (parseJsonPath(path) ?? []).filter((segment) => typeof segment !== "symbol");
    return { kind: "bad-definition", path: segments, message };
  });
  return { state: "broken" as const, problems };
}
