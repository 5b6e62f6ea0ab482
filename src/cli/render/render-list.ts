import type { McpToolInfo } from "../../config/tool-info.js";
import type { ChosenServer } from "../servers/selected-server.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import type { Mark } from "../terminal/symbols.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { sectionLines } from "./render-sections.js";
import { serverLines, type ServerRow } from "./render-servers.js";
import { cutToWidth, padToWidth, widthOf } from "../terminal/text-width.js";
import { signatureOf, summaryOf } from "./tool-signature.js";

interface ListReport {
  readonly listed: readonly {
    readonly server: ChosenServer;
    /** Missing where nobody said yes. */
    readonly opened: OpenedServer | undefined;
  }[];
  readonly findings: readonly Finding[];
}

const INDENT = 4;
const WIDEST_SIGNATURE = 40;

/** Each server with its tools, or with what is wrong. */
export function listText({ listed, findings }: ListReport, page: Page): string {
  const rows = serverLines(
    listed.map(({ server, opened }) => toServerRow(server, opened)),
    page,
  );
  const tools = listed.flatMap(({ opened }) => opened?.tools ?? []);
  const width = signatureWidth(tools, page);
  const sections = listed.map(({ server, opened }, index) => ({
    server: server.name,
    lines: [rows[index] ?? "", ...toolLines(opened?.tools ?? [], { width, server }, page)],
  }));
  const worthwhile = findings.filter(({ severity }) => severity !== "note");
  return `${sectionLines(sections, worthwhile, page).join("\n")}\n`;
}

export function toServerRow(
  { name, kind, address }: ChosenServer,
  opened: OpenedServer | undefined,
  mark: Mark = opened?.tools === undefined ? "error" : "ok",
): ServerRow {
  const tools = opened?.tools?.length;
  return { mark, name, kind, tools, latencyMs: opened?.latencyMs, address };
}

function signatureWidth(tools: readonly McpToolInfo[], { columns }: Page): number {
  const widest = Math.max(0, ...tools.map((tool) => widthOf(signatureOf(tool))));
  return Math.min(widest, WIDEST_SIGNATURE, Math.floor((columns - INDENT) / 2));
}

interface ToolColumn {
  readonly width: number;
  readonly server: ChosenServer;
}

function toolLines(
  tools: readonly McpToolInfo[],
  { width, server: { redactor } }: ToolColumn,
  { columns, paint }: Page,
): string[] {
  return tools.map((tool) => {
    const signature = cutToWidth(redactor.text(signatureOf(tool)), width);
    const summary = cutToWidth(redactor.text(summaryOf(tool)), columns - INDENT - width - 2);
    return `${" ".repeat(INDENT)}${padToWidth(signature, width)}  ${paint.quiet(summary)}`.trimEnd();
  });
}
