import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";

interface Telling {
  /** What happened, in words for a model. */
  readonly what: string;
  /** What the model can do now. */
  readonly advice: string;
}

const ANOTHER_WAY = "Try another way, or tell the user.";
const LATER = "Try again later, or go on without it and say so.";
const TELL = "Calling it again will not help. Tell the user.";

/** What a model is told of each kind. Kinds that are always thrown have no entry: no model reads them. */
const TELLINGS: Partial<Record<FailureKind, Telling>> = {
  "session-lost": { what: "The server keeps forgetting this session. The tool was not run.", advice: LATER },
  "not-sent": { what: "The server cannot be reached. The tool was not run.", advice: LATER },
  "connection-lost": { what: "The connection broke before the answer came.", advice: LATER },
  timeout: { what: "The tool did not answer in time.", advice: LATER },
  "rate-limited": { what: "The server declined: too many requests. The tool was not run.", advice: LATER },
  unavailable: { what: "The server is not available.", advice: LATER },
  "server-error": { what: "The server failed.", advice: ANOTHER_WAY },
  unauthorized: { what: "The server refused the credentials.", advice: TELL },
  "not-found": { what: "The server does not know this tool.", advice: TELL },
  "invalid-request": { what: "The server rejected the request.", advice: TELL },
  "invalid-response": { what: "The answer cannot be used.", advice: ANOTHER_WAY },
  "too-large": { what: "The answer is too large to be read.", advice: "Ask for less." },
  "unsupported-protocol": { what: "The server speaks another version of the protocol.", advice: TELL },
  "circuit-open": {
    what: "The server failed too often and is left alone for a while. The tool was not run.",
    advice: LATER,
  },
  denied: { what: "It was refused.", advice: "Do not call it again unless you are asked to." },
};

const INVALID_PARAMS = -32_602;
const MAY_HAVE_RUN = "It may have run all the same: check before you call it again.";

/**
 * A failure as a model should read it: what happened, whether it may have happened all the same, what
 * to do now. The error's own message is shown where it is made for it: ours, about arguments and
 * refusals, and what a server says in a JSON-RPC error. Everything else may name hosts and paths.
 */
export function toFailureMessage(error: McpRuntimeError, toolName: string): string {
  const { what, advice } = TELLINGS[error.kind] ?? { what: "It failed.", advice: ANOTHER_WAY };
  const isSpoken =
    error.issues.length > 0 || error.code !== undefined || error.kind === "denied" || hasRun(error);
  const isCorrectable =
    error.kind === "invalid-request" && (error.issues.length > 0 || error.code === INVALID_PARAMS);
  const next = isCorrectable ? "Correct the arguments and call the tool again." : advice;
  const lines = [
    `Tool "${toolName}" failed: ${isSpoken ? error.message : what}`,
    ...(error.retryAt === undefined ? [] : [`The server asks to wait until ${error.retryAt.toISOString()}.`]),
    ...(error.outcomeUnknown ? [MAY_HAVE_RUN] : []),
  ];
  return [...lines, ...(error.outcomeUnknown && next === LATER ? [] : [next])].join("\n");
}

/** The tool ran and what came of it cannot be used: told by us, once it was certain. */
function hasRun({ kind, outcomeUnknown }: McpRuntimeError): boolean {
  return kind === "invalid-response" && !outcomeUnknown;
}
