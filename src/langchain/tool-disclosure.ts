import type { RunnableConfig } from "@langchain/core/runnables";
import { DynamicStructuredTool, StructuredTool } from "@langchain/core/tools";
import { z } from "zod";
import { suggestMatch } from "../errors/find-closest-match.js";
import {
  assertOptionalArray,
  option,
  type OptionsOf,
  optionsSchema,
  parseOptions,
} from "../config/parse-options.js";
import { isStringArray, toArray, toObject } from "../json/json.js";
import { type CountTokens, countToolTokens } from "../tool-search/estimate-tokens.js";
import {
  formatSearchResult,
  toOneLine,
  SEARCH_FIELDS,
  ToolSearch,
  type ToolSearchOptions,
} from "../tool-search/tool-search.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { TOOLSET_SERVER } from "../tools/tool-names.js";
import { matchesName } from "../tools/rule-set.js";
import { assertToolset } from "../toolset/mcp-toolset.js";
import type { McpToolset } from "../toolset/toolset.js";
import { GraphTask } from "../tools/graph-task.js";
import { type AgentTools, getToolName, type ToolSelection } from "./agent-tools.js";
import { LiveToolList } from "./live-tool-list.js";
import { LOAD_TOOL, SEARCH_TOOL, selectLoadedTools } from "./loaded-tools.js";

/**
 * Which tool definitions a model sees.
 * - `all`: all of them
 * - `search`: `search_tools` and `load_tools`, and what the model has loaded
 * - `native`: all, but deferred: the provider's own tool search finds them. Anthropic and OpenAI; `search` for others
 * - `auto`: `all` while the definitions fit the budget, `search` beyond
 */
export type DisclosureMode = "all" | "search" | "native" | "auto";

const DISCLOSURE_FIELDS = {
  /**
   * Which tool definitions a model sees.
   * @default "auto"
   */
  mode: option.oneOf("all", "search", "native", "auto"),
  /**
   * With `auto`: the estimated tokens of all definitions up to which the model sees all of them.
   * @default 10_000
   */
  maxTokens: option.count,
  /**
   * With `auto`: the same as a share of the model's context, from 0 to 1, where the model declares its size.
   *
   * @default `maxTokens` alone decides
   */
  shareOfContext: option.opaque<number>(
    "a number from 0 to 1",
    (value) => typeof value === "number" && value >= 0 && value <= 1,
  ),
  /**
   * Tools that the model always sees, by name; `*` matches any characters.
   * @default []
   */
  always: option.opaque<readonly string[]>("an array of names", isStringArray),
  /**
   * How tools are ranked, and how much a search returns.
   *
   * @default the defaults of `ToolSearchOptions`
   */
  search: optionsSchema<ToolSearchOptions>(SEARCH_FIELDS),
  /**
   * How many loaded tools the model sees. Beyond that, the least recently used ones are left out from the next human
   * message on.
   * @default 64
   */
  maxLoaded: option.count,
  /**
   * Counts the tokens of a text.
   * @default an estimate: a token per four ASCII characters, and one per other character
   */
  countTokens: option.function<CountTokens>(),
};

/** Options of progressive disclosure: of `mcpMiddleware`, `McpToolNode` and `createToolDisclosure`. */
export interface DisclosureOptions extends OptionsOf<typeof DISCLOSURE_FIELDS, undefined> {}

const DISCLOSURE_DEFAULTS = { mode: "auto", maxTokens: 10_000, maxLoaded: 64 } as const;

const DISCLOSURE_SCHEMA = optionsSchema<DisclosureOptions>(DISCLOSURE_FIELDS);

