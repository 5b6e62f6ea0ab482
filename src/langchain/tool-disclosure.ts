import type { RunnableConfig } from "@langchain/core/runnables";
import { DynamicStructuredTool, type StructuredTool } from "@langchain/core/tools";
import { findClosestMatch } from "../errors/find-closest-match.js";
import { option, optionsSchema, parseOptions } from "../config/parse-options.js";
import { toArray } from "../json/json.js";
import { type CountTokens, countToolTokens } from "../tool-search/estimate-tokens.js";
import {
  formatSearchResult,
  toOneLine,
  ToolSearch,
  type ToolSearchOptions,
} from "../tool-search/tool-search.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { matchesName } from "../tools/tool-policy.js";
import { LOAD_TOOL, SEARCH_TOOL, selectLoadedTools } from "./loaded-tools.js";

/**
 * Which tool definitions a model sees.
 * - `all`: all of them
 * - `search`: `search_tools` and `load_tools`, and what the model has loaded
 * - `native`: all, but deferred: the provider's own tool search finds them. Anthropic and OpenAI; `search` for others
 * - `auto`: `all` while the definitions fit the budget, `search` beyond
 */
export type DisclosureMode = "all" | "search" | "native" | "auto";

/** Options of progressive disclosure: of `mcpMiddleware`, `McpToolNode` and `createToolDisclosure`. */
export interface DisclosureOptions {
  /**
   * Which tool definitions a model sees.
   * @default "auto"
   */
  readonly mode?: DisclosureMode | undefined;
  /**
   * With `auto`: the estimated tokens of all definitions up to which the model sees all of them.
   * @default 10_000
   */
  readonly maxTokens?: number | undefined;
  /** With `auto`: the same as a share of the model's context, from 0 to 1, where the model declares its size. */
  readonly shareOfContext?: number | undefined;
  /**
   * Tools that the model always sees, by name; `*` matches any characters.
   * @default []
   */
  readonly always?: readonly string[] | undefined;
  /** How tools are ranked, and how much a search returns. */
  readonly search?: ToolSearchOptions | undefined;
  /**
   * How many loaded tools the model sees. Beyond, those that were not used for longest are left out with the next human
   * message.
   * @default 64
   */
  readonly maxLoaded?: number | undefined;
  /**
   * Counts the tokens of a text.
   * @default an estimate: a token per four ASCII characters, and one per other character
   */
  readonly countTokens?: CountTokens | undefined;
}

export const DISCLOSURE_DEFAULTS = { mode: "auto", maxTokens: 10_000, maxLoaded: 64 } as const;

const MODES = option.oneOf("all", "search", "native", "auto");
const SEARCH_SCHEMA = optionsSchema<ToolSearchOptions>({
  limit: option.count,
  siblings: option.count,
  maxTokens: option.count,
  embeddings: option.withMethods(["embedQuery", "embedDocuments"]),
  store: option.withMethods(["get", "set"]),
  rerank: option.function(),
});
const DISCLOSURE_SCHEMA = optionsSchema<DisclosureOptions>({
  mode: MODES,
  maxTokens: option.count,
  shareOfContext: option.opaque<number>(
    "a number from 0 to 1",
    (value) => typeof value === "number" && value >= 0 && value <= 1,
  ),
  always: option.opaque<readonly string[]>(
    "an array of names",
    (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  ),
  search: SEARCH_SCHEMA,
  maxLoaded: option.count,
  countTokens: option.function<CountTokens>(),
});

/** Parses the option `disclosure`: a mode, or options. */
export function parseDisclosure(
  value: DisclosureMode | DisclosureOptions,
  subject: string,
): DisclosureOptions {
  const options = typeof value === "string" ? { mode: value } : value;
  return parseOptions(DISCLOSURE_SCHEMA, options, { subject, path: "disclosure" });
}

/** What a caller may see, and the state of its graph. */
interface DisclosureContext {
  /** All tools that the caller may see. */
  readonly tools: readonly McpTool[];
  /** The state of the graph: its messages, and the names of loaded tools if it has a channel for them. */
  readonly state: unknown;
  /** The model that will see the tools, for its provider and its context size. */
  readonly model?: unknown;
}

/** A tool definition that a provider's own tool search finds. */
interface DeferredTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  readonly extras: { readonly defer_loading: true };
}

/** What a model sees. */
export type DisclosedTool = McpTool | StructuredTool | DeferredTool | { readonly type: string };

/** Lists the tools that a caller may see. */
type ListTools = (config: RunnableConfig) => Promise<readonly McpTool[]>;

