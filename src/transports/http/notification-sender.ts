import type { HttpRequestHandler, HttpExchangeEvents } from "../../net/http-request.js";
import { toConnectionFailure } from "./http-errors.js";
import type { HttpWire } from "./mcp-http-client.js";

/** How long a notification, an answer to the server or a goodbye may take. */
const MAX_ASIDE_MS = 5_000;
/** How long its response may go on after that. */
const LINGER_MS = 200;

/** The requests of one session that expect no answer: notifications, answers to the server, goodbyes. */
export class Asides {
  readonly #wire: HttpWire;
  readonly #onError: (error: Error) => void;
  /** Ends each of them. */
  readonly #open = new Set<() => void>();

  constructor(wire: HttpWire, onError: (error: Error) => void) {
    this.#wire = wire;
    this.#onError = onError;
  }

  /**
   * Over when the server took it, when that failed, or when it takes too long. Nobody waits for its
   * response to end, and none may hold a connection for good.
   */
  send(
    { hadSession }: { readonly hadSession: boolean },
    start: (events: HttpExchangeEvents) => HttpRequestHandler,
  ): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        stopTimer();
        this.#open.delete(giveUp);
        resolve();
      };
      const giveUp = () => {
        exchange.stop();
        end();
      };
      const fail = (error: Error) => {
        giveUp();
        this.#onError(error);
      };
      let stopTimer = this.#wire.clock.after(MAX_ASIDE_MS, giveUp);
      this.#open.add(giveUp);
      const exchange = start({
        onBroken: (error) => fail(toConnectionFailure(error, true, this.#wire)),
        onHead: (status, headers) => {
          if (status > 299) return this.#wire.readFailure({ status, headers, hadSession }, fail);
          resolve();
          stopTimer();
          stopTimer = this.#wire.clock.after(LINGER_MS, giveUp);
          return { data: () => undefined, end };
        },
      });
    });
  }

  giveUp(): void {
    for (const giveUp of this.#open) giveUp();
  }
}
