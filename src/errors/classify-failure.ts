import type { FailureKind } from "./failure-kinds.js";

/** What is known of a request that failed, as far as it is known. */
export interface FailureFacts {
  /** The HTTP status that answered it. */
  readonly status?: number | undefined;
  /** The code of the JSON-RPC error that answered it, alone or in the body of that status. */
  readonly code?: number | undefined;
  /** The answer said when to come back. */
  readonly hasRetryAfter?: boolean | undefined;
  /** The request carried a session id. */
  readonly hadSession?: boolean | undefined;
  /** The text of the answer says that the session is not known. */
  readonly deniesSession?: boolean | undefined;
  /** The tool that was called is not in the server's list. */
  readonly isUnlisted?: boolean | undefined;
  /** The request was to read a resource: there some codes have a meaning. */
  readonly readsResource?: boolean | undefined;
  /** Nothing answered: whether the server may have seen the request, where that is certain. */
  readonly wasSent?: boolean | undefined;
  /** What the network said then: `ECONNREFUSED`; for each address that was tried. */
  readonly networkCodes?: readonly unknown[] | undefined;
}

const METHOD_NOT_FOUND = -32_601;
/** The protocol's own, and what the official SDK's servers say: a URI is all there is to be wrong. */
const RESOURCE_NOT_FOUND: ReadonlySet<number | undefined> = new Set([-32_002, -32_602]);
/** The server does not speak the protocol version that the request names, and has not run it. */
const UNSUPPORTED_VERSION = -32_022;
/** The server wants to ask something, and the request does not say that anybody would answer. */
const NOBODY_TO_ASK = -32_021;
/** Parse error, invalid request, invalid params, a capability that is missing. */
const OUR_MISTAKES = new Set([-32_700, -32_600, -32_602, NOBODY_TO_ASK]);
/** What a connection that was never made is told by. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

type Row = readonly [FailureKind, (facts: FailureFacts) => boolean | undefined];

/**
 * The kinds that are told by what came back, from a status, a code or the network; the first row that
 * fits counts. A kind that is not here needs no telling: whoever meets it (a deadline, a limit, a
 * closed client) knows it.
 *
 * JSON-RPC codes without a row, -32000 to -32019 least of all, have no meaning that can be relied on:
 * the server failed, and that is all one knows.
 */
const ROWS: readonly Row[] = [
  ["not-found", ({ isUnlisted }) => isUnlisted],
  ["unsupported-protocol", ({ code }) => code === UNSUPPORTED_VERSION],
  [
    "session-lost",
    ({ hadSession, status, code }) => hadSession && status === 404 && code !== METHOD_NOT_FOUND,
  ],
  ["session-lost", ({ hadSession, status, deniesSession }) => hadSession && status === 400 && deniesSession],

  ["unauthorized", ({ status }) => status === 401 || status === 403],
  ["rate-limited", ({ status }) => status === 429],
  ["rate-limited", ({ status, hasRetryAfter }) => status === 503 && hasRetryAfter],
  ["unavailable", ({ status }) => status === 502 || status === 503 || status === 504],
  ["server-error", ({ status }) => status !== undefined && status >= 500],
  ["not-found", ({ code }) => code === METHOD_NOT_FOUND],
  ["invalid-request", ({ status }) => status !== undefined],
  ["not-found", ({ code, readsResource }) => readsResource && RESOURCE_NOT_FOUND.has(code)],

  ["invalid-request", ({ code }) => code !== undefined && OUR_MISTAKES.has(code)],
  ["server-error", ({ code }) => code !== undefined],

  ["not-sent", ({ wasSent }) => wasSent === false],
  [
    "not-sent",
    ({ wasSent, networkCodes }) =>
      wasSent === undefined && networkCodes?.some((code) => NEVER_CONNECTED.has(code)),
  ],
];

/** The kind of a failure, by its facts and nothing else. What was sent and brought no answer is `connection-lost`. */
export function classifyFailure(facts: FailureFacts): FailureKind {
  return ROWS.find(([, fits]) => fits(facts) === true)?.[0] ?? "connection-lost";
}

const OPEN_ENDED: ReadonlySet<FailureKind> = new Set(["connection-lost", "unavailable", "server-error"]);

/**
 * Whether a kind that a status or the network told leaves open if the request was run. A JSON-RPC
 * error does not: it is the server's answer.
 */
export function leavesOutcomeOpen(kind: FailureKind): boolean {
  return OPEN_ENDED.has(kind);
}

/** What to do about an error with this code, where that is known. */
export function adviceForCode(code: number | undefined): string {
  return code === NOBODY_TO_ASK
    ? "It wants to ask something: give its definition a handler (onElicitationRequest, onSamplingRequest or roots)."
    : "";
}
