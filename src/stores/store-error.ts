import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { Redactor } from "../errors/redaction.js";

interface FailedOperation {
  /** `The Redis store at localhost:6379 could not read "weather"`. */
  readonly failed: string;
  readonly secrets: readonly string[];
}

const LONGEST_MESSAGE = 300;

/** Redis repeats the beginning of what it was sent when it does not know a command. */
const QUOTED_ARGUMENTS = /,? with args beginning with:.*/s;

/** A failure of the place, in our words; a failure that is ours already, as it is. */
export function toStoreError(error: unknown, { failed, secrets }: FailedOperation): McpRuntimeError {
  if (error instanceof McpRuntimeError) return error;
  const cause = error instanceof Error ? plainCopy(error, new Redactor(secrets)) : undefined;
  const reason = cause === undefined ? "" : ` (${cause.code ?? cause.name})`;
  return new McpRuntimeError("unavailable", `${failed}${reason}. Is it there, and is it well?`, { cause });
}

/**
 * Foreign errors carry the command that failed with all its arguments, the connection, the password.
 * Only what tells a reader what happened is copied: name, code, text, stack.
 */
function plainCopy(error: Error, redactor: Redactor): Error & { readonly code?: string } {
  const message = redactor.text(error.message.replace(QUOTED_ARGUMENTS, "")).slice(0, LONGEST_MESSAGE);
  const code: unknown = Reflect.get(error, "code") ?? /^[A-Z]{3,}(?= )/.exec(error.message)?.[0];
  const copy = Object.assign(new Error(message), typeof code === "string" ? { code } : {});
  copy.name = error.name;
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  copy.stack = [`${error.name}: ${message}`, ...frames].join("\n");
  return copy;
}
