import { isOfferedToModels, type McpToolInfo } from "../../config/server-features.js";
import type { McpSkillInfo } from "../../client/skills/skill-info.js";
import type { Redactor } from "../../errors/redaction.js";
import { pluralize } from "../../errors/sanitize-text.js";
import { findLargest, isPlainObject, type JsonObject, toArray, toObject } from "../../json/json.js";
import { type TokenCosts, type ToolDefinition, toTokenCosts } from "../../tool-search/estimate-tokens.js";
import {
  getKeptRest,
  resolveDescriptions,
  type ToolDescription,
  toToolDescription,
} from "../../tools/tool-description.js";
import { resolveNaming, toToolName } from "../../tools/tool-names.js";
import type { ServerResult } from "../servers/connect-servers.js";
import type { SelectedServer } from "../servers/selected-server.js";
import { type Page, renderStatus, type Status } from "../terminal.js";
import {
  escapeExcerpt,
  formatTime,
  padToWidth,
  textWidth,
  truncateToWidth,
  wrapToWidth,
} from "../text-format.js";
import type { Section } from "./render-findings.js";

/** Narrower terminals omit transport and address. */
const MIN_ADDRESS_WIDTH = 60;

interface RenderServersOptions<Result> {
  /** The tokens of the servers' definitions. Default: not shown. */
  readonly costs?: TokenCosts;
  /** Default: whether the tools were listed. */
  readonly statusOf?: (result: Result) => Status;
  /** The lines below the row of a server. Default: none. */
  readonly linesOf?: (result: Result) => readonly string[];
}

/** Renders an aligned table of servers: one section for each, with its row and the lines below it. */
export function renderServers<Result extends ServerResult>(
  results: readonly Result[],
  { colors, columns }: Page,
  { costs, statusOf = getStatus, linesOf = () => [] }: RenderServersOptions<Result> = {},
): Section[] {
  const isNarrow = columns < MIN_ADDRESS_WIDTH;
  const rows = results.map(({ server: { name, kind }, tools, latencyMs }) => {
    const count = tools === undefined ? "" : pluralize(tools.length, "tool");
    const latency = latencyMs === undefined ? "" : formatTime(latencyMs);
    const tokens = costs === undefined ? [] : [formatServerTokens(costs, name)];
    return [name, ...(isNarrow ? [] : [kind]), count, ...tokens, latency];
  });
  const widths = (rows[0] ?? []).map((_, column) =>
    findLargest(rows.map((row) => textWidth(row[column] ?? ""))),
  );
  return results.map((result, index) => {
    const { name, address } = result.server;
    const cells = (rows[index] ?? []).map((text, column) => padToWidth(text, widths[column] ?? 0));
    const row = [...cells, isNarrow ? "" : address].join("  ").trimEnd();
    const plain = truncateToWidth(row, columns - 2);
    const nameEnd = cells[0]?.length ?? 0;
    const text = colors.bold(plain.slice(0, nameEnd)) + colors.dim(plain.slice(nameEnd));
    const line = `${renderStatus(statusOf(result), colors)} ${text}`;
    return { server: name, lines: [line, ...linesOf(result)] };
  });
}

/** Formats as `~1200 tokens`, with the share if there are several servers. */
function formatServerTokens({ servers }: TokenCosts, name: string): string {
  const costs = servers[name];
  if (costs === undefined) return "";
  const share = Object.keys(servers).length > 1 ? ` (${Math.round(costs.share * 100)}%)` : "";
  return `~${pluralize(costs.tokens, "token")}${share}`;
}

/** The last line of a report: what all definitions cost. */
export function renderTotalTokens({ tokens, servers }: TokenCosts, { colors, columns }: Page): string[] {
  if (tokens === 0) return [];
  const tools = Object.values(servers).reduce(
    (count, server) => count + Object.keys(server?.tools ?? {}).length,
    0,
  );
  const text = `The definitions of ${pluralize(tools, "tool")} take about ${pluralize(tokens, "token")} of every request to a model.`;
  return wrapToWidth(text, columns).map(colors.dim);
}

/** The default naming of `createMcpTools`. */
export const NAMING = resolveNaming({}, "server");

/** The description of a tool as models see it by default. */
export function describeTool(tool: McpToolInfo, { name: server, config }: SelectedServer): ToolDescription {
  return toToolDescription(tool, { server, limits: resolveDescriptions(config.descriptions) });
}

/** A tool as models see it by default, for estimates of tokens. */
export function toToolDefinition(tool: McpToolInfo, server: SelectedServer): ToolDefinition {
  const description = describeTool(tool, server);
  const { inputSchema } = tool;
  return {
    name: server.redactor.redact(toToolName({ server: server.name, tool: tool.name }, NAMING)),
    description: description.shown,
    descriptionRest: getKeptRest(description, inputSchema),
    mcp: { server: server.name, inputSchema },
  };
}

/** Estimates the tokens of the definitions of all servers, as `tokenCosts` of a toolset does. */
export function estimateCosts(results: readonly ServerResult[]): TokenCosts {
  return toTokenCosts(
    results.flatMap(({ server, tools = [] }) =>
      tools.filter(isOfferedToModels).map((tool) => toToolDefinition(tool, server)),
    ),
  );
}

function getStatus({ tools }: ServerResult): Status {
  return tools === undefined ? "error" : "ok";
}

/** Formats as `forecast(city, days?)`. */
export function formatSignature({ name, inputSchema }: McpToolInfo): string {
  const { properties, required } = inputSchema;
  const requiredNames = toArray(required);
  const parameters = Object.keys(toObject(properties))
    .toSorted((a, b) => Number(requiredNames.includes(b)) - Number(requiredNames.includes(a)))
    .map((parameter) => `${escapeExcerpt(parameter)}${requiredNames.includes(parameter) ? "" : "?"}`);
  return `${escapeExcerpt(name)}(${parameters.join(", ")})`;
}

/** Converts a tool to its JSON output, with secrets of the server definition redacted. */
export function toolToJson(tool: McpToolInfo, redactor: Redactor): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, meta: _meta } = tool;
  const json = { name, title, description, inputSchema, outputSchema, annotations, icons, _meta };
  return redactStrings(json, redactor) as JsonObject;
}

/** Converts a skill to its JSON output, with secrets of the server definition redacted. */
export function skillToJson({ meta: _meta, ...skill }: McpSkillInfo, redactor: Redactor): JsonObject {
  return redactStrings({ ...skill, _meta }, redactor) as JsonObject;
}

/** Changes only strings that contain a secret: the others are compared with the server later. */
function redactStrings(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.containsSecret(value) ? redactor.sanitize(value) : value;
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, redactor));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactStrings(item, redactor)]));
}

/** Converts a server to its JSON output. */
export function serverToJson({ server, client, error, latencyMs = 0 }: ServerResult): JsonObject {
  const { name, kind, address, scope, file } = server;
  const json = { name, kind, address, scope, file };
  if (client === undefined) return { ...json, state: "declined" };
  if (error !== undefined) return { ...json, state: "failed" };
  const { serverInfo, protocolVersion } = client;
  return { ...json, state: "connected", latencyMs: Math.round(latencyMs), serverInfo, protocolVersion };
}
