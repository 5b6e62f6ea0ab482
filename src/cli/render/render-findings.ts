import type { Page } from "../command-context.js";
import { factText, type Finding, NOTHING_TO_DO } from "../findings/finding.js";
import { markText } from "../terminal/symbols.js";
import { wrapToWidth } from "../terminal/text-width.js";

/** How many of one kind are shown of one server. */
const MOST_ALIKE = 3;

/** What was found, each with what to do about it; said once, where it is the same for several. */
export function findingLines(findings: readonly Finding[], page: Page): string[] {
  const codes = [...new Set(findings.map(({ code }) => code))];
  return codes.flatMap((code) =>
    alikeLines(
      findings.filter((finding) => finding.code === code),
      page,
    ),
  );
}

function alikeLines(findings: readonly Finding[], page: Page): string[] {
  const shown = findings.slice(0, MOST_ALIKE);
  const more = findings.length - shown.length;
  const advice = new Set(shown.map(({ next }) => next));
  const rest = more > 0 ? [page.paint.quiet(`  … and ${more} more like this (--json shows all)`)] : [];
  if (advice.size > 1)
    return [
      ...shown.flatMap((finding) => [...factLines(finding, page), ...adviceLines(finding.next, page)]),
      ...rest,
    ];
  const facts = shown.flatMap((finding) => factLines(finding, page));
  return [...facts, ...rest, ...[...advice].flatMap((next) => adviceLines(next, page))];
}

function factLines(finding: Finding, { paint, columns }: Page): string[] {
  const { severity, text, code, server } = finding;
  const fact = factText({ ...finding, text: withoutSubject(text, server) });
  const [first = "", ...others] = wrapToWidth(`${fact} [${code}]`, columns - 2);
  const lines = [`${markText(severity, paint)} ${first}`, ...others.map((line) => `  ${line}`)];
  return lines.map((line) => line.replace(`[${code}]`, () => paint.quiet(`[${code}]`)));
}

function adviceLines(next: string, { columns, paint }: Page): string[] {
  if (next === NOTHING_TO_DO) return [];
  const [first = "", ...others] = wrapToWidth(next, columns - 4);
  return [`  ${paint.quiet("→")} ${first}`, ...others.map((line) => `    ${line}`)];
}

/** The name stands above already. */
function withoutSubject(text: string, server: string | undefined): string {
  const subject = `Server "${server ?? ""}"`;
  if (!text.startsWith(subject)) return text;
  const rest = text.slice(subject.length);
  // After a comma comes the place in a file, which is written as it is.
  if (rest.startsWith(", ")) return rest.slice(2);
  const words = rest.replace(/^:? /, "");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
