import type { McpToolInfo } from "../../config/tool-info.js";
import type { SelectedServer } from "../servers/selected-server.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import type { Status } from "../terminal/colors.js";
import type { ConnectedServer } from "../servers/connect-servers.js";
import { renderSections } from "./render-sections.js";
import { renderServers, type ServerRow } from "./render-servers.js";
import { truncateToWidth, padToWidth, textWidth } from "../terminal/text-format.js";
import { isPlainObject } from "../../json/json.js";
import { excerpt, stripHiddenCharacters } from "../../errors/sanitize-text.js";

interface ListReport {
  readonly listed: readonly {
    readonly server: SelectedServer;
    /** Undefined if consent was declined. */
    readonly connected: ConnectedServer | undefined;
  }[];
  readonly findings: readonly Finding[];
}

const INDENT = 4;
const MAX_SIGNATURE_WIDTH = 40;

/** Renders each server with its tools or findings. */
export function renderList({ listed, findings }: ListReport, page: Page): string {
  const rows = renderServers(
    listed.map(({ server, connected }) => toServerRow(server, connected)),
    page,
  );
  const tools = listed.flatMap(({ connected }) => connected?.tools ?? []);
  const width = getSignatureWidth(tools, page);
  const sections = listed.map(({ server, connected }, index) => ({
    server: server.name,
    lines: [rows[index] ?? "", ...renderTools(connected?.tools ?? [], { width, server }, page)],
  }));
  const visible = findings.filter(({ severity }) => severity !== "note");
  return `${renderSections(sections, visible, page).join("\n")}\n`;
}

export function toServerRow(
  { name, kind, address }: SelectedServer,
  connected: ConnectedServer | undefined,
  status: Status = connected?.tools === undefined ? "error" : "ok",
): ServerRow {
  const tools = connected?.tools?.length;
  return { status, name, kind, tools, latencyMs: connected?.latencyMs, address };
}

function getSignatureWidth(tools: readonly McpToolInfo[], { columns }: Page): number {
  const widest = Math.max(0, ...tools.map((tool) => textWidth(formatSignature(tool))));
  return Math.min(widest, MAX_SIGNATURE_WIDTH, Math.floor((columns - INDENT) / 2));
}

interface ToolColumn {
  readonly width: number;
  readonly server: SelectedServer;
}

function renderTools(
  tools: readonly McpToolInfo[],
  { width, server: { redactor } }: ToolColumn,
  { columns, colors }: Page,
): string[] {
  return tools.map((tool) => {
    const signature = truncateToWidth(redactor.redact(formatSignature(tool)), width);
    const summary = truncateToWidth(redactor.redact(getSummary(tool)), columns - INDENT - width - 2);
    return `${" ".repeat(INDENT)}${padToWidth(signature, width)}  ${colors.dim(summary)}`.trimEnd();
  });
}

/** Formats as `forecast(city, days?)`. */
export function formatSignature({ name, inputSchema }: McpToolInfo): string {
  const { properties, required } = inputSchema;
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : [];
  const names = Object.keys(isPlainObject(properties) ? properties : {});
  const parameters = names
    .toSorted((a, b) => Number(requiredNames.includes(b)) - Number(requiredNames.includes(a)))
    .map((parameter) => `${stripHiddenCharacters(parameter)}${requiredNames.includes(parameter) ? "" : "?"}`);
  return `${excerpt(name)}(${parameters.join(", ")})`;
}

/** Returns the first line of the description. */
function getSummary({ description, title }: McpToolInfo): string {
  const [first = ""] = (description ?? title ?? "").trim().split("\n");
  return excerpt(first);
}
