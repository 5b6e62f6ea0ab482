import { findLargest } from "../json/json.js";
import type { McpToolInfo } from "../config/server-features.js";
import { countToolTokens, type TokenCosts } from "../tool-search/estimate-tokens.js";
import type { McpSkillInfo } from "../client/skills/skill-info.js";
import type { Command, CommandContext } from "./command-context.js";
import { toFailureFinding } from "./report/failure-finding.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections, type Section } from "./report/render-findings.js";
import {
  estimateCosts,
  formatSignature,
  renderServers,
  renderTotalTokens,
  serverToJson,
  skillToJson,
  toolToJson,
  toToolDefinition,
} from "./report/render-servers.js";
import { type ServerResult, settle, withConnectedServers } from "./servers/connect-servers.js";
import { requireServers, selectServers } from "./servers/select-servers.js";
import type { Page } from "./terminal.js";
import { escapeExcerpt, padToWidth, textWidth, truncateToWidth } from "./text-format.js";

/** Lists servers, their tools and their skills. */
export const listCommand: Command = async (context) => {
  const selection = requireServers(await selectServers(context, context.line.positionals));
  return withConnectedServers(selection, context, async ({ results, findings: found }) => {
    const tokenCosts = estimateCosts(results);
    const listed = await Promise.all(results.map((result) => listSkills(result, context)));
    const findings = [...found, ...listed.flatMap(({ failure }) => failure ?? [])];
    return {
      exit: toExit(findings),
      json: {
        servers: listed.map(({ skills, ...result }) => ({
          ...serverToJson(result),
          tools: (result.tools ?? []).map((tool) => toolToJson(tool, result.server.redactor)),
          skills: skills.map((skill) => skillToJson(skill, result.server.redactor)),
        })),
        tokenCosts,
        findings,
      },
      render: (page) => [
        ...renderSections(renderListed(listed, tokenCosts, page), findings.filter(isProblem), page),
        ...renderTotalTokens(tokenCosts, page),
      ],
    };
  });
};

/** What is listed of a server. */
interface ListedServer extends ServerResult {
  /** None if the server has not announced any. */
  readonly skills: readonly McpSkillInfo[];
  /** Why its skills could not be listed. */
  readonly failure?: Finding;
}

async function listSkills(result: ServerResult, { signal }: CommandContext): Promise<ListedServer> {
  const { client, server, tools } = result;
  if (client === undefined || tools === undefined) return { ...result, skills: [] };
  const { value: skills = [], error } = await settle(client.listSkills({ signal }), signal);
  if (error === undefined) return { ...result, skills };
  return { ...result, skills, failure: toFailureFinding(error, server, { hasSession: true }) };
}

function isProblem({ severity }: Finding): boolean {
  return severity !== "note";
}

const INDENT = 4;
const MAX_SIGNATURE_WIDTH = 40;

/** Renders each server with its tools and its skills. */
function renderListed(listed: readonly ListedServer[], costs: TokenCosts, page: Page): Section[] {
  const { columns, colors } = page;
  const indent = " ".repeat(INDENT);
  const tools = listed.flatMap((result) => (result.tools ?? []).map((tool) => ({ tool, result })));
  const widest = findLargest(tools.map(({ tool }) => textWidth(formatSignature(tool))));
  const width = Math.min(widest, MAX_SIGNATURE_WIDTH, Math.floor((columns - INDENT) / 2));
  const widestTokens = findLargest(tools.map(({ tool, result }) => formatTokens(tool, result).length));
  const renderLine = (start: string, summary: string) =>
    `${start}  ${colors.dim(truncateToWidth(summary, columns - textWidth(start) - 2))}`.trimEnd();
  return renderServers(listed, page, {
    costs,
    linesOf: (result) => {
      const { redactor } = result.server;
      const toolLines = (result.tools ?? []).map((tool) => {
        const signature = truncateToWidth(redactor.redact(formatSignature(tool)), width);
        const tokens = formatTokens(tool, result).padStart(widestTokens);
        const start = `${indent}${padToWidth(signature, width)}  ${tokens}`;
        return renderLine(start, redactor.redact(getSummary(tool)));
      });
      const skillLines = result.skills.map(({ name, description }) =>
        renderLine(`${indent}skill ${name}`, redactor.redact(escapeExcerpt(description))),
      );
      return [...toolLines, ...skillLines];
    },
  });
}

function formatTokens(tool: McpToolInfo, { server }: ServerResult): string {
  return `~${countToolTokens(toToolDefinition(tool, server))}`;
}

/** Returns the first line of the description. */
function getSummary({ description, title }: McpToolInfo): string {
  const [first = ""] = (description ?? title ?? "").trim().split("\n");
  return escapeExcerpt(first);
}
