import type { Page } from "./command-context.js";
import { type Finding, placeText } from "./finding.js";
import { markText } from "./marks.js";
import { wrapToWidth } from "./text-width.js";

const INDENT = 4;
/** How many of one kind are shown of one server. */
const MOST_ALIKE = 3;

/** Below the line of their server. */
export function findingLines(findings: readonly Finding[], page: Page): string[] {
  const codes = [...new Set(findings.map(({ code }) => code))];
  return codes.flatMap((code) => {
    const alike = findings.filter((finding) => finding.code === code);
    const shown = alike.slice(0, MOST_ALIKE);
    const isOneAdvice = new Set(shown.map(({ next }) => next)).size === 1;
    const more = alike.length - shown.length;
    return [
      ...shown.flatMap((finding, index) => [
        ...factLines(finding, page),
        ...(isOneAdvice && (index < shown.length - 1 || more > 0) ? [] : adviceLines(finding, page)),
      ]),
      ...(more > 0
        ? [page.paint.quiet(`${" ".repeat(INDENT)}  … and ${more} more like this (--json shows all)`)]
        : []),
      ...(more > 0 && isOneAdvice ? shown.slice(-1).flatMap((finding) => adviceLines(finding, page)) : []),
    ];
  });
}

function factLines({ severity, place, text, code, server }: Finding, { paint, columns }: Page): string[] {
  const words = withoutSubject(text, server);
  const fact = place === undefined ? words : `${placeText(place)}: ${words}`;
  const [first = "", ...others] = wrapToWidth(`${fact} [${code}]`, columns - INDENT - 2);
  const indent = " ".repeat(INDENT);
  const lines = [
    `${indent}${markText(severity, paint)} ${first}`,
    ...others.map((line) => `${indent}  ${line}`),
  ];
  return lines.map((line) => line.replace(`[${code}]`, () => paint.quiet(`[${code}]`)));
}

function adviceLines({ next }: Finding, { columns, paint }: Page): string[] {
  const [first = "", ...others] = wrapToWidth(next, columns - INDENT - 4);
  const indent = " ".repeat(INDENT + 2);
  return [`${indent}${paint.quiet("→")} ${first}`, ...others.map((line) => `${indent}  ${line}`)];
}

/** The name stands above already. */
function withoutSubject(text: string, server: string | undefined): string {
  const subject = `Server "${server ?? ""}" `;
  const rest = text.startsWith(subject) ? text.slice(subject.length) : text;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
