import { type JsonObject } from "../json/json.js";

/** Estimates how many tokens a model reads for a text. */
export type CountTokens = (text: string) => number;

/** English text and JSON have about four characters per token; other scripts have about one. */
const CHARS_PER_TOKEN = 4;
// eslint-disable-next-line no-control-regex -- the range of ASCII
const NOT_ASCII = /[^\u0000-\u007f]/g;

/** An estimate that needs no tokenizer: a token per four ASCII characters, and one per other character. */
export function estimateTokens(text: string): number {
  const others = text.match(NOT_ASCII)?.length ?? 0;
  return Math.ceil((text.length - others) / CHARS_PER_TOKEN + others);
}

/** A tool as a model sees it, with the input schema as the server wrote it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** What does not fit into the description: models read it with the first parameter. */
  readonly descriptionRest?: string;
  readonly mcp: { readonly server: string; readonly inputSchema: JsonObject };
}

const estimates = new WeakMap<ToolDefinition, number>();

/**
 * The tokens of a tool's definition: its name, its whole description and the input schema as the server wrote it, so that no
 * schema is made for models that may never see it.
 */
export function countToolTokens(tool: ToolDefinition, countTokens: CountTokens = estimateTokens): number {
  if (countTokens !== estimateTokens) return countTokens(toDefinitionText(tool));
  const known = estimates.get(tool);
  if (known !== undefined) return known;
  const tokens = estimateTokens(toDefinitionText(tool));
  estimates.set(tool, tokens);
  return tokens;
}

function toDefinitionText({ name, description, descriptionRest = "", mcp }: ToolDefinition): string {
  return `${JSON.stringify({ name, description, parameters: mcp.inputSchema })}${descriptionRest}`;
}

/** Options of `tokenCosts`. */
export interface TokenCostOptions {
  /**
   * Counts the tokens of a text.
   * @default an estimate: a token per four ASCII characters, and one per other character
   */
  readonly countTokens?: CountTokens | undefined;
}

/** The tokens of the definitions of one server's tools. */
export interface ServerTokenCosts {
  /** The sum over all tools. */
  readonly tokens: number;
  /** The share of all servers, from 0 to 1. */
  readonly share: number;
  /** The tokens of each tool, by the name that models see. */
  readonly tools: Readonly<Record<string, number>>;
}

/** What the definitions of tools cost in every request to a model. */
export interface TokenCosts<Name extends string = string> {
  /** The sum over all servers. */
  readonly tokens: number;
  /** By server; a server without tools is missing. */
  readonly servers: Readonly<Partial<Record<Name, ServerTokenCosts>>>;
}

/** Adds up the tokens of tool definitions, by server. */
export function toTokenCosts(tools: readonly ToolDefinition[], countTokens?: CountTokens): TokenCosts {
  const servers = new Map<string, Map<string, number>>();
  for (const tool of tools) {
    const costs = servers.get(tool.mcp.server) ?? new Map<string, number>();
    costs.set(tool.name, (costs.get(tool.name) ?? 0) + countToolTokens(tool, countTokens));
    servers.set(tool.mcp.server, costs);
  }
  const tokens = [...servers.values()].reduce((total, costs) => total + sum(costs), 0);
  const entries = [...servers].map(([server, costs]): [string, ServerTokenCosts] => {
    const serverTokens = sum(costs);
    const share = tokens === 0 ? 0 : serverTokens / tokens;
    return [server, { tokens: serverTokens, share, tools: Object.fromEntries(costs) }];
  });
  return { tokens, servers: Object.fromEntries(entries) };
}

function sum(costs: ReadonlyMap<string, number>): number {
  return [...costs.values()].reduce((total, cost) => total + cost, 0);
}
