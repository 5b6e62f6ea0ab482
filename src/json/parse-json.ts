import { configError } from "../errors/config-error.js";

/** JSON text, with or without a byte order mark, as a value; `subject` names it in the error. */
export function parseJsonText(text: string, subject: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    // The parser's own message quotes the text, which may hold a token: only the place is told.
    const place = /position \d+(?: \(line \d+ column \d+\))?$/.exec(String(cause))?.[0];
    const message = `is no JSON${place === undefined ? "" : `, at ${place}`}`;
    throw configError(subject, [{ path: "", message }]);
  }
}
