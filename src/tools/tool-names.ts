import { createHash } from "node:crypto";
import { option, optionsSchema } from "../config/parse-options.js";
import { configError } from "../errors/mcp-runtime-error.js";
import { describeValue } from "../json/describe-value.js";
import { isStringArray, omitUndefined } from "../json/json.js";

/** How the names of LangChain tools are derived from the names on the servers. */
export interface NamingOptions {
  /**
   * The prefix of tool names: "server" gives `server__tool`, "mcp" gives `mcp__server__tool`, "none" or
   * `false` gives `tool`. A function returns the whole name.
   *
   * @default "server" in `createMcpTools`, "none" in the other factories
   */
  readonly prefix?: "server" | "none" | "mcp" | false | ((server: string, tool: string) => string);
  /**
   * Whether characters that model providers do not accept are replaced with `_` or deleted.
   *
   * @default "replace"
   */
  readonly invalidCharacters?: "replace" | "delete";
  /**
   * What happens when two tools get the same name: "error" throws, "suffix" appends a hash to both, "prefix"
   * adds the server's name to both.
   *
   * @default "error"
   */
  readonly onCollision?: "error" | "suffix" | "prefix";
  /**
   * Names of other tools of your agent, which MCP tools must not use.
   *
   * @default []
   */
  readonly reserved?: readonly string[];
}

export type Naming = Required<NamingOptions>;

export const NAMING_DEFAULTS = {
  prefix: "server",
  invalidCharacters: "replace",
  onCollision: "error",
  reserved: [],
} as const;

export const NAMING_SCHEMA = optionsSchema<NamingOptions>({
  prefix: option.oneOf("server", "none", "mcp", false).or(option.function()),
  invalidCharacters: option.oneOf("replace", "delete"),
  onCollision: option.oneOf("error", "suffix", "prefix"),
  reserved: option.opaque("an array of names", isStringArray),
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

const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Returns a unique name matching `^[a-zA-Z0-9_-]{1,64}$` for each tool, in their order. The names do not depend
 * on the order in which servers respond.
 *
 * @throws McpRuntimeError `invalid-config` for a collision
 */
export function assignToolNames(tools: readonly NamedTool[], naming: Naming): string[] {
  const safeNames = tools.map((tool) => toSafeName(addPrefix(tool, naming.prefix), naming));
  if (naming.onCollision === "error") {
    const collisions = findCollisions(tools, safeNames, naming.reserved);
    if (collisions.length > 0) throw collisionError(collisions);
    return safeNames;
  }
  const prefixedNames =
    naming.onCollision === "prefix"
      ? renameCollisions(tools, safeNames, naming, (tool) => addPrefix(tool, "server"))
      : safeNames;
  const names = renameCollisions(tools, prefixedNames, naming, (tool, name) => appendHash(tool, name));
  // A server may list a tool whose name equals the hashed name of another tool.
  const collisions = findCollisions(tools, names, naming.reserved);
  if (collisions.length > 0) throw collisionError(collisions);
  return names;
}

/** Hashes the server's name, too: two server names may be sanitized to the same prefix. */
function appendHash({ server, tool }: NamedTool, name: string): string {
  return `${name.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hashOf(`${server}\0${tool}`)}`;
}

/** Renames every tool of a collision, not only the later ones: the names must not depend on the order. */
function renameCollisions(
  tools: readonly NamedTool[],
  names: readonly string[],
  naming: Naming,
  rename: (tool: NamedTool, name: string) => string | readonly string[],
): string[] {
  const counts = new Map<string, number>();
  for (const name of [...names, ...naming.reserved]) counts.set(name, (counts.get(name) ?? 0) + 1);
  return tools.map((tool, index) => {
    const name = names[index] ?? "";
    return (counts.get(name) ?? 0) > 1 ? toSafeName(rename(tool, name), naming) : name;
  });
}

function addPrefix({ server, tool }: NamedTool, prefix: Naming["prefix"]): string | readonly string[] {
  if (typeof prefix === "function") return prefixWith(prefix, server, tool);
  if (prefix === "none" || prefix === false) return tool;
  return prefix === "mcp" ? ["mcp", server, tool] : [server, tool];
}

function prefixWith(prefix: (server: string, tool: string) => unknown, server: string, tool: string): string {
  const name = prefix(server, tool);
  if (typeof name === "string") return name;
  const message = `expected a name for tool ${JSON.stringify(tool)}, got ${describeValue(name)}`;
  throw configError("naming.prefix", [{ path: "", message }]);
}

/** Sanitizes each segment and joins them with `__`. */
function toSafeName(
  name: string | readonly string[],
  { invalidCharacters }: Pick<Naming, "invalidCharacters">,
): string {
  const segments = typeof name === "string" ? [name] : name;
  const safe = segments.map((segment) => toSafeSegment(segment, invalidCharacters)).join("__");
  if (safe.length <= MAX_NAME_LENGTH) return safe;
  return `${safe.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}_${hashOf(segments.join("\0"))}`;
}

/** A segment without any letter or digit left is replaced with its hash. */
function toSafeSegment(segment: string, invalidCharacters: Naming["invalidCharacters"]): string {
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
  const ownersByName = new Map<string, string[]>(
    reserved.map((name) => [name, ["a reserved name (naming.reserved)"]]),
  );
  tools.forEach(({ server, tool }, index) => {
    const name = names[index] ?? "";
    ownersByName.set(name, [
      ...(ownersByName.get(name) ?? []),
      `${JSON.stringify(tool)} of server ${JSON.stringify(server)}`,
    ]);
  });
  return [...ownersByName]
    .filter(([, owners]) => owners.length > 1)
    .map(([name, owners]) => ({ name, owners: owners.toSorted() }));
}

function collisionError(collisions: readonly Collision[]): Error {
  const issues = collisions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, owners }) => ({ path: name, message: `is the name of ${owners.join(" and ")}` }));
  const fix =
    'set naming: { prefix: "server" } or naming: { onCollision: "suffix" }, or exclude one with tools rules';
  return configError("The set of tool names", [...issues, { path: "", message: `To fix this, ${fix}.` }]);
}
