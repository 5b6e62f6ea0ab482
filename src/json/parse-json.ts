import { configError } from "../errors/config-error.js";

/** Parses JSON with an optional byte order mark. Throws `invalid-config`; `subject` names the text in the error. */
export function parseJson(text: string, subject: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    // The parser's message quotes the text, which may contain a token, so only the position is kept.
    const position = /position \d+(?: \(line \d+ column \d+\))?$/.exec(String(cause))?.[0];
    const message = `is not valid JSON${position === undefined ? "" : `, at ${position}`}`;
    throw configError(subject, [{ path: "", message }]);
  }
}
