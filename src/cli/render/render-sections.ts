import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import { findingLines } from "./render-findings.js";
import { markText, worstOf } from "../terminal/symbols.js";

/** What there is to say of one server. */
interface Section {
  readonly server: string;
  readonly lines: readonly string[];
}

const INDENT = 4;

/** What was found of nobody in particular, then each server with what was found of it, also of those that never came so far. */
export function sectionLines(
  sections: readonly Section[],
  findings: readonly Finding[],
  page: Page,
): string[] {
  const names = new Set(sections.map(({ server }) => server));
  const strays = findings.flatMap(({ server }) =>
    server === undefined || names.has(server) ? [] : [server],
  );
  const missing = [...new Set(strays)].map((server): Section => {
    const severities = findings
      .filter((finding) => finding.server === server)
      .map(({ severity }) => severity);
    return { server, lines: [`${markText(worstOf(severities), page.paint)} ${page.paint.strong(server)}`] };
  });
  return [
    ...findingLines(
      findings.filter(({ server }) => server === undefined),
      page,
    ),
    ...[...sections, ...missing].flatMap(({ server, lines }) => [
      ...lines,
      ...indented(
        findings.filter((finding) => finding.server === server),
        page,
      ),
    ]),
  ];
}

function indented(findings: readonly Finding[], page: Page): string[] {
  const lines = findingLines(findings, { ...page, columns: page.columns - INDENT });
  return lines.map((line) => " ".repeat(INDENT) + line);
}
