import { createHash } from "node:crypto";
import { configError } from "../errors/config-error.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject } from "../json/json.js";
import type { ConfigIssue } from "../errors/mcp-runtime-error.js";

export interface NamingOptions {
  /** What stands before a tool's name: `server__tool`, nothing, `mcp__server__tool`, or what a function makes of both. */
  readonly prefix?: "server" | "none" | "mcp" | ((server: string, tool: string) => string);
  /** What becomes of characters that models do not take. */
  readonly invalidCharacters?: "replace" | "delete";
  /** What happens when two tools get the same name. */
  readonly onCollision?: "error" | "suffix" | "prefix";
  /** Names that other tools of yours have. */
  readonly reserved?: readonly string[];
}

export type Naming = Required<NamingOptions>;

export const NAMING_DEFAULTS = {
  prefix: "server",
  invalidCharacters: "replace",
  onCollision: "error",
  reserved: [],
} as const;

const CHOICES = {
  prefix: ["server", "none", "mcp"],
  invalidCharacters: ["replace", "delete"],
  onCollision: ["error", "suffix", "prefix"],
} as const;

/** What was left out, or is `undefined`, is filled in. */
export function resolveNaming(options: NamingOptions = {}, defaultPrefix: Naming["prefix"]): Naming {
  const issues = issuesOfNaming(options);
  if (issues.length > 0) throw configError("The set of options", issues);
  const { prefix = defaultPrefix, invalidCharacters, onCollision, reserved } = options;
  return {
    prefix,
    invalidCharacters: invalidCharacters ?? NAMING_DEFAULTS.invalidCharacters,
    onCollision: onCollision ?? NAMING_DEFAULTS.onCollision,
    reserved: reserved ?? NAMING_DEFAULTS.reserved,
  };
}

function issuesOfNaming(options: unknown): ConfigIssue[] {
  const keys = Object.keys(NAMING_DEFAULTS);
  if (!isPlainObject(options)) {
    const message = `expected an object with ${keys.join(", ")}, found ${describeValue(options)}`;
    return [{ path: "naming", message }];
  }
  return Object.entries(options).flatMap(([key, value]) => {
    const path = `naming.${key}`;
    if (!keys.includes(key)) return [{ path, message: `is no option; options are ${keys.join(", ")}` }];
    const expected = expectedOf(key, value);
    return expected === undefined
      ? []
      : [{ path, message: `expected ${expected}, found ${describeValue(value)}` }];
  });
}

/** What the value of an option should be, if it is something else. */
function expectedOf(key: string, value: unknown): string | undefined {
  if (value === undefined || (key === "prefix" && typeof value === "function")) return undefined;
  const choices: readonly unknown[] | undefined = CHOICES[key as keyof typeof CHOICES];
  if (choices !== undefined) return choices.includes(value) ? undefined : `one of ${choices.join(", ")}`;
  const isNames = Array.isArray(value) && value.every((name) => typeof name === "string");
  return isNames ? undefined : "a list of names";
}

/** A tool of a server, by its server's own name for it. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

const LONGEST_NAME = 64;
const HASH_LENGTH = 8;

/**
 * A name for each tool, in their order: `^[a-zA-Z0-9_-]{1,64}$`, each only once. Which name a tool
 * gets does not depend on the order in which servers answer.
 */
export function nameTools(tools: readonly NamedTool[], naming: Naming): string[] {
  const first = tools.map((tool) => toSafeName(prefixed(tool, naming.prefix), naming));
  if (naming.onCollision === "error") {
    const collisions = findCollisions(tools, first, naming.reserved);
    if (collisions.length > 0) throw collisionError(collisions);
    return first;
  }
  const second =
    naming.onCollision === "prefix"
      ? renamed(tools, first, naming, (tool) => prefixed(tool, "server"))
      : first;
  const third = renamed(tools, second, naming, (tool, name) => withHash(tool, name));
  // A server may list what another one's hash would give.
  const collisions = findCollisions(tools, third, naming.reserved);
  if (collisions.length > 0) throw collisionError(collisions);
  return third;
}

/** Two servers may have sanitised to one prefix; a hash of both names tells them apart. */
function withHash({ server, tool }: NamedTool, name: string): string {
  return `${name.slice(0, LONGEST_NAME - HASH_LENGTH - 1)}_${hashOf(`${server}\0${tool}`)}`;
}

/** Gives every tool whose name is taken another one: all of them, so that order decides nothing. */
function renamed(
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

function prefixed({ server, tool }: NamedTool, prefix: Naming["prefix"]): string | readonly string[] {
  if (typeof prefix === "function") return prefixedBy(prefix, server, tool);
  if (prefix === "none") return tool;
  return prefix === "mcp" ? ["mcp", server, tool] : [server, tool];
}

function prefixedBy(prefix: (server: string, tool: string) => unknown, server: string, tool: string): string {
  const name = prefix(server, tool);
  if (typeof name === "string") return name;
  const message = `gave ${describeValue(name)} for tool ${JSON.stringify(tool)}; expected a name`;
  throw configError("naming.prefix", [{ path: "", message }]);
}

/** Parts are made safe one by one and joined with `__`. */
function toSafeName(
  name: string | readonly string[],
  { invalidCharacters: invalidCharacters }: Pick<Naming, "invalidCharacters">,
): string {
  const parts = typeof name === "string" ? [name] : name;
  const safe = parts.map((part) => toSafePart(part, invalidCharacters)).join("__");
  if (safe.length <= LONGEST_NAME) return safe;
  return `${safe.slice(0, LONGEST_NAME - HASH_LENGTH - 1)}_${hashOf(parts.join("\0"))}`;
}

/** A part with no letter or digit left says nothing; it is named by its hash. */
function toSafePart(part: string, invalidCharacters: Naming["invalidCharacters"]): string {
  const safe = part.trim().replace(/[^a-zA-Z0-9_-]/gu, invalidCharacters === "replace" ? "_" : "");
  return /[a-zA-Z0-9]/.test(safe) ? safe : `tool_${hashOf(part)}`;
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
  const all = [...reserved, ...names];
  if (new Set(all).size === all.length) return [];
  const owners = new Map<string, string[]>(
    reserved.map((name) => [name, ["a name of yours (naming.reserved)"]]),
  );
  tools.forEach(({ server, tool }, index) => {
    const name = names[index] ?? "";
    owners.set(name, [
      ...(owners.get(name) ?? []),
      `${JSON.stringify(tool)} of server ${JSON.stringify(server)}`,
    ]);
  });
  return [...owners]
    .filter(([, list]) => list.length > 1)
    .map(([name, list]) => ({ name, owners: list.toSorted() }));
}

function collisionError(collisions: readonly Collision[]): Error {
  const issues = collisions
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, owners }) => ({ path: name, message: `is the name of ${owners.join(" and ")}` }));
  const fix =
    'set naming: { prefix: "server" } or naming: { onCollision: "suffix" }, or leave one out with tools rules';
  return configError("The set of tool names", [...issues, { path: "", message: `To mend it, ${fix}.` }]);
}
