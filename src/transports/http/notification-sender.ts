import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { HttpRequestHandler, HttpRequestEvents } from "../../net/http-request.js";
import { fromConnectionError } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";

/** How long a notification, a response to a server request or a session termination may take. */
const NOTIFICATION_TIMEOUT_MS = 5_000;
/** How long the body of its HTTP response may continue after the headers. */
const RESPONSE_GRACE_MS = 200;

interface SessionState {
  /** Whether the server had opened a session, which it may have lost. */
  readonly hadSession: boolean;
}

/**
 * Sends the messages of one session that expect no JSON-RPC response: notifications, responses to server
 * requests, session terminations.
 */
export class NotificationSender {
  readonly #httpClient: McpHttpClient;
  readonly #onError: (error: Error) => void;
  /** The abort function of each message that is being sent. */
  readonly #inFlight = new Set<() => void>();

  constructor(httpClient: McpHttpClient, onError: (error: Error) => void) {
    this.#httpClient = httpClient;
    this.#onError = onError;
  }

  post(message: JsonRpcMessage, session: SessionState): Promise<void> {
    return this.#send(session, (events) => this.#httpClient.postInBackground(message, events));
  }

  terminateSession(): Promise<void> {
    return this.#send({ hadSession: true }, (events) => this.#httpClient.delete(events));
  }

  abortAll(): void {
    for (const abort of this.#inFlight) abort();
  }

  /**
   * Resolves when the server has accepted the message, on failure (reported to `onError`) or after the
   * timeout. It does not wait for the body of the HTTP response, which is aborted if it keeps its
   * connection open.
   */
  #send(
    { hadSession }: SessionState,
    start: (events: HttpRequestEvents) => HttpRequestHandler,
  ): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        cancelTimer();
        this.#inFlight.delete(abort);
        resolve();
      };
      const abort = () => {
        handler.abort();
        finish();
      };
      const fail = (error: Error) => {
        abort();
        this.#onError(error);
      };
      let cancelTimer = this.#httpClient.clock.after(NOTIFICATION_TIMEOUT_MS, abort);
      this.#inFlight.add(abort);
      const handler = start({
        onError: (error) => fail(fromConnectionError(error, this.#httpClient, { wasSent: true })),
        onHeaders: (status, headers) => {
          if (status > 299) return this.#httpClient.createErrorReader({ status, headers, hadSession }, fail);
          resolve();
          cancelTimer();
          cancelTimer = this.#httpClient.clock.after(RESPONSE_GRACE_MS, abort);
          return { data: () => undefined, end: finish };
        },
      });
    });
  }
}
