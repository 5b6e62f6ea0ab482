import type { SelectedServer } from "../servers/selected-server.js";
import type { ServerSelection } from "../servers/select-servers.js";
import type { Page } from "../command-context.js";
import type { Finding } from "../findings/finding.js";
import { toServerRow } from "./render-list.js";
import { renderStatus, getWorstStatus } from "../terminal/colors.js";
import type { ConnectedServer } from "../servers/connect-servers.js";
import { renderSections } from "./render-sections.js";
import { renderServers } from "./render-servers.js";
import { padToWidth, textWidth, wrapToWidth } from "../terminal/text-format.js";

interface DoctorReport {
  readonly files: ServerSelection["files"];
  readonly servers: readonly {
    readonly server: SelectedServer;
    readonly connected: ConnectedServer | undefined;
  }[];
  readonly findings: readonly Finding[];
  readonly counts: { readonly errors: number; readonly warnings: number; readonly notes: number };
  /** True if `--recovery` applies but was not used. */
  readonly suggestRecoveryCheck: boolean;
}

/** Renders files, servers with findings, and the summary. */
export function renderDoctor(report: DoctorReport, page: Page): string {
  const { servers, findings } = report;
  const findingsOf = (name: string) => findings.filter(({ server }) => server === name);
  const rows = renderServers(
    servers.map(({ server, connected }) =>
      toServerRow(server, connected, getWorstStatus(findingsOf(server.name).map(({ severity }) => severity))),
    ),
    page,
  );
  const sections = servers.map(({ server }, index) => ({ server: server.name, lines: [rows[index] ?? ""] }));
  const lines = [
    ...renderFiles(report, page),
    ...renderSections(sections, findings, page),
    "",
    ...renderSummary(report, page),
  ];
  return `${lines.join("\n")}\n`;
}

function renderFiles({ files }: DoctorReport, { colors }: Page): string[] {
  const width = Math.max(0, ...files.map(({ file }) => textWidth(file)));
  return files.map(({ file, servers }) => {
    const count = servers === 1 ? "1 server" : `${servers} servers`;
    return `${renderStatus("ok", colors)} ${padToWidth(file, width)}  ${colors.dim(count)}`;
  });
}

function renderSummary({ counts, suggestRecoveryCheck }: DoctorReport, { colors, columns }: Page): string[] {
  const { errors, warnings, notes } = counts;
  const summary = [pluralize(errors, "error"), pluralize(warnings, "warning"), pluralize(notes, "note")].join(
    ", ",
  );
  const style = errors > 0 ? colors.error : colors.success;
  const hint = "doctor --recovery also checks recovery from a lost session.";
  return [style(`${summary}.`), ...(suggestRecoveryCheck ? wrapToWidth(hint, columns).map(colors.dim) : [])];
}

function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
