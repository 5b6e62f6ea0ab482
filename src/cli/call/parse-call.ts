import type { SelectedServer } from "../servers/selected-server.js";
import type { ServerSelection } from "../servers/select-servers.js";
import { UsageError } from "../exit-codes.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { excerpt } from "../../errors/sanitize-text.js";
import { findClosestMatch } from "../did-you-mean.js";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import { SchemaValidator } from "../../json-schema/schema-validator.js";
import type { CommandContext } from "../command-context.js";
import { formatSignature } from "../render/render-list.js";

/** The parsed arguments of the `call` command. */
export interface CallRequest {
  readonly server: string;
  readonly tool: string;
  /** `name=value`, as typed. */
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

const USAGE = "Usage: call <server> <tool>, for example: call weather forecast city=Oslo.";

/** Parses `<server> <tool> name=value …`. With a single server, its name may be omitted. */
export function parseCall(positionals: readonly string[], { servers }: ServerSelection): CallRequest {
  const names = positionals.filter((argument) => !isPair(argument));
  const pairs = positionals.filter(isPair).map((argument): [string, string] => {
    const index = argument.indexOf("=");
    return [argument.slice(0, index), argument.slice(index + 1)];
  });
  const [first, second, ...extra] = names;
  if (first === undefined) throw new UsageError("Missing <server> and <tool>.", USAGE);
  if (extra.length > 0)
    throw new UsageError(
      `Unexpected argument "${extra[0] ?? ""}".`,
      "Pass arguments as name=value or with --args.",
    );
  if (second !== undefined) return { server: first, tool: second, pairs };
  return { server: getOnlyServer(servers, first).name, tool: first, pairs };
}

function isPair(argument: string): boolean {
  return /^[^=]+=/.test(argument);
}

function getOnlyServer(servers: readonly SelectedServer[], input: string): SelectedServer {
  const [onlyServer, secondServer] = servers;
  if (onlyServer !== undefined && secondServer === undefined) return onlyServer;
  const isServer = servers.some(({ name }) => name === input);
  throw new UsageError(
    isServer ? `Missing <tool> for server "${input}".` : `Missing <server> for tool "${input}".`,
    USAGE,
  );
}

const MAX_NAMES = 20;

/** Finds a tool by its name on the server or by the name that models see. */
export function findTool(tools: readonly McpToolInfo[], server: string, toolName: string): McpToolInfo {
  const tool =
    tools.find(({ name }) => name === toolName) ??
    tools.find(({ name }) => `${server}__${name}` === toolName);
  if (tool !== undefined) return tool;
  const names = tools.map(({ name }) => excerpt(name));
  const closest = findClosestMatch(toolName, names);
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more (see list)` : "";
  const all =
    names.length === 0 ? "It has no tools." : `Tools: ${names.slice(0, MAX_NAMES).join(", ")}${more}.`;
  throw new UsageError(
    `Server "${server}" has no tool "${toolName}".`,
    closest === undefined ? all : `Did you mean ${closest}?`,
  );
}

/** Reads `--args`: JSON, `@file`, or `-` for stdin. */
export async function readArguments({ line, terminal }: CommandContext): Promise<JsonObject> {
  const source = line.value("args");
  if (source === undefined) return {};
  const json = await readSource(source, terminal.cwd, () => text(terminal.stdin));
  const parsed = parseJson(json, source);
  if (isPlainObject(parsed)) return parsed;
  throw new UsageError("--args is not a JSON object.", `Use --args '{"city":"Oslo"}', @file or -.`);
}

async function readSource(source: string, cwd: string, readStdin: () => Promise<string>): Promise<string> {
  if (source === "-") return readStdin();
  if (!source.startsWith("@")) return source;
  try {
    return await readFile(resolve(cwd, source.slice(1)), "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The file of --args cannot be read: ${reason}.`, "Correct the path after @.");
  }
}

function parseJson(json: string, source: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const origin =
      source === "-" ? "The input from stdin" : source.startsWith("@") ? source.slice(1) : "--args";
    throw new UsageError(
      `${origin} is not valid JSON: ${reason}.`,
      `Quote it for the shell: --args '{"city":"Oslo"}'.`,
    );
  }
}

/** Merges `name=value` pairs, converted by the schema. Throws a `UsageError` if the result is invalid. */
export function toArguments(base: JsonObject, { pairs }: CallRequest, tool: McpToolInfo): JsonObject {
  const typed = pairs.map(([name, value]) => [name, toValue(value, tool, name)]);
  const args: JsonObject = { ...base, ...(Object.fromEntries(typed) as JsonObject) };
  const issues = new SchemaValidator(tool.inputSchema).validate(args);
  if (issues.length === 0) return args;
  const problems = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new UsageError(`Invalid arguments: ${problems.join("; ")}.`, `Usage: ${formatSignature(tool)}.`);
}

/** Keeps a string if the schema wants one, else parses it as JSON: `days=3` is a number. */
function toValue(value: string, { inputSchema }: McpToolInfo, name: string): unknown {
  const { properties } = inputSchema;
  const schema = isPlainObject(properties) ? properties[name] : undefined;
  if (isPlainObject(schema) && schema["type"] === "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
