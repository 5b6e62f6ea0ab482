import { styleText } from "node:util";
import type { OutputStream, Terminal } from "./terminal.js";
import type { Severity } from "../findings/finding.js";

type Format = Parameters<typeof styleText>[0];

/** Text styles. Apply them after layout: the width functions would count escape sequences. */
export interface Colors {
  readonly success: (text: string) => string;
  readonly error: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
}

const FORMATS: Readonly<Record<keyof Colors, Format>> = {
  success: "green",
  error: "red",
  warning: "yellow",
  dim: "dim",
  bold: "bold",
};

export function createColors(stream: OutputStream, env: Terminal["env"]): Colors {
  const isColored = supportsColor(stream, env);
  // The decision is made here, not by `styleText`, which checks the streams of the process.
  const style = (format: Format) => (text: string) =>
    isColored && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  const styles = Object.entries(FORMATS).map(([name, format]) => [name, style(format)]);
  return Object.fromEntries(styles);
}

/** Same order as Node: FORCE_COLOR, then NO_COLOR, then whether the stream is a terminal. */
function supportsColor(stream: OutputStream, env: Terminal["env"]): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== "0" && FORCE_COLOR !== "false";
  if (NO_COLOR !== undefined && NO_COLOR !== "") return false;
  return stream.isTTY === true && TERM !== "dumb";
}

export type Status = "ok" | Severity;

const SYMBOLS: Readonly<Record<Status, string>> = { ok: "✓", error: "✗", warning: "!", note: "·" };
const STYLES: Readonly<Record<Status, keyof Colors>> = {
  ok: "success",
  error: "error",
  warning: "warning",
  note: "dim",
};

export function renderStatus(status: Status, colors: Colors): string {
  return colors[STYLES[status]](SYMBOLS[status]);
}

/** Returns the highest severity; notes count as `ok`. */
export function getWorstStatus(severities: readonly Severity[]): Status {
  return (["error", "warning"] as const).find((severity) => severities.includes(severity)) ?? "ok";
}
