import type { ChosenServer } from "../servers/selected-server.js";
import type { Choice } from "../servers/select-servers.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import { toServerRow } from "./render-list.js";
import { markText, worstOf } from "../terminal/symbols.js";
import type { OpenedServer } from "../servers/connect-servers.js";
import { sectionLines } from "./render-sections.js";
import { serverLines } from "./render-servers.js";
import { padToWidth, widthOf, wrapToWidth } from "../terminal/text-width.js";

interface DoctorReport {
  readonly files: Choice["files"];
  readonly servers: readonly { readonly server: ChosenServer; readonly opened: OpenedServer | undefined }[];
  readonly findings: readonly Finding[];
  readonly counts: { readonly errors: number; readonly warnings: number; readonly notes: number };
  /** There is something that could be tried, and was not. */
  readonly hintsAtRecovery: boolean;
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
  const sections = servers.map(({ server }, index) => ({ server: server.name, lines: [rows[index] ?? ""] }));
  const lines = [
    ...fileLines(report, page),
    ...sectionLines(sections, findings, page),
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

function summaryLines({ counts, hintsAtRecovery }: DoctorReport, { paint, columns }: Page): string[] {
  const { errors, warnings, notes } = counts;
  const summary = [many(errors, "error"), many(warnings, "warning"), many(notes, "note")].join(", ");
  const brush = errors > 0 ? paint.bad : paint.good;
  const hint = "doctor --recovery also tries whether sessions come back after they were lost.";
  return [brush(`${summary}.`), ...(hintsAtRecovery ? wrapToWidth(hint, columns).map(paint.quiet) : [])];
}

function many(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
