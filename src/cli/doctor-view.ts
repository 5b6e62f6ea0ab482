import type { ChosenServer } from "./chosen-server.js";
import type { Choice } from "./choose-servers.js";
import type { Page } from "./command-context.js";
import type { Finding } from "./finding.js";
import { findingLines } from "./finding-view.js";
import { toServerRow } from "./list-view.js";
import { markText, worstOf } from "./marks.js";
import type { OpenedServer } from "./open-servers.js";
import { serverLines } from "./server-lines.js";
import { padToWidth, widthOf, wrapToWidth } from "./text-width.js";

interface DoctorReport {
  readonly files: Choice["files"];
  readonly servers: readonly { readonly server: ChosenServer; readonly opened: OpenedServer | undefined }[];
  readonly findings: readonly Finding[];
  readonly counts: { readonly errors: number; readonly warnings: number; readonly notes: number };
  readonly hasTriedRecovery: boolean;
}

/** Files, then each server with what was found, then how bad it is. */
export function doctorText(report: DoctorReport, page: Page): string {
  const { servers, findings } = report;
  const ofServer = (name: string) => findings.filter(({ server }) => server === name);
  const rows = serverLines(
    servers.map(({ server, opened }) =>
      toServerRow(server, opened, worstOf(ofServer(server.name).map(({ severity }) => severity))),
    ),
    page,
  );
  const names = new Set(servers.map(({ server }) => server.name));
  const others = findings.filter(({ server }) => server === undefined || !names.has(server));
  const lines = [
    ...fileLines(report, page),
    ...servers.flatMap(({ server }, index) => [
      rows[index] ?? "",
      ...findingLines(ofServer(server.name), page),
    ]),
    ...findingLines(others, page),
    "",
    ...summaryLines(report, page),
  ];
  return `${lines.join("\n")}\n`;
}

function fileLines({ files }: DoctorReport, { paint }: Page): string[] {
  const width = Math.max(0, ...files.map(({ file }) => widthOf(file)));
  return files.map(({ file, servers }) => {
    const count = servers === 1 ? "1 server" : `${servers} servers`;
    return `${markText("ok", paint)} ${padToWidth(file, width)}  ${paint.quiet(count)}`;
  });
}

function summaryLines(
  { counts, servers, hasTriedRecovery }: DoctorReport,
  { paint, columns }: Page,
): string[] {
  const { errors, warnings, notes } = counts;
  const summary = [many(errors, "error"), many(warnings, "warning"), many(notes, "note")].join(", ");
  const brush = errors > 0 ? paint.bad : paint.good;
  const mayLose = servers.some(
    ({ server, opened }) => server.kind === "http" && opened?.client.sessionId !== undefined,
  );
  const hint = "doctor --recovery also tries whether sessions come back after they were lost.";
  return [
    brush(`${summary}.`),
    ...(mayLose && !hasTriedRecovery ? wrapToWidth(hint, columns).map(paint.quiet) : []),
  ];
}

function many(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
