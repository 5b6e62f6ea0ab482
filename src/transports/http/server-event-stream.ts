import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/clock.js";
import { EventStreamReader, discardBody } from "./body-readers.js";
import type { HttpRequestEvents, HttpRequestHandler } from "../../net/http-request.js";
import { fromConnectionError } from "./http-errors.js";
import type { McpHttpClient } from "./mcp-http-client.js";

const INITIAL_REOPEN_DELAY_MS = 1_000;
const MAX_REOPEN_DELAY_MS = 30_000;

interface ServerEventStreamEvents {
  readonly onData: (data: string) => void;
  readonly onError: (error: Error) => void;
}

/**
 * The GET stream for messages that belong to no request. It is reopened with growing delays when it ends
 * or breaks, until it is closed or the server does not offer it.
 */
export class ServerEventStream {
  readonly #httpClient: McpHttpClient;
  readonly #events: ServerEventStreamEvents;
  readonly #closed = new CancelScope();
  #handler: HttpRequestHandler | undefined;
  #reader: EventStreamReader | undefined;
  #reopenDelayMs = INITIAL_REOPEN_DELAY_MS;
  #opened: Promise<void> | undefined;
  #isReopening = false;

  constructor(httpClient: McpHttpClient, events: ServerEventStreamEvents) {
    this.#httpClient = httpClient;
    this.#events = events;
  }

  /** Opens the stream. Resolves on any response of the server, or when it cannot be reached. */
  whenOpen(): Promise<void> {
    this.#opened ??= new Promise((resolve) => {
      this.#closed.onCancel(() => resolve());
      this.#open(resolve);
    });
    return this.#opened;
  }

  close(): void {
    this.#closed.cancel(undefined);
    this.#handler?.abort();
  }

  #open(onResponse: () => void): void {
    const hadSession = this.#httpClient.sessionId !== undefined;
    const events: HttpRequestEvents = {
      onHeaders: (status, headers) => {
        onResponse();
        if (status === 200) return this.#read();
        // 405: the server does not offer this stream, which is allowed.
        if (status === 405) return discardBody;
        return this.#httpClient.createErrorReader({ status, headers, hadSession }, (failure) => {
          this.#handler?.abort();
          this.#events.onError(failure);
          if (status >= 500 || status === 429) this.#scheduleReopen();
        });
      },
      onError: (error) => {
        onResponse();
        const failure = fromConnectionError(error, true, this.#httpClient);
        this.#events.onError(failure);
        // Without credentials it would be rejected again, and each attempt could prompt the user to log in.
        if (failure.kind !== "unauthorized") this.#scheduleReopen();
      },
    };
    this.#handler = this.#httpClient.get(this.#reader?.lastEventId, events, "server-stream");
  }

  #read(): EventStreamReader {
    const previous = this.#reader;
    const reader = new EventStreamReader(this.#httpClient.maxBytes, {
      onData: (data) => {
        this.#reopenDelayMs = INITIAL_REOPEN_DELAY_MS;
        this.#events.onData(data);
      },
      onTooLarge: () => {
        this.#handler?.abort();
        this.#scheduleReopen();
      },
      onEnd: () => this.#scheduleReopen(),
    });
    reader.lastEventId = previous?.lastEventId;
    reader.retryMs = previous?.retryMs;
    this.#reader = reader;
    return reader;
  }

  #scheduleReopen(): void {
    if (this.#isReopening) return;
    this.#isReopening = true;
    const delayMs = Math.max(this.#reader?.retryMs ?? 0, this.#reopenDelayMs);
    this.#reopenDelayMs = Math.min(this.#reopenDelayMs * 2, MAX_REOPEN_DELAY_MS);
    const unref = !this.#httpClient.pool.holdsServerStreams;
    delay(delayMs, this.#httpClient.clock, this.#closed, { unref }).then(
      () => {
        this.#isReopening = false;
        this.#open(() => undefined);
      },
      () => undefined,
    );
  }
}
