import type { McpToolInfo } from "../config/list-items.js";
import { countToolTokens, type TokenCosts } from "../tool-search/estimate-tokens.js";
import type { Command } from "./command-context.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import {
  estimateCosts,
  formatSignature,
  renderServers,
  renderTotalTokens,
  serverToJson,
  toolToJson,
  toToolDefinition,
} from "./report/render-servers.js";
import { type ServerResult, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers } from "./servers/select-servers.js";
import type { Page } from "./terminal.js";
import { escapeExcerpt, padToWidth, textWidth, truncateToWidth } from "./text-format.js";

/** Lists servers and their tools. */
export const listCommand: Command = async (context) => {
  const selection = requireServers(await selectServers(context, context.line.positionals));
  return withConnectedServers(selection, context, async ({ results, findings }) => {
    const tokenCosts = estimateCosts(results);
    return {
      exit: toExit(findings),
      json: {
        servers: results.map((result) => ({
          ...serverToJson(result),
          tools: (result.connected?.tools ?? []).map((tool) => toolToJson(tool, result.server.redactor)),
        })),
        tokenCosts,
        findings,
      },
      render: (page) => renderList({ results, findings, tokenCosts }, page),
    };
  });
};

const INDENT = 4;
const MAX_SIGNATURE_WIDTH = 40;

/** What is listed. */
interface ListReport {
  readonly results: readonly ServerResult[];
  readonly findings: readonly Finding[];
  readonly tokenCosts: TokenCosts;
}

/** Renders each server with its tools or findings. */
function renderList({ results, findings, tokenCosts }: ListReport, page: Page): string[] {
  const { columns, colors } = page;
  const tools = results.flatMap(({ connected }) => connected?.tools ?? []);
  const widest = Math.max(0, ...tools.map((tool) => textWidth(formatSignature(tool))));
  const width = Math.min(widest, MAX_SIGNATURE_WIDTH, Math.floor((columns - INDENT) / 2));
  const widestTokens = Math.max(
    0,
    ...results.flatMap((result) =>
      (result.connected?.tools ?? []).map((tool) => formatTokens(tool, result).length),
    ),
  );
  const sections = renderServers(results, page, {
    costs: tokenCosts,
    linesOf: (result) =>
      (result.connected?.tools ?? []).map((tool) => {
        const { redactor } = result.server;
        const signature = truncateToWidth(redactor.redact(formatSignature(tool)), width);
        const start = `${" ".repeat(INDENT)}${padToWidth(signature, width)}  ${formatTokens(tool, result).padStart(widestTokens)}`;
        const summary = truncateToWidth(redactor.redact(getSummary(tool)), columns - textWidth(start) - 2);
        return `${start}  ${colors.dim(summary)}`.trimEnd();
      }),
  });
  const visible = findings.filter(({ severity }) => severity !== "note");
  return [...renderSections(sections, visible, page), ...renderTotalTokens(tokenCosts, page)];
}

function formatTokens(tool: McpToolInfo, { server }: ServerResult): string {
  return `~${countToolTokens(toToolDefinition(tool, server))}`;
}

/** Returns the first line of the description. */
function getSummary({ description, title }: McpToolInfo): string {
  const [first = ""] = (description ?? title ?? "").trim().split("\n");
  return escapeExcerpt(first);
}
