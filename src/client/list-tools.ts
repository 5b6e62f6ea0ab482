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
    for (const item of page["tools"]) take(item, tools, options);
    if (tools.size > limits.tools) throw tooMany(server, "tools", limits.tools);
    cursor = nextCursor(page["nextCursor"]);
    if (cursor === undefined) return [...tools.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
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

function nextCursor(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function take(item: unknown, tools: Map<string, McpToolInfo>, { server, warn }: ListToolsOptions): void {
  const parsed = parseToolInfo(item);
  if ("problem" in parsed) {
    const name = isJsonObject(item) && typeof item["name"] === "string" ? item["name"] : undefined;
    const which = name === undefined ? "a tool" : `tool "${quoteServer(name)}"`;
    warn(`Server "${server}": ${which} ${parsed.problem} and is left out.`);
    return;
  }
  const { tool } = parsed;
  if (tools.has(tool.name))
    warn(`Server "${server}": tool "${quoteServer(tool.name)}" is listed twice; the first one counts.`);
  else tools.set(tool.name, tool);
}

function tooMany(server: string, what: "pages" | "tools", limit: number): McpRuntimeError {
  return new McpRuntimeError(
    "too-large",
    `Server "${server}" lists more than ${limit} ${what} (limits.${what}).`,
    { server },
  );
}
