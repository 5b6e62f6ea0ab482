import { assertObject } from "../config/assert-object.js";

/** A fault that the test server applies to a request. */
export type Fault =
  /** Delays the handling of the request. */
  | { readonly type: "delay"; readonly ms: number }
  /** Accepts the request and never responds; the tool does not run. */
  | { readonly type: "hang" }
  /** Drops the connection before the tool runs, in the middle of the response, or right after it. */
  | { readonly type: "disconnect"; readonly when: "before" | "during" | "after" }
  /** Responds with this HTTP status; the tool does not run. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Responds with 200 and an HTML page; the tool does not run. */
  | { readonly type: "html" }
  /** Sends the correct response with another content type. */
  | { readonly type: "content-type"; readonly value: string }
  /** Truncates the JSON of the response in the middle. */
  | { readonly type: "invalid-json" }
  /** Sends the response with the id of another request. */
  | { readonly type: "wrong-id" }
  /** Responds with JSON that is not a JSON-RPC message. */
  | { readonly type: "not-json-rpc" }
  /** Ends the stream without a response. */
  | { readonly type: "no-response" }
  /** Sends the response one byte at a time. */
  | { readonly type: "trickle"; readonly everyMs: number }
  /** Responds with a text block of this many bytes. */
  | { readonly type: "oversized"; readonly bytes: number }
  /** Replaces the result. */
  | { readonly type: "result"; readonly result: unknown };

/** Selects the requests that a fault applies to. */
export interface FaultTarget {
  /**
   * HTTP method or JSON-RPC method.
   * @default every request
   */
  readonly method?: string;
  readonly tool?: string;
  /**
   * How many matching requests are affected.
   * @default unlimited
   */
  readonly times?: number;
}

export interface FaultRequest {
  readonly httpMethod: string;
  readonly method: string | undefined;
  readonly tool: string | undefined;
}

interface ArmedFault {
  readonly fault: Fault;
  readonly target: FaultTarget;
  remaining: number;
}

/** The active faults, in the order they were added. The first match is applied. */
export class FaultQueue {
  readonly #armed = new Set<ArmedFault>();

  /** Adds a fault and returns a function that removes it. */
  add(fault: Fault, target: FaultTarget): () => void {
    assertObject(fault, { subject: "The fault" });
    const { times = Number.POSITIVE_INFINITY } = assertObject(target, {
      subject: "The fault",
      path: "target",
    });
    const armed: ArmedFault = { fault, target, remaining: times };
    this.#armed.add(armed);
    return () => this.#armed.delete(armed);
  }

  clear(): void {
    this.#armed.clear();
  }

  next(subject: FaultRequest): Fault | undefined {
    for (const armed of this.#armed) {
      if (!matches(armed.target, subject)) continue;
      armed.remaining -= 1;
      if (armed.remaining <= 0) this.#armed.delete(armed);
      return armed.fault;
    }
    return undefined;
  }
}

function matches({ method, tool }: FaultTarget, request: FaultRequest): boolean {
  if (method !== undefined && method !== request.method && method !== request.httpMethod) return false;
  return tool === undefined || tool === request.tool;
}
