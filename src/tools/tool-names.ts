import { createHash } from "node:crypto";
import { option, type OptionsOf, optionsSchema } from "../config/parse-options.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { ignoreRejection, isPromiseLike, isStringArray, omitUndefined } from "../json/json.js";

const NAMING_FIELDS = {
  /**
   * The prefix of tool names: "server" gives `server__tool`, "mcp" gives `mcp__server__tool`, "none" or
   * `false` gives `tool`. A function returns the whole name.
   *
   * @default "server" in `createMcpTools`, "none" in the other factories
   */
  prefix: option
    .oneOf("server", "none", "mcp", false)
    .or(option.function<(server: string, tool: string) => string>()),
  /**
   * Whether characters that model providers do not accept are replaced with `_` or deleted.
   *
   * @default "replace"
   */
  invalidCharacters: option.oneOf("replace", "delete"),
  /**
   * What happens when two tools get the same name. "skip": tools of one server get a suffix (a hash); of tools of
   * several servers, the one whose server is defined first keeps the name, and the others are left out. "suffix" appends
   * a hash to all of them, "prefix" adds the name of their server. "error" throws at the start; later, the tools of the
   * server that caused the collision stay as they were. A tool that is left out or gets a suffix by default is logged.
   *
   * @default "skip"
   */
  onCollision: option.oneOf("skip", "suffix", "prefix", "error"),
  /**
   * Names of other tools of your agent, which MCP tools must not use. An MCP tool with such a name is treated as one
   * that collides with a tool of an earlier server.
   *
   * @default []
   */
  reserved: option.opaque<readonly string[]>("an array of names", isStringArray),
};

/** How the names of LangChain tools are derived from the names on the servers. */
export interface NamingOptions extends OptionsOf<typeof NAMING_FIELDS> {}

export type Naming = Required<NamingOptions>;

export const NAMING_DEFAULTS = {
  prefix: "server",
  invalidCharacters: "replace",
  onCollision: "skip",
  reserved: [],
} as const;

export const NAMING_SCHEMA = optionsSchema<NamingOptions>(NAMING_FIELDS, {
  expected: 'an object such as { prefix: "none" }',
});

/** Fills in the defaults of validated options. */
export function resolveNaming(options: NamingOptions | undefined, defaultPrefix: Naming["prefix"]): Naming {
  return { ...NAMING_DEFAULTS, prefix: defaultPrefix, ...omitUndefined(options) };
}

/** A tool by its name on the server. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** The server of tools that belong to the toolset itself. No server can have this name. */
export const TOOLSET_SERVER = "";

const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 8;

/** A tool of a server that did not get the usual name. */
interface NameWarning {
  readonly server: string;
  readonly message: string;
}

/** The names of tools, in their order. */
export interface AssignedNames {
  /** `undefined` for a tool that is left out. */
  readonly names: readonly (string | undefined)[];
  /** What was changed because of collisions, for the log. */
  readonly warnings: readonly NameWarning[];
}

/**
 * Returns a unique name matching `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$` for each tool. The tools are in the order in which their
 * servers are defined, so the names do not depend on the order in which servers respond.
 *
 * @throws McpRuntimeError `invalid-config` for a collision with `onCollision: "error"`, and for an invalid result of a
 * `prefix` function
 */
export function assignToolNames(tools: readonly NamedTool[], naming: Naming): AssignedNames {
  const prefixes = new Map<string, string | undefined>();
  const safeNames = tools.map((tool) => {
    const { server } = tool;
    if (!prefixes.has(server)) prefixes.set(server, toNamePrefix(server, naming));
    return toToolName(tool, naming, prefixes.get(server));
  });
  const { onCollision, reserved } = naming;
  const collisions = findCollisions(tools, safeNames, reserved);
  if (collisions.length === 0) return { names: safeNames, warnings: [] };
  if (onCollision === "error") throw collisionError(collisions);
  const names = renameCollisions(tools, safeNames, naming);
  const renamed = tools.flatMap((tool, index) => {
    const isAsRequested = names[index] === safeNames[index] || onCollision !== "skip";
    const reason = `because another tool of the server gets the name ${safeNames[index]}`;
    const message = `${describeTool(tool)} is named ${names[index]}, ${reason}.`;
    return isAsRequested ? [] : [{ server: tool.server, message }];
  });
  // A server may list a tool whose name equals the hashed name of another tool.
  const unique = skipCollisions(tools, names, reserved);
  return { names: unique.names, warnings: [...renamed, ...unique.warnings] };
}

