import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";

interface Telling {
  /** What happened, in words for a model. `undefined`: the error's own message, which is the server's. */
  readonly what?: string;
  /** What the model can do now. */
  readonly advice: string;
}

const SAID_NOTHING = "Try something else, or tell the user.";
const LATER = "Try again later, or go on without it and say so.";

/** What a model is told of each kind. Kinds that are always thrown have no entry: no model reads them. */
const TELLINGS: Partial<Record<FailureKind, Telling>> = {
  "session-lost": { what: "The server keeps forgetting this session.", advice: LATER },
  "not-sent": { what: "The server cannot be reached. The tool was not run.", advice: LATER },
  "connection-lost": { what: "The connection broke before the answer came.", advice: LATER },
  timeout: { what: "The tool did not answer in time.", advice: LATER },
  "rate-limited": { what: "The server declined: too many requests. The tool was not run.", advice: LATER },
  unavailable: { what: "The server is not available.", advice: LATER },
  "server-error": { advice: SAID_NOTHING },
  unauthorized: {
    what: "The server refused the credentials. Calling again will not help.",
    advice: "Tell the user.",
  },
  "not-found": { advice: "Do not call it again; use another tool, or tell the user." },
  "invalid-request": { advice: "Correct the arguments and call the tool again." },
  malformed: { what: "The server's answer cannot be read.", advice: SAID_NOTHING },
  "too-large": { what: "The answer is too large to be read.", advice: "Ask for less." },
  "unsupported-protocol": {
    what: "The server speaks another version of the protocol.",
    advice: "Tell the user.",
  },
  "circuit-open": {
    what: "The server failed too often and is left alone for a while. The tool was not run.",
    advice: LATER,
  },
  refused: { advice: "Do not call it again unless you are asked to." },
};

/** A failure as a model should read it: what happened, whether it may have happened all the same, what to do now. */
export function toFailureMessage(error: McpRuntimeError, toolName: string): string {
  const { what, advice } = TELLINGS[error.kind] ?? { advice: SAID_NOTHING };
  const doubt = error.outcomeUnknown ? ["It may have run all the same: check before you call it again."] : [];
  const retry =
    error.retryAt === undefined ? [] : [`The server asks to wait until ${error.retryAt.toISOString()}.`];
  const lines = [`Tool "${toolName}" failed: ${what ?? error.message}`, ...retry, ...doubt];
  return [...lines, ...(doubt.length > 0 && advice === LATER ? [] : [advice])].join("\n");
}