interface ToolDisclosureDependencies {
  readonly options: DisclosureOptions;
  readonly listTools: ListTools;
  readonly getInstructions: (config: RunnableConfig) => Readonly<Partial<Record<string, string>>>;
  readonly log: (message: string) => void;
}

/** The tools of providers that search deferred tools on their side. */
const PROVIDER_SEARCH_TOOLS: Readonly<Record<string, { readonly type: string }>> = {
  anthropic: { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" } as {
    readonly type: string;
  },
  openai: { type: "tool_search" },
};

/** The most characters of the list of servers in the description of `search_tools`. */
const MAX_SERVER_LIST_CHARS = 4_000;
const MAX_SERVER_CHARS = 60;

/** Decides which tool definitions a model sees, and runs the tools with which it finds and loads others. */
export class ToolDisclosure {
  readonly #deps: ToolDisclosureDependencies;
  readonly #search: ToolSearch;
  /** By its description, which names the servers. */
  readonly #searchTools = new Map<string, StructuredTool>();
  readonly loadTool: StructuredTool;
  #hasLoggedFallback = false;

  constructor(deps: ToolDisclosureDependencies) {
    this.#deps = deps;
    this.#search = new ToolSearch(deps.options.search, deps.log);
    this.loadTool = this.#createLoadTool();
  }

  /** The search tool with a list of the servers of these tools. */
  searchToolFor(tools: readonly McpTool[], config: RunnableConfig): StructuredTool {
    const servers = describeServers(tools, this.#deps.getInstructions(config));
    const known = this.#searchTools.get(servers);
    if (known !== undefined) return known;
    // One entry per list of servers; callers with different lists are few.
    if (this.#searchTools.size >= 100) this.#searchTools.clear();
    const tool = this.#createSearchTool(servers);
    this.#searchTools.set(servers, tool);
    return tool;
  }

  /** Returns what a model sees of the tools of a caller. */
  select({ tools, state, model }: DisclosureContext, config: RunnableConfig): readonly DisclosedTool[] {
    const mode = this.#resolveMode(tools, model);
    if (mode === "all") return tools;
    const always = tools.filter(({ name }) => this.#isAlwaysShown(name));
    if (mode !== "search")
      return [...tools.map((tool) => (always.includes(tool) ? tool : toDeferred(tool))), mode];
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const { maxLoaded = DISCLOSURE_DEFAULTS.maxLoaded } = this.#deps.options;
    const loaded = selectLoadedTools(state, maxLoaded).flatMap((name) => byName.get(name) ?? []);
    return [
      ...always,
      this.searchToolFor(tools, config),
      this.loadTool,
      ...loaded.filter((tool) => !always.includes(tool)),
    ];
  }

  /** `all`, `search`, or the tool of a provider that searches on its side. */
  #resolveMode(tools: readonly McpTool[], model: unknown): "all" | "search" | { readonly type: string } {
    const { mode = DISCLOSURE_DEFAULTS.mode } = this.#deps.options;
    if (mode === "auto") return this.#countTokens(tools) <= this.#budget(model) ? "all" : "search";
    if (mode !== "native") return mode;
    const provider = getProvider(model);
    const searchTool = provider === undefined ? undefined : PROVIDER_SEARCH_TOOLS[provider];
    if (searchTool !== undefined) return searchTool;
    if (!this.#hasLoggedFallback)
      this.#deps.log(
        'The model has no tool search of its own: disclosure "search" is used instead of "native".',
      );
    this.#hasLoggedFallback = true;
    return "search";
  }

  #budget(model: unknown): number {
    const { shareOfContext, maxTokens = DISCLOSURE_DEFAULTS.maxTokens } = this.#deps.options;
    const contextTokens = getContextTokens(model);
    if (shareOfContext === undefined || contextTokens === undefined) return maxTokens;
    return shareOfContext * contextTokens;
  }

  #countTokens(tools: readonly McpTool[]): number {
    const { countTokens } = this.#deps.options;
    return tools.reduce((total, tool) => total + countToolTokens(tool, countTokens), 0);
  }

  #isAlwaysShown(name: string): boolean {
    return (this.#deps.options.always ?? []).some((pattern) => matchesName(pattern, name));
  }

