import { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/delay.js";
import { EventStreamReader, ignoreBody } from "./body-readers.js";
import type { HttpRequestHandler } from "../../net/http-request.js";
import { toConnectionFailure } from "./http-errors.js";
import type { HttpWire } from "./mcp-http-client.js";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

interface ServerStreamEvents {
  readonly onData: (data: string) => void;
  readonly onError: (error: Error) => void;
}

/**
 * The stream on which a server speaks unasked. It comes back by itself when it ends or breaks, with
 * growing waits, until it is closed or the server has no such stream.
 */
export class ServerStream {
  readonly #wire: HttpWire;
  readonly #events: ServerStreamEvents;
  readonly #closed = new CancelScope();
  #exchange: HttpRequestHandler | undefined;
  #reader: EventStreamReader | undefined;
  #waitMs = FIRST_WAIT_MS;
  #opened: Promise<void> | undefined;

  constructor(wire: HttpWire, events: ServerStreamEvents) {
    this.#wire = wire;
    this.#events = events;
  }

  /** Opens it; done when the server has answered, whatever it said, or cannot be reached. */
  opened(): Promise<void> {
    this.#opened ??= new Promise((resolve) => {
      this.#closed.onCancel(() => resolve());
      this.#open(resolve);
    });
    return this.#opened;
  }

  close(): void {
    this.#closed.cancel(undefined);
    this.#exchange?.stop();
  }

  #open(onAnswered: () => void): void {
    const hadSession = this.#wire.sessionId !== undefined;
    this.#exchange = this.#wire.get(this.#reader?.lastEventId, {
      onHead: (status, headers) => {
        onAnswered();
        if (status === 200) return this.#read();
        // 405: a server without this stream. There is nothing to hear, and nothing wrong.
        if (status === 405) return ignoreBody;
        return this.#wire.readFailure({ status, headers, hadSession }, (failure) => {
          this.#exchange?.stop();
          this.#events.onError(failure);
          if (status >= 500 || status === 429) this.#reopenLater();
        });
      },
      onBroken: (error) => {
        onAnswered();
        const failure = toConnectionFailure(error, true, this.#wire);
        this.#events.onError(failure);
        // Without credentials it would only be refused again, and a person be asked to log in each time.
        if (failure.kind !== "unauthorized") this.#reopenLater();
      },
    });
  }

  #read(): EventStreamReader {
    const before = this.#reader;
    const reader = new EventStreamReader(this.#wire.maxBytes, {
      onData: (data) => {
        this.#waitMs = FIRST_WAIT_MS;
        this.#events.onData(data);
      },
      onTooLarge: () => {
        this.#exchange?.stop();
        this.#reopenLater();
      },
      onEnd: () => this.#reopenLater(),
    });
    reader.lastEventId = before?.lastEventId;
    reader.retryMs = before?.retryMs;
    this.#reader = reader;
    return reader;
  }

  #reopenLater(): void {
    const waitMs = Math.max(this.#reader?.retryMs ?? 0, this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    delay(waitMs, this.#wire.clock, this.#closed).then(
      () => this.#open(() => undefined),
      () => undefined,
    );
  }
}
