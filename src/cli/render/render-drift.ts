import type { ParameterChange } from "../../json-schema/diff.js";
import type { ServerDrift, ToolChange } from "../../catalog/drift.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import { type Mark, markText } from "../terminal/symbols.js";
import { sectionLines } from "./render-sections.js";
import { toolsText } from "./render-servers.js";
import { padToWidth, widthOf, wrapToWidth } from "../terminal/text-width.js";

export interface DriftRow {
  readonly name: string;
  /** Missing where there was nothing to compare. */
  readonly drift: ServerDrift | undefined;
  /** How many were saved. */
  readonly tools: number;
}

interface DriftReport {
  readonly rows: readonly DriftRow[];
  readonly findings: readonly Finding[];
}

const WORDS: Readonly<Record<ParameterChange["what"], string>> = {
  added: "is new",
  required: "is required now",
  removed: "is gone",
  type: "takes other values",
  changed: "is described otherwise",
};

/** Each server, and what became of its tools. */
export function driftText({ rows, findings }: DriftReport, page: Page): string {
  const width = Math.max(0, ...rows.map(({ name }) => widthOf(name)));
  const sections = rows.map(({ name, drift, tools }) => {
    const shown = page.paint.strong(padToWidth(name, width));
    const line = `${markText(markOf(drift), page.paint)} ${shown}  ${stateText(drift, tools)}`;
    return { server: name, lines: [line, ...changeLines(drift, page)] };
  });
  return `${sectionLines(sections, findings, page).join("\n")}\n`;
}

function markOf(drift: ServerDrift | undefined): Mark {
  if (drift?.state === "same") return "ok";
  return drift?.state === "changed" && !isBreaking(drift) ? "warning" : "error";
}

/** Calls as they were made before may fail now. */
function isBreaking({ removed, changed }: ServerDrift): boolean {
  return removed.length > 0 || changed.some(({ change }) => change === "breaking");
}

function stateText(drift: ServerDrift | undefined, tools: number): string {
  switch (drift?.state) {
    case "same":
      return `as it was, ${toolsText(tools)}`;
    case "changed":
      return isBreaking(drift) ? "changed; calls may fail" : "changed; calls still work";
    case "unreachable":
      return "not reached, nobody can tell";
    case undefined:
      return "not compared";
  }
}

function changeLines(drift: ServerDrift | undefined, { paint, columns }: Page): string[] {
  if (drift === undefined) return [];
  const { added, removed, changed } = drift;
  const lines = (texts: readonly string[], sign: string) =>
    texts.flatMap((text) =>
      wrapToWidth(text, columns - 6).map((part, index) => `    ${index === 0 ? sign : " "} ${part}`),
    );
  return [
    ...lines(
      removed.map((name) => quoteServer(name)),
      paint.bad("-"),
    ),
    ...lines(
      added.map((name) => quoteServer(name)),
      paint.good("+"),
    ),
    ...lines(changed.map(changeText), paint.doubtful("~")),
  ];
}

function changeText({ tool, change, parameters, isDescriptionChanged }: ToolChange): string {
  const what = parameters.map(({ parameter, what: kind }) => `${quoteServer(parameter)} ${WORDS[kind]}`);
  const described = isDescriptionChanged ? ["another description"] : [];
  const breaking = change === "breaking" ? " (breaking)" : "";
  return `${quoteServer(tool)}${breaking}: ${[...what, ...described].join(", ") || "another schema"}`;
}
