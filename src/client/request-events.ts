import type { JsonObject } from "../json/json.js";
import type { ServerEndpoint } from "../config/server-endpoint.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import type { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { CallerContext } from "./call-options.js";

/** Runs what it is given, within something of its own. */
export type RequestWrapper = (run: () => void) => void;

/** What every event of a request tells. */
interface RequestEvent {
  /** The same object in all events of one request, and in no other: a key for what a listener knows of it. */
  readonly token: object;
  /** The caller's own id where it gave one, so not always unique. */
  readonly requestId: string;
  readonly server: string;
  readonly method: string;
  readonly tool: string | undefined;
  /** The prompt that is asked for. */
  readonly prompt: string | undefined;
  /** The resource that it is about, without user, query and fragment. */
  readonly resource: string | undefined;
}

/**
 * A request is about to be sent. What may be private stands behind functions: who writes an event into
 * a log does not write it there.
 */
export interface RequestStarted extends RequestEvent {
  readonly identity: string;
  /** What a tool is called with, without secrets: those known by value, and arguments that are sensitive. */
  readonly args: () => JsonObject | undefined;
  /** Who asks, as the caller told. */
  readonly context: () => CallerContext | undefined;
  /** Sent along in `_meta`, where the caller has not put something of that name. While the event is told. */
  readonly addMeta: (name: string, value: string) => void;
  /** The request is then sent within this, as in an async context. While the event is told. */
  readonly around: (surrounding: RequestWrapper) => void;
}

/** A request failed and is sent again after `waitMs`. */
export interface RequestRetried extends RequestEvent {
  readonly attempts: number;
  readonly kind: FailureKind;
  readonly waitMs: number;
}

/** A request that has ended, well or not. */
export interface RequestEnded extends RequestEvent {
  /** From the caller's request to the end, with handshakes, repetitions and waits. */
  readonly latencyMs: number;
  readonly attempts: number;
  /** What went wrong; `tool-error` where the tool says so in its result. */
  readonly kind: FailureKind | undefined;
  /** What the caller got instead of a result, unless that is the caller's own reason. */
  readonly error: McpRuntimeError | undefined;
  readonly endpoint: ServerEndpoint;
  /** The session it was last sent over; not told of one that is kept secret. */
  readonly sessionId: string | undefined;
  readonly protocolVersion: string | undefined;
  /** The id of the message with which it was last sent. */
  readonly wireId: string | number | undefined;
  /** The result without secrets that are known by value. */
  readonly result: () => unknown;
}
