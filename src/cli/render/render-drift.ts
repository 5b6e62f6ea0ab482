import type { ParameterChange } from "../../json-schema/diff.js";
import type { ServerDrift, ToolChange } from "../../catalog/drift.js";
import { excerpt } from "../../errors/sanitize-text.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import { type Status, renderStatus } from "../terminal/colors.js";
import { renderSections } from "./render-sections.js";
import { formatToolCount } from "./render-servers.js";
import { padToWidth, textWidth, wrapToWidth } from "../terminal/text-format.js";

export interface DriftRow {
  readonly name: string;
  /** Undefined if there was nothing to compare. */
  readonly drift: ServerDrift | undefined;
  /** Number of saved tools. */
  readonly tools: number;
}

interface DriftReport {
  readonly rows: readonly DriftRow[];
  readonly findings: readonly Finding[];
}

const CHANGE_TEXTS: Readonly<Record<ParameterChange["what"], string>> = {
  added: "is new",
  required: "is now required",
  removed: "was removed",
  type: "no longer accepts all previous values",
  changed: "has a changed schema",
};

/** Renders each server with its tool changes. */
export function renderDrift({ rows, findings }: DriftReport, page: Page): string {
  const width = Math.max(0, ...rows.map(({ name }) => textWidth(name)));
  const sections = rows.map(({ name, drift, tools }) => {
    const title = page.colors.bold(padToWidth(name, width));
    const line = `${renderStatus(toStatus(drift), page.colors)} ${title}  ${formatState(drift, tools)}`;
    return { server: name, lines: [line, ...renderChanges(drift, page)] };
  });
  return `${renderSections(sections, findings, page).join("\n")}\n`;
}

function toStatus(drift: ServerDrift | undefined): Status {
  if (drift?.state === "same") return "ok";
  return drift?.state === "changed" && !isBreaking(drift) ? "warning" : "error";
}

/** Returns true if calls that worked before may fail now. */
function isBreaking({ removed, changed }: ServerDrift): boolean {
  return removed.length > 0 || changed.some(({ change }) => change === "breaking");
}

function formatState(drift: ServerDrift | undefined, tools: number): string {
  switch (drift?.state) {
    case "same":
      return `unchanged (${formatToolCount(tools)})`;
    case "changed":
      return isBreaking(drift) ? "changed; calls may fail" : "changed; calls still work";
    case "unreachable":
      return "unreachable, not compared";
    case undefined:
      return "not compared";
  }
}

function renderChanges(drift: ServerDrift | undefined, { colors, columns }: Page): string[] {
  if (drift === undefined) return [];
  const { added, removed, changed } = drift;
  const lines = (texts: readonly string[], symbol: string) =>
    texts.flatMap((text) =>
      wrapToWidth(text, columns - 6).map((line, index) => `    ${index === 0 ? symbol : " "} ${line}`),
    );
  return [
    ...lines(
      removed.map((name) => excerpt(name)),
      colors.error("-"),
    ),
    ...lines(
      added.map((name) => excerpt(name)),
      colors.success("+"),
    ),
    ...lines(changed.map(formatChange), colors.warning("~")),
  ];
}

function formatChange({ tool, change, parameters, isDescriptionChanged }: ToolChange): string {
  const changes = parameters.map(
    ({ parameter, what: kind }) => `${excerpt(parameter)} ${CHANGE_TEXTS[kind]}`,
  );
  const descriptionChange = isDescriptionChanged ? ["changed description"] : [];
  const breaking = change === "breaking" ? " (breaking)" : "";
  return `${excerpt(tool)}${breaking}: ${[...changes, ...descriptionChange].join(", ") || "changed schema"}`;
}
