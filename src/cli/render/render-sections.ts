import type { Page } from "../command-context.js";
import { type Finding, formatFinding, NO_ACTION } from "../findings/finding.js";
import { renderStatus, getWorstStatus } from "../terminal/colors.js";
import { wrapToWidth } from "../terminal/text-format.js";

/** The output lines of one server. */
interface Section {
  readonly server: string;
  readonly lines: readonly string[];
}

const INDENT = 4;

/** Renders general findings, then each server with its findings, including servers without a section. */
export function renderSections(
  sections: readonly Section[],
  findings: readonly Finding[],
  page: Page,
): string[] {
  const names = new Set(sections.map(({ server }) => server));
  const unlisted = findings.flatMap(({ server }) =>
    server === undefined || names.has(server) ? [] : [server],
  );
  const missing = [...new Set(unlisted)].map((server): Section => {
    const severities = findings
      .filter((finding) => finding.server === server)
      .map(({ severity }) => severity);
    return {
      server,
      lines: [`${renderStatus(getWorstStatus(severities), page.colors)} ${page.colors.bold(server)}`],
    };
  });
  return [
    ...renderFindings(
      findings.filter(({ server }) => server === undefined),
      page,
    ),
    ...[...sections, ...missing].flatMap(({ server, lines }) => [
      ...lines,
      ...renderIndented(
        findings.filter((finding) => finding.server === server),
        page,
      ),
    ]),
  ];
}

function renderIndented(findings: readonly Finding[], page: Page): string[] {
  const lines = renderFindings(findings, { ...page, columns: page.columns - INDENT });
  return lines.map((line) => " ".repeat(INDENT) + line);
}

/** Maximum number of findings shown per code and server. */
const MAX_GROUPED = 3;

/** Renders findings with hints. A hint shared by several findings is shown once. */
function renderFindings(findings: readonly Finding[], page: Page): string[] {
  const codes = [...new Set(findings.map(({ code }) => code))];
  return codes.flatMap((code) =>
    renderGroup(
      findings.filter((finding) => finding.code === code),
      page,
    ),
  );
}

function renderGroup(findings: readonly Finding[], page: Page): string[] {
  const shown = findings.slice(0, MAX_GROUPED);
  const more = findings.length - shown.length;
  const hints = new Set(shown.map(({ hint }) => hint));
  const omitted = more > 0 ? [page.colors.dim(`  … and ${more} more like this (--json shows all)`)] : [];
  if (hints.size > 1)
    return [
      ...shown.flatMap((finding) => [...renderText(finding, page), ...renderHint(finding.hint, page)]),
      ...omitted,
    ];
  const texts = shown.flatMap((finding) => renderText(finding, page));
  return [...texts, ...omitted, ...[...hints].flatMap((hint) => renderHint(hint, page))];
}

function renderText(finding: Finding, { colors, columns }: Page): string[] {
  const { severity, text, code, server } = finding;
  const message = formatFinding({ ...finding, text: stripServerName(text, server) });
  const [first = "", ...rest] = wrapToWidth(`${message} [${code}]`, columns - 2);
  const lines = [`${renderStatus(severity, colors)} ${first}`, ...rest.map((line) => `  ${line}`)];
  return lines.map((line) => line.replace(`[${code}]`, () => colors.dim(`[${code}]`)));
}

function renderHint(hint: string, { columns, colors }: Page): string[] {
  if (hint === NO_ACTION) return [];
  const [first = "", ...rest] = wrapToWidth(hint, columns - 4);
  return [`  ${colors.dim("→")} ${first}`, ...rest.map((line) => `    ${line}`)];
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
