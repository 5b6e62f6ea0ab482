import { createHash } from "node:crypto";
import { option, type OptionsOf } from "../config/parse-options.js";
import { stripHiddenCharacters, truncate } from "../errors/sanitize-text.js";
import { toObject } from "../json/json.js";
import type { KeyValueStore } from "../stores/key-value-store.js";
import type { McpTool } from "../tools/mcp-tool.js";
import { estimateTokens } from "./estimate-tokens.js";
import { OptionalStep } from "./optional-step.js";
import { type SearchField, SearchIndex } from "./search-index.js";
import { type EmbeddingsLike, VectorCache } from "./vector-cache.js";

/** A tool that `rerank` may put in another order. */
export interface RerankCandidate {
  /** The name that models see. */
  readonly name: string;
  /** The description, on one line and bounded. */
  readonly description: string;
  /** The name of the tool's server. */
  readonly server: string;
}

export const SEARCH_FIELDS = {
  /**
   * How many of the best tools are shown with their descriptions.
   * @default 5
   */
  limit: option.count,
  /**
   * Of how many of the best servers the names of the other tools are shown.
   * @default 8
   */
  siblings: option.count,
  /**
   * The maximum size of a result, in estimated tokens.
   * @default 900
   */
  maxTokens: option.count,
  /**
   * Ranks by meaning as well as by words: any LangChain embeddings. The ranks are combined (reciprocal rank fusion). If the
   * embeddings fail or take more than 5 s, the search goes on with words alone.
   *
   * @default tools are ranked by words only
   */
  embeddings: option.withMethods<EmbeddingsLike>(["embedQuery", "embedDocuments"]),
  /**
   * Keeps the vectors of tools for other processes; without a store they are kept in memory.
   *
   * @default vectors are kept in memory
   */
  store: option.withMethods<KeyValueStore>(["get", "set"]),
  /**
   * Puts the best tools in another order: returns their names, the best first. Names that are missing follow in the order
   * they had. If it fails or takes more than 5 s, the order is kept.
   *
   * @default the order is kept
   */
  rerank:
    option.function<
      (query: string, tools: readonly RerankCandidate[]) => readonly string[] | Promise<readonly string[]>
    >(),
};

/** How tools are ranked, and how many results a search has. */
export interface ToolSearchOptions extends OptionsOf<typeof SEARCH_FIELDS, undefined> {}

const SEARCH_DEFAULTS = { limit: 5, siblings: 8, maxTokens: 900 } as const;

/** What is searched, and for which tools. */
export interface ToolSearchRequest {
  readonly query: string;
  /** The tools that the caller may see. */
  readonly tools: readonly McpTool[];
  /** Only tools of this server. */
  readonly server?: string | undefined;
  /** The instructions of servers, which describe them. */
  readonly instructions?: ReadonlyMap<string, string> | undefined;
}

/** A tool of a search result. */
export interface ToolSearchHit {
  readonly tool: McpTool;
  readonly score: number;
}

/** The best tools, and the best servers with the names of their other tools. */
export interface ToolSearchResult {
  readonly hits: readonly ToolSearchHit[];
  readonly siblings: readonly { readonly server: string; readonly tools: readonly McpTool[] }[];
}

/** The weight of a match, by field. */
const WEIGHTS = {
  name: 3,
  title: 2,
  description: 1,
  parameterName: 0.4,
  parameterDescription: 0.2,
  server: 1.5,
  instructions: 0.5,
};
/** Each further matching tool of a server adds this share of the one before to the score of the server. */
const FURTHER_TOOL = 0.8;
const MAX_INDEXED_CHARS = 2_000;
const MAX_DESCRIPTION_CHARS = 100;
/** The constant of reciprocal rank fusion; the usual value. */
const FUSION_CONSTANT = 60;
const MAX_CANDIDATES = 30;
/** It may be the call of a model. */
const RERANK_TIMEOUT_MS = 20_000;
/** Tools of other callers stay indexed up to this factor of the current ones. */
const MAX_INDEX_GROWTH = 2;
const MIN_INDEX_SIZE = 1_000;

/**
 * Ranks tools by the words of a query. The index follows the lists of tools: new tools are added by a search, and
 * removed ones are dropped when there are many. Tools of several callers that are equal are indexed once; a caller
 * finds only its own.
 */
export class ToolSearch {
  readonly #index = new SearchIndex<string>();
  readonly #options: ToolSearchOptions;
  readonly #vectors: VectorCache | undefined;
  readonly #rerankStep: OptionalStep;