/** Parses the option `disclosure`, a mode or options. Returns `undefined` if models see all tools. */
export function parseDisclosure(
  value: DisclosureMode | DisclosureOptions,
  subject: string,
): DisclosureOptions | undefined {
  const schema = z.object({
    disclosure: typeof value === "string" ? DISCLOSURE_FIELDS.mode : DISCLOSURE_SCHEMA,
  });
  const { disclosure } = parseOptions(schema, { disclosure: value }, { subject });
  const options = typeof disclosure === "string" ? { mode: disclosure } : disclosure;
  return options.mode === "all" ? undefined : options;
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

/** The parts of a model request that matter here. */
interface AgentRequest {
  readonly state: unknown;
  readonly model?: unknown;
  /** The tools that the agent was created with. */
  readonly tools: readonly unknown[];
  /** The same, with the current ones of the toolset. */
  readonly updated: readonly unknown[];
  readonly selection: ToolSelection;
}

/** A tool definition that a provider's own tool search finds. */
interface DeferredTool {
  readonly name: string;
  readonly description: string;
  readonly schema: unknown;
  readonly extras: { readonly defer_loading: true };
}

/** A tool of a provider, which runs on its side. */
export interface ProviderTool {
  /** The type by which the provider knows it. */
  readonly type: string;
  /** Its name, if the provider requires one. */
  readonly name?: string;
}

/** What a model sees. */
export type DisclosedTool = McpTool | StructuredTool | DeferredTool | ProviderTool;

/** The tools of providers that search deferred tools on their side. */
const PROVIDER_SEARCH_TOOLS: Readonly<Record<string, ProviderTool>> = {
  anthropic: { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25" },
  openai: { type: "tool_search" },
};

/** The most characters of the list of servers in the description of `search_tools`. */
const MAX_SERVER_LIST_CHARS = 4_000;
const MAX_SERVER_CHARS = 60;

/** Decides which tool definitions a model sees, and runs the tools with which it finds and loads others. */
export class ToolDisclosure {
  readonly #toolList: LiveToolList;
  readonly #options: DisclosureOptions;
  readonly #search: ToolSearch;
  /** By its description, which names the servers. */
  readonly #searchTools = new Map<string, StructuredTool>();
  readonly loadTool: StructuredTool;
  /** `undefined` outside of agents: there, all tools can be found. */
  readonly #agentTools: AgentTools | undefined;
  #hasLoggedCollision = false;
  #hasLoggedFallback = false;

  constructor(toolList: LiveToolList, options: DisclosureOptions, agentTools?: AgentTools) {
    this.#toolList = toolList;
    this.#options = options;
    this.#agentTools = agentTools;
    this.#search = new ToolSearch(options.search, (message) => toolList.warn(message));
    this.loadTool = this.#createLoadTool();
  }

  /** `search_tools` and `load_tools`. */
  get ownTools(): readonly StructuredTool[] {
    return [this.#searchToolFor([], {}), this.loadTool];
  }

  /** `search_tools` or `load_tools`, by name. */
  getOwnTool(name: string): StructuredTool | undefined {
    if (name === LOAD_TOOL) return this.loadTool;
    return name === SEARCH_TOOL ? this.#searchToolFor([], {}) : undefined;
  }

  /**
   * Returns what the model of an agent sees. `updated` are the tools of the agent, with the current ones of the toolset. An
   * agent with some of them cannot find the others, which were left out on purpose; one with none can find all.
   */
  async selectForAgent(
    { state, model, tools: registered, updated, selection }: AgentRequest,
    config: RunnableConfig,
  ): Promise<readonly unknown[]> {
    const tools = this.#withoutHidden(await this.#toolList.listAvailable(config), selection);
    const toolsetNames = new Set(tools.map(({ name }) => name));
    const others = updated.filter(
      (tool) => !toolsetNames.has(getToolName(tool) ?? "") && !this.#toolList.isToolsetTool(tool),
    );
    const byName = new Map(registered.map((tool) => [getToolName(tool), tool]));
    const shown = this.#select({ tools, state, model }, config).map((tool) => {
      const name = getToolName(tool);
      const existing = name === undefined ? undefined : byName.get(name);
      // An agent does not accept another object in place of a tool that it was created with.
      return existing === undefined || existing === tool || !(tool instanceof StructuredTool)
        ? tool
        : toDescription(tool);
    });
    return [...others, ...shown];
  }

  /** Returns what a model sees of the tools that the caller of this config may see. */
  async selectTools(
    { state, model }: Omit<DisclosureContext, "tools">,
    config: RunnableConfig,
  ): Promise<DisclosedTool[]> {
    const tools = this.#withoutHidden(await this.#toolList.listFor({ ...config, state } as RunnableConfig));
    return [...this.#select({ tools, state, model }, config)];
  }

  /** Returns what `search_tools` and `load_tools` find for the caller of this config. */
  async #list(config: RunnableConfig): Promise<readonly McpTool[]> {
    const selection = this.#agentTools?.recall(new GraphTask(config).input);
    return this.#withoutHidden(await this.#toolList.listAvailable(config), selection);
  }

  /** Without tools that were left out, and without those that have the name of a tool of this class. */
  #withoutHidden(tools: readonly McpTool[], selection?: ToolSelection): readonly McpTool[] {
    const collision = tools.find(({ name }) => isOwnName(name));
    if (collision !== undefined && !this.#hasLoggedCollision) {
      this.#hasLoggedCollision = true;
      this.#toolList.warn(
        `The tool "${collision.name}" of server "${collision.mcp.server}" is not offered: tool search has a tool of this name. Set naming.prefix to give it another one.`,
      );
    }
    const isLeftOut = (name: string) =>
      selection !== undefined && this.#agentTools?.isLeftOut(name, selection) === true;
    return tools.filter(({ name }) => !isOwnName(name) && !isLeftOut(name));
  }

  /** The search tool with a list of the servers of these tools. */
  #searchToolFor(tools: readonly McpTool[], config: RunnableConfig): StructuredTool {
    const servers = describeServers(tools, this.#toolList.instructionsFor(config));
    const known = this.#searchTools.get(servers);
    if (known !== undefined) return known;
    // One entry per list of servers; callers with different lists are few.
    if (this.#searchTools.size >= 100) this.#searchTools.clear();
    const tool = this.#createSearchTool(servers);
    this.#searchTools.set(servers, tool);
    return tool;
  }

  #select({ tools, state, model }: DisclosureContext, config: RunnableConfig): readonly DisclosedTool[] {
    const mode = this.#resolveMode(tools, model);
    if (mode === "all") return tools;
    const always = tools.filter((tool) => this.#isAlwaysShown(tool));
    if (mode !== "search")
      return [...tools.map((tool) => (always.includes(tool) ? tool : toDeferred(tool))), mode];
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const { maxLoaded = DISCLOSURE_DEFAULTS.maxLoaded } = this.#options;
    const loaded = selectLoadedTools(state, maxLoaded).flatMap((name) => byName.get(name) ?? []);
    return [
      ...always,
      this.#searchToolFor(tools, config),
      this.loadTool,
      ...loaded.filter((tool) => !always.includes(tool)),
    ];
  }

  /** `all`, `search`, or the tool of a provider that searches on its side. */
  #resolveMode(tools: readonly McpTool[], model: unknown): "all" | "search" | ProviderTool {
    const { mode = DISCLOSURE_DEFAULTS.mode } = this.#options;
    if (mode === "auto") return this.#countTokens(tools) <= this.#budget(model) ? "all" : "search";
    if (mode !== "native") return mode;
    const provider = getProvider(model);
    const searchTool = provider === undefined ? undefined : PROVIDER_SEARCH_TOOLS[provider];
    if (searchTool !== undefined) return searchTool;
    if (!this.#hasLoggedFallback)
      this.#toolList.warn(
        'The model does not support native tool search: disclosure "search" is used instead of "native".',
      );
    this.#hasLoggedFallback = true;
    return "search";
  }

  #budget(model: unknown): number {
    const { shareOfContext, maxTokens = DISCLOSURE_DEFAULTS.maxTokens } = this.#options;
    const contextTokens = getContextTokens(model);
    if (shareOfContext === undefined || contextTokens === undefined) return maxTokens;
    return shareOfContext * contextTokens;
  }

  #countTokens(tools: readonly McpTool[]): number {
    const { countTokens } = this.#options;
    return tools.reduce((total, tool) => total + countToolTokens(tool, countTokens), 0);
  }

  /** Results name the toolset's own tool, so a model must not have to search for it. */
  #isAlwaysShown({ name, mcp }: McpTool): boolean {
    if (mcp.server === TOOLSET_SERVER) return true;
    return (this.#options.always ?? []).some((pattern) => matchesName(pattern, name));
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
      func: async (args, _, config = {}) => this.#runSearch(args, config),
    }) as unknown as StructuredTool;
  }

  async #runSearch(
    { query, server }: { query: string; server?: string },
    config: RunnableConfig,
  ): Promise<string> {
    const tools = (await this.#list(config)).filter(({ mcp }) => mcp.server !== TOOLSET_SERVER);
    const servers = [...new Set(tools.map(({ mcp }) => mcp.server))];
    if (server !== undefined && server !== "" && !servers.includes(server)) {
      const hint = suggestMatch(server, servers);
      return `There is no server "${toOneLine(server)}".${hint} Search without a server to search all of them.`;
    }
    const result = await this.#search.search({
      query,
      tools,
      server: server === "" ? undefined : server,
      instructions: this.#toolList.instructionsFor(config),
    });
    return formatSearchResult(result, this.#options.search?.maxTokens);
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
      func: async (args, _, config = {}) => this.#runLoad(toArray(toObject(args)["names"]), config),
    }) as unknown as StructuredTool;
  }

  async #runLoad(names: readonly unknown[], config: RunnableConfig): Promise<string> {
    const tools = await this.#list(config);
    const known = tools.map(({ name }) => name);
    const requested = names.filter((name): name is string => typeof name === "string");
    const loaded = requested.filter((name) => known.includes(name));
    const missing = requested.filter((name) => !known.includes(name));
    const lines = missing.map((name) => {
      const hint = suggestMatch(name, known, " Search for it with search_tools.");
      return `There is no tool "${toOneLine(name)}".${hint}`;
    });
    if (loaded.length > 0) lines.unshift(`Loaded: ${loaded.join(", ")}. Call them now.`);
    return lines.length === 0 ? "No names were given." : lines.join("\n");
  }
}

