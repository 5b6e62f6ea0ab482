import type { DispatcherLike } from "../config/http-options.js";
import type { RequestDispatcher } from "./http-request.js";
import type { HttpConnections } from "./http-pool.js";

/** Connections that belong to the caller: used for every way, and never closed. */
export class BorrowedConnections implements HttpConnections {
  readonly #dispatcher: RequestDispatcher;

  constructor(origin: string, lent: DispatcherLike) {
    this.#dispatcher = {
      // A copy of the headers: undici's proxy agent writes into those it is given.
      dispatch: ({ headers, ...request }, handler) =>
        lent.dispatch(
          { ...request, headers: { ...headers }, origin, headersTimeout: 0, bodyTimeout: 0 },
          handler,
        ),
    };
  }

  dispatcherFor(): RequestDispatcher {
    return this.#dispatcher;
  }

  async close(): Promise<void> {
    // Not ours to close.
  }
}