  constructor(options: ToolSearchOptions = {}, warn: (message: string) => void = () => undefined) {
    const { embeddings, store } = options;
    this.#options = options;
    this.#rerankStep = new OptionalStep({
      timeoutMs: RERANK_TIMEOUT_MS,
      failure: "rerank failed; the order by words is used",
      warn,
    });
    this.#vectors = embeddings === undefined ? undefined : new VectorCache(embeddings, store, warn);
  }

  async search({
    query,
    tools,
    server,
    instructions = new Map(),
  }: ToolSearchRequest): Promise<ToolSearchResult> {
    const { limit = SEARCH_DEFAULTS.limit, siblings = SEARCH_DEFAULTS.siblings } = this.#options;
    const byKey = this.#update(tools, instructions);
    const isSearched = (tool: McpTool | undefined): tool is McpTool =>
      tool !== undefined && (server === undefined || tool.mcp.server === server);
    const byWords = this.#index.search(query).flatMap(({ id, score }): ToolSearchHit[] => {
      const tool = byKey.get(id);
      return isSearched(tool) ? [{ tool, score }] : [];
    });
    const byMeaning = await this.#rankByMeaning(query, tools.filter(isSearched));
    const ranked = await this.#rerank(
      query,
      byMeaning === undefined ? byWords : fuseRankings([byWords, byMeaning]),
    );
    return { hits: ranked.slice(0, limit), siblings: findSiblings(ranked, tools, { limit, siblings }) };
  }

  async #rankByMeaning(query: string, tools: readonly McpTool[]): Promise<ToolSearchHit[] | undefined> {
    const similarities = await this.#vectors?.compare(
      query,
      tools.map(({ description, mcp }) =>
        `${mcp.server} ${mcp.name}: ${description}`.slice(0, MAX_INDEXED_CHARS),
      ),
    );
    return similarities
      ?.map((score, index) => ({ tool: tools[index] as McpTool, score }))
      .toSorted((left, right) => right.score - left.score);
  }

  async #rerank(query: string, ranked: readonly ToolSearchHit[]): Promise<readonly ToolSearchHit[]> {
    const { rerank } = this.#options;
    if (rerank === undefined || ranked.length === 0) return ranked;
    const candidates = ranked.slice(0, MAX_CANDIDATES);
    const first = await this.#rerankStep.run(async () => {
      const names = await rerank(
        query,
        candidates.map(({ tool: { name, description, mcp } }) => ({
          name,
          description: toOneLine(description, MAX_INDEXED_CHARS),
          server: mcp.server,
        })),
      );
      return names.flatMap((name) => candidates.find(({ tool }) => tool.name === name) ?? []);
    });
    return first === undefined ? ranked : [...new Set([...first, ...ranked])];
  }

  /** Adds what is not indexed, and returns the tools by their keys in the index. */
  #update(
    tools: readonly McpTool[],
    instructions: ReadonlyMap<string, string>,
  ): ReadonlyMap<string, McpTool> {
    const byKey = new Map<string, McpTool>();
    for (const tool of tools) {
      const about = (instructions.get(tool.mcp.server) ?? "").slice(0, MAX_INDEXED_CHARS);
      const key = toKey(tool, about);
      byKey.set(key, tool);
      if (!this.#index.has(key)) this.#index.add(key, toFields(tool, about));
    }
    if (this.#index.size > Math.max(MIN_INDEX_SIZE, tools.length * MAX_INDEX_GROWTH))
      for (const key of this.#index.ids()) if (!byKey.has(key)) this.#index.remove(key);
    return byKey;
  }
}

/** Combines rankings by reciprocal rank: a tool that is near the top of one of them is near the top. */
function fuseRankings(rankings: readonly (readonly ToolSearchHit[])[]): ToolSearchHit[] {
  const scores = new Map<McpTool, number>();
  for (const ranking of rankings)
    for (const [rank, { tool }] of ranking.entries())
      scores.set(tool, (scores.get(tool) ?? 0) + 1 / (FUSION_CONSTANT + rank + 1));
  return [...scores]
    .map(([tool, score]) => ({ tool, score }))
    .toSorted((left, right) => right.score - left.score);
}

/** Equal tools have equal keys. */
function toKey({ name, description, mcp, runtime }: McpTool, instructions: string): string {
  const hidden = Object.keys(runtime.rule.args ?? {});
  const texts = [name, mcp.server, mcp.title, mcp.schemaHash, hidden, description, instructions];
  return createHash("sha256").update(JSON.stringify(texts)).digest("base64");
}

/** The texts of a tool that are searched. Arguments that are hidden from models are not. */
function toFields({ description, mcp, runtime }: McpTool, instructions: string): SearchField[] {
  const hidden = new Set(Object.keys(runtime.rule.args ?? {}));
  const properties = Object.entries(toObject(runtime.schema.injector.modelSchema["properties"])).filter(
    ([parameter]) => !hidden.has(parameter),
  );
  const parameterTexts = properties
    .map(([, schema]) => toObject(schema)["description"])
    .filter((text) => typeof text === "string");
  return [
    { text: mcp.name, weight: WEIGHTS.name },
    { text: mcp.title ?? "", weight: WEIGHTS.title },
    { text: description, weight: WEIGHTS.description },
    { text: properties.map(([parameter]) => parameter).join(" "), weight: WEIGHTS.parameterName },
    { text: parameterTexts.join(" "), weight: WEIGHTS.parameterDescription },
    { text: mcp.server, weight: WEIGHTS.server },
    { text: instructions, weight: WEIGHTS.instructions },
  ].map(({ text, weight }) => ({ text: text.slice(0, MAX_INDEXED_CHARS), weight }));
}

/** The tools of the best servers that are not shown with a description, the best first. */
function findSiblings(
  ranked: readonly ToolSearchHit[],
  allTools: readonly McpTool[],
  { limit, siblings }: { readonly limit: number; readonly siblings: number },
): ToolSearchResult["siblings"] {
  const shown = new Set(ranked.slice(0, limit).map(({ tool }) => tool));
  const position = new Map(ranked.map(({ tool }, index) => [tool, index]));
  const positionOf = (tool: McpTool) => position.get(tool) ?? ranked.length;
  return rankServers(ranked)
    .slice(0, siblings)
    .map((server) => ({
      server,
      tools: allTools
        .filter((tool) => tool.listed.server === server && !shown.has(tool))
        .toSorted((left, right) => positionOf(left) - positionOf(right)),
    }))
    .filter((sibling) => sibling.tools.length > 0);
}

/** Servers with several matching tools come before servers with one. */
function rankServers(ranked: readonly ToolSearchHit[]): string[] {
  const scores = new Map<string, { total: number; factor: number }>();
  for (const { tool, score } of ranked) {
    const known = scores.get(tool.mcp.server) ?? { total: 0, factor: 1 };
    scores.set(tool.mcp.server, {
      total: known.total + score * known.factor,
      factor: known.factor * FURTHER_TOOL,
    });
  }
  return [...scores].toSorted(([, left], [, right]) => right.total - left.total).map(([server]) => server);
}

/**
 * The text of a result for a model: a line for each of the best tools, then the names of the other tools of the best
 * servers. Texts of servers are bounded and on one line.
 */
export function formatSearchResult(
  { hits, siblings }: ToolSearchResult,
  maxTokens: number = SEARCH_DEFAULTS.maxTokens,
): string {
  if (hits.length === 0)
    return "No tool matches. Search again with other words: what the tool does, or what it works on.";
  const lines = ["Best matches:"];
  let tokens = estimateTokens(FOOTER);
  const add = (line: string): boolean => {
    const cost = estimateTokens(line) + 1;
    if (tokens + cost > maxTokens) return false;
    tokens += cost;
    lines.push(line);
    return true;
  };
  for (const { tool } of hits) if (!add(`- ${tool.name}: ${toOneLine(tool.description)}`)) break;
  if (siblings.length > 0 && add("Other tools of these servers:"))
    for (const { server, tools } of siblings) {
      const names = fitNames(tools, maxTokens - tokens - estimateTokens(`- ${server}: `) - 1);
      if (names === "" || !add(`- ${toOneLine(server)}: ${names}`)) break;
    }
  return [...lines, FOOTER].join("\n");
}

const FOOTER = "Load the tools that you need with load_tools, then call them.";

/** As many names as fit. */
function fitNames(tools: readonly McpTool[], maxTokens: number): string {
  let names = "";
  for (const [index, { name }] of tools.entries()) {
    const next = names === "" ? name : `${names}, ${name}`;
    if (estimateTokens(next) + 4 > maxTokens)
      return names === "" ? "" : `${names}, … (${tools.length - index} more)`;
    names = next;
  }
  return names;
}

/** A text of a server on one line, without hidden characters, and short. */
export function toOneLine(text: string, maxChars: number = MAX_DESCRIPTION_CHARS): string {
  return truncate(stripHiddenCharacters(text).replace(/\s+/g, " ").trim(), maxChars);
}
