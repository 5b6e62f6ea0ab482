import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { McpToolInfo } from "../../config/tool-info.js";
import { ArgumentCheck } from "../../json-schema/schema-validator.js";
import type { CallRequest } from "./parse-call.js";
import type { CommandContext } from "../command-context.js";
import { signatureOf } from "../render/tool-signature.js";
import { UsageError } from "../usage-error.js";

/** What `--args` says: JSON, `@file`, or `-` for stdin. */
export async function readArguments({ line, terminal }: CommandContext): Promise<JsonObject> {
  const given = line.value("args");
  if (given === undefined) return {};
  const json = await textOf(given, terminal.cwd, () => text(terminal.stdin));
  const parsed = parseJson(json, given);
  if (isPlainObject(parsed)) return parsed;
  throw new UsageError("--args is no JSON object.", `Write --args '{"city":"Oslo"}', @file or -.`);
}

async function textOf(given: string, cwd: string, readStdin: () => Promise<string>): Promise<string> {
  if (given === "-") return readStdin();
  if (!given.startsWith("@")) return given;
  try {
    return await readFile(resolve(cwd, given.slice(1)), "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`The file of --args cannot be read: ${why}.`, "Correct the path behind @.");
  }
}

function parseJson(json: string, given: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const where = given === "-" ? "What came on stdin" : given.startsWith("@") ? given.slice(1) : "--args";
    throw new UsageError(`${where} is no JSON: ${why}.`, `Quote it for the shell: --args '{"city":"Oslo"}'.`);
  }
}

/** With `name=value` on top, each as its schema wants it. Throws when they do not fit the tool. */
export function toArguments(base: JsonObject, { pairs }: CallRequest, tool: McpToolInfo): JsonObject {
  const typed = pairs.map(([name, value]) => [name, toValue(value, tool, name)]);
  const args: JsonObject = { ...base, ...(Object.fromEntries(typed) as JsonObject) };
  const issues = new ArgumentCheck(tool.inputSchema).issuesOf(args);
  if (issues.length === 0) return args;
  const problems = issues.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  throw new UsageError(
    `The arguments do not fit: ${problems.join("; ")}.`,
    `It is called as ${signatureOf(tool)}.`,
  );
}

/** A text where a text is wanted, else what it means as JSON: `days=3` is a number. */
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