/** Whether it is the name of a tool that finds or loads others. */
export function isOwnName(name: string): boolean {
  return name === SEARCH_TOOL || name === LOAD_TOOL;
}

function toDescription({ name, description, schema }: StructuredTool) {
  return { name, description, schema };
}

function toDeferred(tool: McpTool): DeferredTool {
  return { ...toDescription(tool), extras: { defer_loading: true } };
}

/** One line that names the servers, how many tools each has, and what it is for. */
function describeServers(tools: readonly McpTool[], instructions: ReadonlyMap<string, string>): string {
  const counts = new Map<string, number>();
  for (const { mcp } of tools)
    if (mcp.server !== TOOLSET_SERVER) counts.set(mcp.server, (counts.get(mcp.server) ?? 0) + 1);
  const servers = [...counts].map(([server, count]) => ({
    server,
    count,
    about: toFirstSentence(instructions.get(server)),
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

/** Progressive disclosure for a graph of your own: what its model sees, and the tools with which it finds others. */
export interface McpToolDisclosure {
  /** `search_tools` and `load_tools`, for the node that runs the tools of the graph. */
  readonly tools: readonly StructuredTool[];
  /**
   * Returns what the model sees: pass it to `bindTools`. `state` is the state of the graph, or its messages.
   * @throws McpRuntimeError why a server that is not `optional` could not be listed
   */
  selectTools(state: unknown, config?: RunnableConfig, model?: unknown): Promise<DisclosedTool[]>;
}

/** Options of `createToolDisclosure`. */
export interface ToolDisclosureOptions<Name extends string = string> extends DisclosureOptions {
  /**
   * Use only the tools of these servers.
   * @default all servers of the toolset
   */
  readonly servers?: readonly Name[] | undefined;
}

/**
 * Creates progressive disclosure for a graph that has neither `mcpMiddleware` nor `McpToolNode`. What is loaded is read from
 * the state of the graph (`mcpLoadedTools`), if it has that channel, and from its messages.
 *
 * @throws McpRuntimeError `invalid-config` for invalid arguments
 *
 * @example
 * ```ts
 * const disclosure = createToolDisclosure(mcp, { mode: "search" });
 * const response = await model.bindTools(await disclosure.selectTools(state, config)).invoke(state.messages);
 * const toolNode = new ToolNode([...mcp.tools, ...disclosure.tools]);
 * ```
 */
export function createToolDisclosure<Name extends string>(
  toolset: McpToolset<Name>,
  options: DisclosureMode | ToolDisclosureOptions<Name> = {},
): McpToolDisclosure {
  const subject = "The tool disclosure";
  assertToolset("createToolDisclosure", toolset);
  const { servers = [], ...others } = typeof options === "string" ? { mode: options } : options;
  assertOptionalArray(servers, { subject, path: "servers" });
  const toolList = new LiveToolList(toolset, servers);
  const disclosureOptions = parseDisclosure(others, subject);
  const disclosure = disclosureOptions && new ToolDisclosure(toolList, disclosureOptions);
  return {
    tools: disclosure?.ownTools ?? [],
    selectTools: async (state, config = {}, model) =>
      disclosure === undefined
        ? [...(await toolList.listFor({ ...config, state } as RunnableConfig))]
        : disclosure.selectTools({ state, model }, config),
  };
}
