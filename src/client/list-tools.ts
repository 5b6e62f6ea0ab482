import { isJsonObject, type JsonObject } from "../definitions/json.js";
import type { Limits } from "../definitions/server-spec.js";
import { type McpToolInfo, parseToolInfo } from "../definitions/tool-info.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/server-text.js";

interface ListToolsOptions {
  readonly server: string;
  /** Asked after each page: the first one may have to find the server, and its limits with it. */
  readonly limits: () => Pick<Limits, "pages" | "tools">;
  readonly requestPage: (params: JsonObject) => Promise<unknown>;
  readonly warn: (message: string) => void;
}

/**
 * All pages of `tools/list`, by name. All or nothing: a list that cannot be read to its end is an
 * error, never a shorter list. One tool that cannot be used costs only itself.
 */
export async function listTools(options: ListToolsOptions): Promise<McpToolInfo[]> {
  const { server, requestPage } = options;
  const tools = new Map<string, McpToolInfo>();
  const problems: string[] = [];
  let seen = 0;
  const cursors = new Set<string>();
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await requestPage(cursor === undefined ? {} : { cursor });
    const limits = options.limits();
    if (!isJsonObject(page) || !Array.isArray(page["tools"])) {
      throw new McpRuntimeError(
        "malformed",
        `Server "${server}" answered tools/list without a list of tools.`,
        { server },
      );
    }
    seen += page["tools"].length;
    if (seen > limits.tools) throw tooMany(server, "tools", limits.tools);
    for (const item of page["tools"]) problems.push(...take(item, tools));
    cursor = nextCursor(page["nextCursor"], server);
    if (cursor === undefined) {
      warnOf(problems, options);
      return [...tools.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    }
    if (cursors.has(cursor)) {
      throw new McpRuntimeError(
        "malformed",
        `Server "${server}" repeats a cursor of tools/list: its list has no end.`,
        {
          server,
        },
      );
    }
    cursors.add(cursor);
    if (pages >= limits.pages) throw tooMany(server, "pages", limits.pages);
  }
}

/** A cursor is a text. One that is something else must not pass for the end of the list. */
function nextCursor(value: unknown, server: string): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw new McpRuntimeError("malformed", `Server "${server}" gave a cursor of tools/list that is no text.`, {
    server,
  });
}

/** What is wrong with it, if it cannot be taken. */
function take(item: unknown, tools: Map<string, McpToolInfo>): string[] {
  const parsed = parseToolInfo(item);
  if ("problem" in parsed) {
    const name = isJsonObject(item) && typeof item["name"] === "string" ? item["name"] : undefined;
    return [
      `${name === undefined ? "a tool" : `tool "${quoteServer(name)}"`} ${parsed.problem} and is left out.`,
    ];
  }
  const { tool } = parsed;
  if (tools.has(tool.name))
    return [`tool "${quoteServer(tool.name)}" is listed twice; the first one counts.`];
  tools.set(tool.name, tool);
  return [];
}

const MOST_WARNINGS = 10;

function warnOf(problems: readonly string[], { server, warn }: ListToolsOptions): void {
  for (const problem of problems.slice(0, MOST_WARNINGS)) warn(`Server "${server}": ${problem}`);
  const more = problems.length - MOST_WARNINGS;
  if (more > 0) warn(`Server "${server}": ${more} more of its tools cannot be used.`);
}

function tooMany(server: string, what: "pages" | "tools", limit: number): McpRuntimeError {
  return new McpRuntimeError(
    "too-large",
    `Server "${server}" lists more than ${limit} ${what} (limits.${what}).`,
    { server },
  );
}