  #createSearchTool(servers: string): StructuredTool {
    return new DynamicStructuredTool({
      name: SEARCH_TOOL,
      description:
        "Finds tools by what they do. Returns the names and purposes of the best ones, and the names of related tools. Load those that you need with load_tools before you call them.",
      schema: {
        type: "object",
        properties: {
          query: { type: "string", description: "What the tool does and what it works on, in a few words." },
          server: { type: "string", description: `Only tools of this server. Servers: ${servers}` },
        },
        required: ["query"],
      },
      func: async (args, _, config = {}) => this.#runSearch(args as SearchArgs, config),
    }) as unknown as StructuredTool;
  }

  async #runSearch({ query, server }: SearchArgs, config: RunnableConfig): Promise<string> {
    const tools = await this.#deps.listTools(config);
    const servers = [...new Set(tools.map(({ mcp }) => mcp.server))];
    if (server !== undefined && server !== "" && !servers.includes(server)) {
      const closest = findClosestMatch(server, servers);
      const hint = closest === undefined ? "" : ` Did you mean "${closest}"?`;
      return `There is no server "${toOneLine(server)}".${hint} Search without a server to search all of them.`;
    }
    const result = await this.#search.search({
      query,
      tools,
      server: server === "" ? undefined : server,
      instructions: this.#deps.getInstructions(config),
    });
    return formatSearchResult(result, this.#deps.options.search?.maxTokens);
  }

  #createLoadTool(): StructuredTool {
    return new DynamicStructuredTool({
      name: LOAD_TOOL,
      description:
        "Makes tools callable, by the names that search_tools returned. They can be called from the next step on.",
      schema: {
        type: "object",
        properties: {
          names: { type: "array", items: { type: "string" }, description: "The names of the tools to load." },
        },
        required: ["names"],
      },
      func: async (args, _, config = {}) => this.#runLoad(toArray((args as LoadArgs).names), config),
    }) as unknown as StructuredTool;
  }

  async #runLoad(names: readonly unknown[], config: RunnableConfig): Promise<string> {
    const tools = await this.#deps.listTools(config);
    const known = tools.map(({ name }) => name);
    const requested = names.filter((name): name is string => typeof name === "string");
    const loaded = requested.filter((name) => known.includes(name));
    const missing = requested.filter((name) => !known.includes(name));
    const lines = missing.map((name) => {
      const closest = findClosestMatch(name, known);
      const hint = closest === undefined ? "Search for it with search_tools." : `Did you mean "${closest}"?`;
      return `There is no tool "${toOneLine(name)}". ${hint}`;
    });
    if (loaded.length > 0) lines.unshift(`Loaded: ${loaded.join(", ")}. Call them now.`);
    return lines.length === 0 ? "No names were given." : lines.join("\n");
  }
}

interface SearchArgs {
  readonly query: string;
  readonly server?: string;
}

interface LoadArgs {
  readonly names: unknown;
}

function toDeferred({ name, description, schema }: McpTool): DeferredTool {
  return { name, description, schema, extras: { defer_loading: true } };
}

/** One line that names the servers, how many tools each has, and what it is for. */
function describeServers(
  tools: readonly McpTool[],
  instructions: Readonly<Partial<Record<string, string>>>,
): string {
  const counts = new Map<string, number>();
  for (const { mcp } of tools) counts.set(mcp.server, (counts.get(mcp.server) ?? 0) + 1);
  const servers = [...counts].map(([server, count]) => ({
    server,
    count,
    about: toFirstSentence(instructions[server]),
  }));
  const detailed = servers.map(
    ({ server, count, about }) => `${server} (${count}${about === "" ? "" : `: ${about}`})`,
  );
  if (detailed.join(", ").length <= MAX_SERVER_LIST_CHARS) return detailed.join(", ");
  let text = "";
  for (const [index, { server, count }] of servers.entries()) {
    const next = `${text === "" ? "" : `${text}, `}${server} (${count})`;
    if (next.length > MAX_SERVER_LIST_CHARS) return `${text} and ${servers.length - index} more`;
    text = next;
  }
  return text;
}

function toFirstSentence(text = ""): string {
  const [sentence = ""] = text.split(/(?<=[.!?。])\s|\n/u);
  return toOneLine(sentence, MAX_SERVER_CHARS).replace(/[.。]$/u, "");
}

/** The provider of a chat model, where it has a tool search of its own. */
function getProvider(model: unknown): string | undefined {
  const { getName, _defaultConfig } = Object(model) as {
    getName?: () => unknown;
    _defaultConfig?: { readonly modelProvider?: unknown };
  };
  const name = typeof getName === "function" ? getName.call(model) : undefined;
  if (name === "ChatAnthropic") return "anthropic";
  if (name === "ChatOpenAI") return "openai";
  const provider = name === "ConfigurableModel" ? _defaultConfig?.modelProvider : undefined;
  return typeof provider === "string" ? provider : undefined;
}

/** The size of a model's context, where its profile declares it. */
function getContextTokens(model: unknown): number | undefined {
  const { profile } = Object(model) as { profile?: { readonly maxInputTokens?: unknown } };
  const tokens = profile?.maxInputTokens;
  return typeof tokens === "number" && tokens > 0 ? tokens : undefined;
}
