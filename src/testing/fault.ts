import { checkObject } from "../config/assert-object.js";

/** What goes wrong with one request. */
export type Fault =
  /** Waits before the request is handled. */
  | { readonly type: "delay"; readonly ms: number }
  /** Takes the request and never answers; nothing is executed. */
  | { readonly type: "hang" }
  /** Breaks the connection: before anything is executed, in the middle of the answer, or right after it. */
  | { readonly type: "disconnect"; readonly when: "before" | "during" | "after" }
  /** Answers with this status; nothing is executed. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Answers 200 with a page; nothing is executed. */
  | { readonly type: "html" }
  /** The right answer under another content type. */
  | { readonly type: "content-type"; readonly value: string }
  /** The answer ends in the middle of its JSON, as if that were all. */
  | { readonly type: "invalid-json" }
  /** The answer carries another request's id. */
  | { readonly type: "wrong-id" }
  /** The answer is JSON, but nothing that MCP knows. */
  | { readonly type: "not-json-rpc" }
  /** The stream ends without an answer. */
  | { readonly type: "no-response" }
  /** The answer comes a byte at a time. */
  | { readonly type: "trickle"; readonly everyMs: number }
  /** A result with a text of this many bytes. */
  | { readonly type: "oversized"; readonly bytes: number }
  /** This instead of the result. */
  | { readonly type: "result"; readonly result: unknown };

/** Which requests a fault hits. */
export interface FaultTarget {
  /** HTTP method or JSON-RPC method; every request when left out. */
  readonly method?: string;
  readonly tool?: string;
  /** How often; for ever when left out. */
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

/** The faults that wait for their request, in the order they were added. */
export class FaultQueue {
  readonly #armed = new Set<ArmedFault>();

  /** The function that comes back takes it away again. */
  add(fault: Fault, target: FaultTarget): () => void {
    checkObject(fault, { subject: "The fault" });
    const { times = Number.POSITIVE_INFINITY } = checkObject(target, {
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

function matches({ method: on, tool }: FaultTarget, subject: FaultRequest): boolean {
  if (on !== undefined && on !== subject.method && on !== subject.httpMethod) return false;
  return tool === undefined || tool === subject.tool;
}