/** Renames every tool of a collision, not only the later ones: the names must not depend on the order. */
function renameCollisions(tools: readonly NamedTool[], names: readonly string[], naming: Naming): string[] {
  const { onCollision, reserved } = naming;
  if (onCollision === "skip") {
    const keys = tools.map(({ server }, index) => `${server}\0${names[index]}`);
    return renameShared(tools, names, { keys, rename: appendHash });
  }
  const addServer = (tool: NamedTool) => toSafeName(addPrefix(tool, "server"), naming);
  const prefixed =
    onCollision === "prefix" ? renameShared(tools, names, { rename: addServer, reserved }) : names;
  return renameShared(tools, prefixed, { rename: appendHash, reserved });
}

interface RenameOptions {
  readonly rename: (tool: NamedTool, name: string) => string;
  /** Tools with the same key are renamed. @default the names */
  readonly keys?: readonly string[];
  /** Tools with these keys are renamed, too. @default [] */
  readonly reserved?: readonly string[];
}

function renameShared(
  tools: readonly NamedTool[],
  names: readonly string[],
  { rename, keys = names, reserved = [] }: RenameOptions,
): string[] {
  const counts = new Map<string, number>();
  for (const key of [...keys, ...reserved]) counts.set(key, (counts.get(key) ?? 0) + 1);
  return tools.map((tool, index) => {
    const name = names[index] ?? "";
    return (counts.get(keys[index] ?? "") ?? 0) > 1 ? rename(tool, name) : name;
  });
}

/** Leaves out every tool whose name is reserved or that of an earlier tool. */
function skipCollisions(
  tools: readonly NamedTool[],
  names: readonly string[],
  reserved: readonly string[],
): AssignedNames {
  const owners = new Map(reserved.map((name) => [name, RESERVED_OWNER]));
  const warnings: NameWarning[] = [];
  const unique = tools.map((tool, index) => {
    const name = names[index] ?? "";
    const owner = owners.get(name);
    if (owner === undefined) {
      owners.set(name, describeTool(tool));
      return name;
    }
    const message = `${describeTool(tool)} is left out: ${name} is the name of ${owner}. To keep it, ${FIX}.`;
    warnings.push({ server: tool.server, message });
    return undefined;
  });
  return { names: unique, warnings };
}

function describeTool({ server, tool }: NamedTool): string {
  if (server === TOOLSET_SERVER) return `the toolset's own tool ${JSON.stringify(tool)}`;
  return `Tool ${JSON.stringify(excerpt(tool))} of server ${JSON.stringify(server)}`;
}

const RESERVED_OWNER = "a reserved name (naming.reserved)";
const FIX =
  'set naming: { prefix: "server" } or naming: { onCollision: "suffix" }, or exclude one with tools rules';

/** Returns the name of a tool if it collides with no other. `prefix` is what `toNamePrefix` returns for its server. */
export function toToolName(
  tool: NamedTool,
  naming: Naming,
  prefix = toNamePrefix(tool.server, naming),
): string {
  if (prefix !== undefined) {
    const prefixed = `${prefix}${toSafeSegment(tool.tool, naming.invalidCharacters)}`;
    if (prefixed.length <= MAX_NAME_LENGTH) return prefixed;
  }
  const name = tool.server === TOOLSET_SERVER ? tool.tool : addPrefix(tool, naming.prefix);
  return toSafeName(name, naming);
}

/** Returns the text that the names of all tools of a server start with; `undefined` where there is none. */
export function toNamePrefix(server: string, { prefix, invalidCharacters }: Naming): string | undefined {
  if (server === TOOLSET_SERVER || (prefix !== "server" && prefix !== "mcp")) return undefined;
  const segments = prefix === "mcp" ? ["mcp", server] : [server];
  return `${joinSegments(segments, invalidCharacters)}__`;
}

/** To which tools a key of the rules for all servers refers. */
export interface KeyReference {
  /** The only server that it refers to, because the names of its tools start like the key. */
  readonly server?: string | undefined;
  /**
   * The names that have to match. "any": the one on the server or the one that models see. "shown": the one that models
   * see. "renamed": only that one, because a `prefix` function may return the name that a server has chosen.
   */
  readonly names: "any" | "shown" | "renamed";
}

export const ANY_TOOL: KeyReference = { names: "any" };

/**
 * Returns a function that finds to which tools a key refers. It does not depend on the tools that are listed: a server
 * could take the name of a tool while the server of that tool is not connected, not added yet or removed.
 */
