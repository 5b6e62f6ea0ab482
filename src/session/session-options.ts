import type { CancelScope } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import type { JsonObject } from "../json/json.js";
import type { MessageTransport } from "../config/message-transport.js";
import type { ServerRequestHandlers } from "../config/server-request-handlers.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import type { HandedOn } from "./safe-transport.js";
import type { ServerMetadata, ServerNotification } from "./session.js";
import type { WireIds } from "./wire-ids.js";

export interface OpeningOptions {
  readonly server: string;
  /** One that has a session id already needs no handshake. */
  readonly openTransport: () => Promise<MessageTransport>;
  /** One that was started already, and is gone on with. */
  readonly started?: HandedOn | undefined;
  /** It is a user's own. */
  readonly isForeign: boolean;
  /** What is known of the server beforehand. */
  readonly facts: ServerMetadata | undefined;
  /** Goes along with what the server is greeted with. */
  readonly greetingMeta: JsonObject;
  /** The server refuses `initialize`. Whoever calls `handOn` goes on with the transport, and closes it. */
  readonly onRefused?: ((code: number, handOn: () => HandedOn) => void) | undefined;
  /** Where others use the same session. */
  readonly ids: WireIds | undefined;
  readonly connectMs: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Ends the handshake when the client is closed; never one caller's signal. */
  readonly cancellation: CancelScope;
  /** Whose session it is; empty for everybody's. */
  readonly identity: string;
  /** Who answers what the server asks, and how many requests at a time. */
  readonly handlers: ServerRequestHandlers;
  readonly maxServerRequests: number;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error) => void;
  /** The transport of the session went by itself. */
  readonly onLost: () => void;
}

/** The time that opening a session may take. */
export interface OpeningAttempt {
  /** Cancelled when time is up, or when the client is closed. */
  readonly cancellation: CancelScope;
  readonly end: () => void;
}

export function startAttempt({ server, connectMs, clock, cancellation }: OpeningOptions): OpeningAttempt {
  const attempt = cancellation.child();
  const stopTimer =
    connectMs === 0
      ? () => undefined
      : clock.after(connectMs, () => attempt.cancel(tooSlow(server, connectMs)));
  return {
    cancellation: attempt,
    end: () => {
      stopTimer();
      attempt.release();
    },
  };
}

function tooSlow(server: string, connectMs: number): McpRuntimeError {
  return new McpRuntimeError(
    "timeout",
    `Server "${server}" did not finish the handshake within ${connectMs} ms (timeouts.connectMs).`,
    { server },
  );
}

/** A transport that opens too late is closed: nobody else knows of it. */
export async function openWithin(options: OpeningOptions, attempt: CancelScope): Promise<MessageTransport> {
  const { server, redactor } = options;
  const opening = options.openTransport();
  try {
    return await attempt.race(opening);
  } catch (error) {
    if (attempt.isCancelled) opening.then((late) => late.close()).catch(() => undefined);
    if (attempt.isCancelled || error instanceof McpRuntimeError) throw error;
    const said = redactor.text(error instanceof Error ? error.message : String(error));
    throw new McpRuntimeError("not-sent", `The transport of server "${server}" did not open: ${said}`, {
      server,
      cause: redactor.cause(error),
    });
  }
}

export function endedEarly(server: string): McpRuntimeError {
  return new McpRuntimeError(
    "connection-lost",
    `Server "${server}" ended the connection during the handshake.`,
    { server },
  );
}
