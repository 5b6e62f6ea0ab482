import type { McpToolInfo } from "../config/list-items.js";
import type { Command } from "./command-context.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
import { formatSignature, renderServers, serverToJson, toolToJson } from "./report/render-servers.js";
import { type ServerResult, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers } from "./servers/select-servers.js";
import type { Page } from "./terminal.js";
import { escapeExcerpt, padToWidth, textWidth, truncateToWidth } from "./text-format.js";

/** Lists servers and their tools. */
export const listCommand: Command = async (context) => {
  const selection = requireServers(await selectServers(context, context.line.positionals));
  return withConnectedServers(selection, context, async ({ results, findings }) => ({
    exit: toExit(findings),
    json: {
      servers: results.map((result) => ({
        ...serverToJson(result),
        tools: (result.connected?.tools ?? []).map((tool) => toolToJson(tool, result.server.redactor)),
      })),
      findings,
    },
    render: (page) => renderList(results, findings, page),
  }));
};

const INDENT = 4;
const MAX_SIGNATURE_WIDTH = 40;

/** Renders each server with its tools or findings. */
function renderList(results: readonly ServerResult[], findings: readonly Finding[], page: Page): string[] {
  const { columns, colors } = page;
  const tools = results.flatMap(({ connected }) => connected?.tools ?? []);
  const widest = Math.max(0, ...tools.map((tool) => textWidth(formatSignature(tool))));
  const width = Math.min(widest, MAX_SIGNATURE_WIDTH, Math.floor((columns - INDENT) / 2));
  const sections = renderServers(results, page, {
    linesOf: ({ server: { redactor }, connected }) =>
      (connected?.tools ?? []).map((tool) => {
        const signature = truncateToWidth(redactor.redact(formatSignature(tool)), width);
        const summary = truncateToWidth(redactor.redact(getSummary(tool)), columns - INDENT - width - 2);
        return `${" ".repeat(INDENT)}${padToWidth(signature, width)}  ${colors.dim(summary)}`.trimEnd();
      }),
  });
  const visible = findings.filter(({ severity }) => severity !== "note");
  return renderSections(sections, visible, page);
}

/** Returns the first line of the description. */
function getSummary({ description, title }: McpToolInfo): string {
  const [first = ""] = (description ?? title ?? "").trim().split("\n");
  return escapeExcerpt(first);
}
