import type { McpToolInfo } from "../config/server-features.js";
import { countToolTokens, type TokenCosts } from "../tool-search/estimate-tokens.js";
import type { McpSkillInfo } from "../client/skills/skill-info.js";
import type { Command, CommandContext } from "./command-context.js";
import { toFailureFinding } from "./report/failure-finding.js";
import { type Finding, toExit } from "./report/finding.js";
import { renderSections } from "./report/render-findings.js";
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
    const skills = new Map(listed.map(({ skills: items }, index) => [results[index], items]));
    const findings = [...found, ...listed.flatMap(({ failure }) => failure ?? [])];
    return {
      exit: toExit(findings),
      json: {
        servers: results.map((result) => ({
          ...serverToJson(result),
          tools: (result.connected?.tools ?? []).map((tool) => toolToJson(tool, result.server.redactor)),
          skills: (skills.get(result) ?? []).map((skill) => skillToJson(skill, result.server.redactor)),
        })),
        tokenCosts,
        findings,
      },
      render: (page) => renderList({ results, findings, tokenCosts, skills }, page),
    };
  });
};

/** The skills of a server; none if it has not announced any. */
async function listSkills({ server, connected }: ServerResult, { signal }: CommandContext) {
  if (connected?.tools === undefined) return { skills: [] };
  const { value: skills = [], error } = await settle(connected.client.listSkills({ signal }), signal);
  return error === undefined
    ? { skills }
    : { skills, failure: toFailureFinding(error, server, { hasSession: true }) };
}

const INDENT = 4;
const MAX_SIGNATURE_WIDTH = 40;

/** What is listed. */
interface ListReport {
  readonly results: readonly ServerResult[];
  readonly findings: readonly Finding[];
  readonly tokenCosts: TokenCosts;
  readonly skills: ReadonlyMap<ServerResult | undefined, readonly McpSkillInfo[]>;
}

/** Renders each server with its tools, its skills and its findings. */
function renderList({ results, findings, tokenCosts, skills }: ListReport, page: Page): string[] {
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
    linesOf: (result) => [
      ...(result.connected?.tools ?? []).map((tool) => {
        const { redactor } = result.server;
        const signature = truncateToWidth(redactor.redact(formatSignature(tool)), width);
        const start = `${" ".repeat(INDENT)}${padToWidth(signature, width)}  ${formatTokens(tool, result).padStart(widestTokens)}`;
        const summary = truncateToWidth(redactor.redact(getSummary(tool)), columns - textWidth(start) - 2);
        return `${start}  ${colors.dim(summary)}`.trimEnd();
      }),
      ...(skills.get(result) ?? []).map(({ name, description }) => {
        const start = `${" ".repeat(INDENT)}skill ${name}`;
        const summary = result.server.redactor.redact(escapeExcerpt(description));
        return `${start}  ${colors.dim(truncateToWidth(summary, columns - textWidth(start) - 2))}`;
      }),
    ],
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
