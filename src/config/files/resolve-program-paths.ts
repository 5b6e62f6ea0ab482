import { resolve } from "node:path";
import { parseEnv } from "node:util";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { ConfigIssue } from "../../errors/mcp-runtime-error.js";
import type { ConfigProblem } from "./config-problem.js";

/** The text of a file, or what is wrong with it. */
export type ReadText = (file: string) => Promise<string | ConfigProblem>;

/**
 * A program runs in the folder of its project unless its file says where, and gets the variables of its
 * `envFile`; those of `env` count more.
 */
export async function placeProgram(
  { envFile, ...reach }: JsonObject,
  folder: string,
  readText: ReadText,
): Promise<{ readonly reach: JsonObject } | { readonly issue: ConfigIssue }> {
  if (reach["command"] === undefined) return { reach };
  const { cwd, env } = reach;
  const placed = { ...reach, ...(typeof cwd === "string" || cwd === undefined ? cwdIn(folder, cwd) : {}) };
  if (envFile === undefined) return { reach: placed };
  if (typeof envFile !== "string")
    return { issue: { path: "envFile", message: "expected the path of a file" } };
  const text = await readText(resolve(folder, envFile));
  if (typeof text !== "string") return { issue: { path: "envFile", message: text.message } };
  // What is no object is refused by the check that follows.
  const variables = env === undefined || isPlainObject(env) ? { ...parseEnv(text), ...env } : env;
  return { reach: { ...placed, env: variables } };
}

function cwdIn(folder: string, cwd = "."): JsonObject {
  return { cwd: resolve(folder, cwd) };
}
