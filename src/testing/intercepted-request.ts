import type { IncomingMessage, ServerResponse } from "node:http";

/** One HTTP request that waits for its answer. */
export interface InterceptedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Has been read already. */
  readonly body: unknown;
}
