import type { McpToolInfo } from "../../config/list-items.js";
import type { Redactor } from "../../errors/redaction.js";
import { isPlainObject, type JsonObject, toArray, toObject } from "../../json/json.js";
import type { ServerResult } from "../servers/connect-servers.js";
import { type Page, renderStatus, type Status } from "../terminal.js";
import { escapeExcerpt, formatTime, padToWidth, textWidth, truncateToWidth } from "../text-format.js";
import type { Section } from "./render-findings.js";

/** Narrower terminals omit transport and address. */
const MIN_ADDRESS_WIDTH = 60;

interface RenderServersOptions {
  /** Default: whether the tools were listed. */
  readonly statusOf?: (result: ServerResult) => Status;
  /** The lines below the row of a server. Default: none. */
  readonly linesOf?: (result: ServerResult) => readonly string[];
}

/** Renders an aligned table of servers: one section for each, with its row and the lines below it. */
export function renderServers(
  results: readonly ServerResult[],
  { colors, columns }: Page,
  { statusOf = getStatus, linesOf = () => [] }: RenderServersOptions = {},
): Section[] {
  const isNarrow = columns < MIN_ADDRESS_WIDTH;
  const rows = results.map(({ server: { name, kind }, connected }) => {
    const tools = connected?.tools === undefined ? "" : pluralize(connected.tools.length, "tool");
    const latency = connected === undefined ? "" : formatTime(connected.latencyMs);
    return isNarrow ? [name, tools, latency] : [name, kind, tools, latency];
  });
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => textWidth(row[column] ?? ""))),
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

function getStatus({ connected }: ServerResult): Status {
  return connected?.tools === undefined ? "error" : "ok";
}

/** Formats as `1 tool` or `2 tools`. */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
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
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  const json = { name, title, description, inputSchema, outputSchema, annotations };
  return redactStrings(json, redactor) as JsonObject;
}

/** Changes only strings that contain a secret: the others are compared with the server later. */
function redactStrings(value: unknown, redactor: Redactor): unknown {
  if (typeof value === "string") return redactor.containsSecret(value) ? redactor.redact(value) : value;
  if (Array.isArray(value)) return value.map((item) => redactStrings(item, redactor));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactStrings(item, redactor)]));
}

/** Converts a server to its JSON output. */
export function serverToJson({ server, connected }: ServerResult): JsonObject {
  const { name, kind, address, scope, file } = server;
  const json = { name, kind, address, scope, file };
  if (connected === undefined) return { ...json, state: "declined" };
  if (connected.error !== undefined) return { ...json, state: "failed" };
  const { serverInfo, protocolVersion } = connected.client;
  const latencyMs = Math.round(connected.latencyMs);
  return { ...json, state: "connected", latencyMs, serverInfo, protocolVersion };
}
