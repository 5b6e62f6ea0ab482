import { styleText } from "node:util";
import type { OutputStream, Terminal } from "./terminal.js";

type Format = Parameters<typeof styleText>[0];

/** Colours a text that has been laid out: escapes have no width. */
export interface Paint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly doubtful: (text: string) => string;
  readonly quiet: (text: string) => string;
  readonly strong: (text: string) => string;
}

const FORMATS: Readonly<Record<keyof Paint, Format>> = {
  good: "green",
  bad: "red",
  doubtful: "yellow",
  quiet: "dim",
  strong: "bold",
};

export function createPaint(stream: OutputStream, env: Terminal["env"]): Paint {
  const isColoured = hasColours(stream, env);
  // Whether the stream takes colours is decided here, not by `styleText`, which looks at the process.
  const brush = (format: Format) => (text: string) =>
    isColoured && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  const brushes = Object.entries(FORMATS).map(([name, format]) => [name, brush(format)]);
  return Object.fromEntries(brushes);
}

/** As Node decides it: FORCE_COLOR counts most, then NO_COLOR, then whether it is a terminal. */
function hasColours(stream: OutputStream, env: Terminal["env"]): boolean {
  const { FORCE_COLOR: forced, NO_COLOR: unwanted, TERM: kind } = env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (unwanted !== undefined && unwanted !== "") return false;
  return stream.isTTY === true && kind !== "dumb";
}
