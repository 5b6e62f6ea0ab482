import type { ServerKind } from "../../config/server-config.js";
import type { Page } from "../command-context.js";
import { type Mark, markText } from "../terminal/symbols.js";
import { cutToWidth, padToWidth, widthOf } from "../terminal/text-width.js";
import { timeText } from "../terminal/format-time.js";

/** One line about a server. */
export interface ServerRow {
  readonly mark: Mark;
  readonly name: string;
  readonly kind: ServerKind;
  /** None, where it was not reached. */
  readonly tools: number | undefined;
  readonly latencyMs: number | undefined;
  readonly address: string;
}

/** On a terminal that is narrower there is no room for where a server is. */
const NARROW = 60;

/** A line for each, with everything below each other. */
export function serverLines(rows: readonly ServerRow[], { paint, columns }: Page): string[] {
  const cells = rows.map(({ name, kind, tools, latencyMs, address }) => ({
    fixed:
      columns < NARROW
        ? [name, toolsText(tools), timeOf(latencyMs)]
        : [name, kind, toolsText(tools), timeOf(latencyMs)],
    address: columns < NARROW ? "" : address,
  }));
  const widths = (cells[0]?.fixed ?? []).map((_, column) =>
    Math.max(...cells.map(({ fixed }) => widthOf(fixed[column] ?? ""))),
  );
  return rows.map(({ mark }, index) => {
    const { fixed = [], address = "" } = cells[index] ?? {};
    const [name = "", ...others] = fixed.map((text, column) => padToWidth(text, widths[column] ?? 0));
    const plain = cutToWidth([name, ...others, address].join("  ").trimEnd(), columns - 2);
    const shownName = plain.slice(0, name.length);
    return `${markText(mark, paint)} ${paint.strong(shownName)}${paint.quiet(plain.slice(name.length))}`;
  });
}

export function toolsText(tools: number | undefined): string {
  if (tools === undefined) return "";
  return tools === 1 ? "1 tool" : `${tools} tools`;
}

function timeOf(ms: number | undefined): string {
  return ms === undefined ? "" : timeText(ms);
}