export function createKeyResolver(
  serverNames: readonly string[],
  naming: Naming,
): (key: string) => KeyReference {
  const prefixes = serverNames.map((server) => ({ server, prefix: toNamePrefix(server, naming) ?? "" }));
  return (key) => {
    if (key.replaceAll("*", "") === "") return ANY_TOOL;
    if (typeof naming.prefix === "function") return { names: "renamed" };
    if (naming.prefix !== "server" && naming.prefix !== "mcp") return ANY_TOOL;
    const matching = prefixes.filter(({ prefix }) => prefix !== "" && key.startsWith(prefix));
    // Of servers with the same prefix, the first one has it.
    const [owner] = matching.toSorted((a, b) => b.prefix.length - a.prefix.length);
    // A shortened name may have lost its separator.
    const isPrefixed = key.includes("__") || key.length >= MAX_NAME_LENGTH;
    return { server: owner?.server, names: isPrefixed ? "shown" : "any" };
  };
}

/** Hashes the server's name, too: two server names may be sanitized to the same prefix. */
function appendHash({ server, tool }: NamedTool, name: string): string {
  return `${name.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hashOf(`${server}\0${tool}`)}`;
}

function addPrefix({ server, tool }: NamedTool, prefix: Naming["prefix"]): string | readonly string[] {
  if (typeof prefix === "function") return prefixWith(prefix, server, tool);
  if (prefix === "none" || prefix === false) return tool;
  return prefix === "mcp" ? ["mcp", server, tool] : [server, tool];
}

function prefixWith(prefix: (server: string, tool: string) => unknown, server: string, tool: string): string {
  const name = prefix(server, tool);
  if (typeof name === "string") return name;
  if (isPromiseLike(name)) ignoreRejection(name);
  const message = `expected a name for tool ${JSON.stringify(tool)}, got ${describeValue(name)}`;
  throw configError("naming.prefix", [{ path: "", message }]);
}

/** Truncates a name that is too long, and appends a hash to it. */
function toSafeName(
  name: string | readonly string[],
  { invalidCharacters }: Pick<Naming, "invalidCharacters">,
): string {
  const segments = typeof name === "string" ? [name] : name;
  const safe = joinSegments(segments, invalidCharacters);
  if (safe.length <= MAX_NAME_LENGTH) return safe;
  return `${safe.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hashOf(segments.join("\0"))}`;
}

/** Sanitizes each segment and joins them with `__`. Gemini rejects a name that starts with a digit or a dash. */
function joinSegments(segments: readonly string[], invalidCharacters: Naming["invalidCharacters"]): string {
  const joined = segments.map((segment) => toSafeSegment(segment, invalidCharacters)).join("__");
  return /^[a-zA-Z_]/.test(joined) ? joined : `_${joined}`;
}

/** What almost all names are: nothing has to be replaced. */
const SAFE_SEGMENT = /^[a-zA-Z0-9][a-zA-Z0-9_-]*$/;

/** A segment without any letter or digit left is replaced with its hash. */
function toSafeSegment(segment: string, invalidCharacters: Naming["invalidCharacters"]): string {
  if (SAFE_SEGMENT.test(segment)) return segment;
  const safe = segment.trim().replace(/[^a-zA-Z0-9_-]/gu, invalidCharacters === "replace" ? "_" : "");
  return /[a-zA-Z0-9]/.test(safe) ? safe : `tool_${hashOf(segment)}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
}

interface Collision {
  readonly name: string;
  readonly owners: readonly string[];
}

function findCollisions(
  tools: readonly NamedTool[],
  names: readonly string[],
  reserved: readonly string[],
): Collision[] {
  const allNames = [...reserved, ...names];
  if (new Set(allNames).size === allNames.length) return [];
  const ownersByName = new Map<string, string[]>(reserved.map((name) => [name, [RESERVED_OWNER]]));
  tools.forEach(({ server, tool }, index) => {
    const name = names[index] ?? "";
    const owners = ownersByName.get(name) ?? [];
    owners.push(`${JSON.stringify(tool)} of server ${JSON.stringify(server)}`);
    ownersByName.set(name, owners);
  });
  return [...ownersByName]
    .filter(([, owners]) => owners.length > 1)
    .map(([name, owners]) => ({ name, owners: owners.toSorted() }));
}

function collisionError(collisions: readonly Collision[]): Error {
  const issues = collisions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, owners }) => ({ path: name, message: `is the name of ${owners.join(" and ")}` }));
  return configError("The set of tool names", [...issues, { path: "", message: `To fix this, ${FIX}.` }]);
}
