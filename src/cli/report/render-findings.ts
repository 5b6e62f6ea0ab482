import { renderStatus, type Page, type Status } from "../terminal.js";
import { wrapIndented } from "../text-format.js";
import { type Finding, formatFinding, NO_ACTION, type Severity } from "./finding.js";

/** The output lines of one server. */
export interface Section {
  readonly server: string;
  readonly lines: readonly string[];
}

const INDENT = 4;

/** Returns the highest severity; notes count as `ok`. */
export function getWorstStatus(findings: readonly Finding[]): Status {
  const hasSeverity = (status: Severity) => findings.some(({ severity }) => severity === status);
  return (["error", "warning"] as const).find(hasSeverity) ?? "ok";
}

/** Renders general findings, then each server with its findings, including servers without a section. */
export function renderSections(
  sections: readonly Section[],
  findings: readonly Finding[],
  page: Page,
): string[] {
  const findingsOf = (name: string | undefined) => findings.filter(({ server }) => server === name);
  const names = new Set(findings.flatMap(({ server }) => server ?? []));
  for (const { server } of sections) names.delete(server);
  const unlisted = [...names].map((server): Section => {
    const status = renderStatus(getWorstStatus(findingsOf(server)), page.colors);
    return { server, lines: [`${status} ${page.colors.bold(server)}`] };
  });
  const indented = { ...page, columns: page.columns - INDENT };
  return [
    ...renderFindings(findingsOf(undefined), page),
    ...[...sections, ...unlisted].flatMap(({ server, lines }) => [
      ...lines,
      ...renderFindings(findingsOf(server), indented).map((line) => " ".repeat(INDENT) + line),
    ]),
  ];
}

/** Maximum number of findings shown per code and server. */
const MAX_GROUPED = 3;

/** Renders findings by code. A hint shared by all findings of a code is shown once. */
function renderFindings(findings: readonly Finding[], page: Page): string[] {
  const codes = [...new Set(findings.map(({ code }) => code))];
  return codes.flatMap((code) => {
    const group = findings.filter((finding) => finding.code === code);
    const shown = group.slice(0, MAX_GROUPED);
    const more = group.length - shown.length;
    const omitted = more > 0 ? [page.colors.dim(`  … and ${more} more like this (--json shows all)`)] : [];
    const hints = new Set(shown.map(({ hint }) => hint));
    if (hints.size === 1)
      return [
        ...shown.flatMap((finding) => renderText(finding, page)),
        ...omitted,
        ...[...hints].flatMap((hint) => renderHint(hint, page)),
      ];
    return [
      ...shown.flatMap((finding) => [...renderText(finding, page), ...renderHint(finding.hint, page)]),
      ...omitted,
    ];
  });
}

function renderText(finding: Finding, { colors, columns }: Page): string[] {
  const { severity, text, code, server } = finding;
  const message = formatFinding({ ...finding, text: stripServerName(text, server) });
  const [first = "", ...others] = message.split("\n");
  const label = `[${code}]`;
  const firstLine = `${first} ${label}`;
  const prefix = `${renderStatus(severity, colors)} `;
  const lines = wrapIndented([firstLine, ...others].join("\n"), columns, 2, prefix);
  // Not elsewhere: the text of a server may contain the same.
  const labelled = wrapIndented(firstLine, columns, 2).length - 1;
  return lines.map((line, index) =>
    index === labelled && line.endsWith(label) ? line.slice(0, -label.length) + colors.dim(label) : line,
  );
}

function renderHint(hint: string, { columns, colors }: Page): string[] {
  return hint === NO_ACTION ? [] : wrapIndented(hint, columns, 4, `  ${colors.dim("→")} `);
}

/** Removes the server name, which is shown above the finding. */
function stripServerName(text: string, server: string | undefined): string {
  const subject = `Server "${server ?? ""}"`;
  if (!text.startsWith(subject)) return text;
  const rest = text.slice(subject.length);
  // A location in a file follows the comma; keep its case.
  if (rest.startsWith(", ")) return rest.slice(2);
  const predicate = rest.replace(/^:? /, "");
  return predicate.charAt(0).toUpperCase() + predicate.slice(1);
}
