import type { TransportType } from "../../config/server-config.js";
import type { Page } from "../command-context.js";
import { type Status, renderStatus } from "../terminal/colors.js";
import { truncateToWidth, padToWidth, textWidth, formatTime } from "../terminal/text-format.js";

/** One row of the server table. */
export interface ServerRow {
  readonly status: Status;
  readonly name: string;
  readonly kind: TransportType;
  /** Undefined if the server was not reached. */
  readonly tools: number | undefined;
  readonly latencyMs: number | undefined;
  readonly address: string;
}

/** Narrower terminals omit transport and address. */
const MIN_ADDRESS_WIDTH = 60;

/** Renders the rows as an aligned table. */
export function renderServers(rows: readonly ServerRow[], { colors, columns }: Page): string[] {
  const cells = rows.map(({ name, kind, tools, latencyMs, address }) => ({
    fixed:
      columns < MIN_ADDRESS_WIDTH
        ? [name, formatToolCount(tools), formatLatency(latencyMs)]
        : [name, kind, formatToolCount(tools), formatLatency(latencyMs)],
    address: columns < MIN_ADDRESS_WIDTH ? "" : address,
  }));
  const widths = (cells[0]?.fixed ?? []).map((_, column) =>
    Math.max(...cells.map(({ fixed }) => textWidth(fixed[column] ?? ""))),
  );
  return rows.map(({ status }, index) => {
    const { fixed = [], address = "" } = cells[index] ?? {};
    const [name = "", ...rest] = fixed.map((text, column) => padToWidth(text, widths[column] ?? 0));
    const plain = truncateToWidth([name, ...rest, address].join("  ").trimEnd(), columns - 2);
    const shownName = plain.slice(0, name.length);
    return `${renderStatus(status, colors)} ${colors.bold(shownName)}${colors.dim(plain.slice(name.length))}`;
  });
}

export function formatToolCount(tools: number | undefined): string {
  if (tools === undefined) return "";
  return tools === 1 ? "1 tool" : `${tools} tools`;
}

function formatLatency(ms: number | undefined): string {
  return ms === undefined ? "" : formatTime(ms);
}
