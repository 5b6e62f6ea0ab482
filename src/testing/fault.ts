import type { ServerResponse } from "node:http";
import { assertObject, option, parseOptions } from "../config/parse-options.js";
import { hasMethod, type ReceivedRequest } from "./http-listener.js";

/** A fault that the test server applies to a request. */
export type Fault =
  | {
      /** Delays the handling of the request. */
      readonly type: "delay";
      /** The delay in milliseconds. */
      readonly ms: number;
    }
  | {
      /** Accepts the request and never responds; the tool does not run. */
      readonly type: "hang";
    }
  | {
      /** Drops the connection. */
      readonly type: "disconnect";
      /** Before the tool runs, in the middle of the response, or right after it. */
      readonly when: "before" | "during" | "after";
    }
  | {
      /** Responds with an HTTP status; the tool does not run. */
      readonly type: "status";
      /** The HTTP status. */
      readonly status: number;
      /**
       * The headers of the response.
       * @default none
       */
      readonly headers?: Readonly<Record<string, string>>;
      /**
       * The body of the response.
       * @default an empty body
       */
      readonly body?: string;
    }
  | {
      /** Responds with 200 and an HTML page; the tool does not run. */
      readonly type: "html";
    }
  | {
      /** Sends the correct response with another content type. */
      readonly type: "content-type";
      /** The value of the `Content-Type` header. */
      readonly value: string;
    }
  | {
      /** Truncates the JSON of the response in the middle. */
      readonly type: "invalid-json";
    }
  | {
      /** Sends the response with the id of another request. */
      readonly type: "wrong-id";
    }
  | {
      /** Responds with JSON that is not a JSON-RPC message. */
      readonly type: "not-json-rpc";
    }
  | {
      /** Ends the stream without a response. */
      readonly type: "no-response";
    }
  | {
      /** Sends the response one byte at a time. */
      readonly type: "trickle";
      /** The time between two bytes in milliseconds. */
      readonly everyMs: number;
    }
  | {
      /** Responds with one large text block. */
      readonly type: "oversized";
      /** The length of the text. */
      readonly bytes: number;
    }
  | {
      /** Replaces the result. */
      readonly type: "result";
      /** The `result` of the JSON-RPC response; it need not be valid. */
      readonly result: unknown;
    };

/** The types of faults. A record, so that none can be missing. */
const FAULT_TYPES: Readonly<Record<Fault["type"], true>> = {
  delay: true,
  hang: true,
  disconnect: true,
  status: true,
  html: true,
  "content-type": true,
  "invalid-json": true,
  "wrong-id": true,
  "not-json-rpc": true,
  "no-response": true,
  trickle: true,
  oversized: true,
  result: true,
};

/** Throws kind `invalid-config` for a fault that would have no effect. */
export function assertFault(fault: Fault): void {
  const subject = "The fault";
  assertObject(fault, { subject });
  parseOptions(option.oneOf(...Object.keys(FAULT_TYPES)), fault.type, { subject, path: "type" });
  if (fault.type === "disconnect")
    parseOptions(option.oneOf("before", "during", "after"), fault.when, { subject, path: "when" });
}

/** Selects the requests that a fault applies to. */
export interface FaultTarget {
  /**
   * HTTP method or JSON-RPC method.
   * @default every request
   */
  readonly method?: string;
  /**
   * The name of the called tool.
   * @default every request
   */
  readonly tool?: string;
  /**
   * How many matching requests are affected.
   * @default unlimited
   */
  readonly times?: number;
}

/** A fault that was added to a server. */
export interface ArmedFault {
  readonly fault: Fault;
  readonly target: FaultTarget;
  /** How many more requests are affected. */
  remaining: number;
}

/** Takes the first fault that applies to the request from those that were added. */
export function takeFault(faults: Set<ArmedFault>, request: ReceivedRequest): Fault | undefined {
  for (const armed of faults) {
    const { method = request.httpMethod, tool = request.tool } = armed.target;
    if (!hasMethod(request, method) || tool !== request.tool) continue;
    armed.remaining -= 1;
    if (armed.remaining <= 0) faults.delete(armed);
    return armed.fault;
  }
  return undefined;
}

/** Returns true if the fault itself is the response; otherwise, the request is handled after this. */
export async function applyFault(fault: Fault, response: ServerResponse): Promise<boolean> {
  if (fault.type === "hang") return true;
  if (fault.type === "delay") {
    await new Promise((resolve) => setTimeout(resolve, fault.ms));
    return false;
  }
  if (fault.type === "status") {
    response.writeHead(fault.status, fault.headers ?? {}).end(fault.body ?? "");
    return true;
  }
  if (fault.type === "html") {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    return true;
  }
  if (fault.type === "disconnect" && fault.when === "before") {
    response.socket?.destroy();
    return true;
  }
  changeResponse(response, fault);
  return false;
}

type ResponseFault = Exclude<Fault, { readonly type: "delay" | "hang" | "status" | "html" }>;

/**
 * Changes the response that the SDK server writes. Only the chunk with the JSON-RPC response is
 * changed; earlier events of a stream pass unchanged.
 */
function changeResponse(response: ServerResponse, fault: ResponseFault): void {
  const write = response.write.bind(response) as (chunk: string) => boolean;
  const end = response.end.bind(response) as (chunk?: string) => ServerResponse;
  const writeHead = response.writeHead.bind(response);
  let hasResponded = false;

  response.writeHead = ((status: number, headers: Record<string, string> = {}) => {
    const contentType = fault.type === "content-type" ? { "content-type": fault.value } : {};
    const { "content-length": _, ...rest } = lowerCase(headers);
    return writeHead(status, { ...rest, ...contentType });
  }) as typeof response.writeHead;

  const respond = (text: string): void => {
    hasResponded = true;
    const changed = changeText(text, fault);
    if (fault.type === "trickle") trickle(response, text, fault.everyMs, write);
    else if (changed !== "") write(changed);
    if (fault.type !== "disconnect") return;
    const disconnect = () => void setImmediate(() => response.socket?.destroy());
    if (fault.when === "during") disconnect();
    else response.once("finish", disconnect);
  };

  const handleChunk = (chunk: unknown): void => {
    const text = toText(chunk);
    if (!hasResponded && /"(?:result|error)":/.test(text)) respond(text);
    else if (text !== "") write(text);
  };
  response.write = ((chunk: unknown) => {
    handleChunk(chunk);
    return true;
  }) as typeof response.write;
  response.end = ((chunk?: unknown) => {
    if (chunk !== undefined && typeof chunk !== "function") handleChunk(chunk);
    const isDisconnected = fault.type === "disconnect" && fault.when === "during";
    if (hasResponded && (isDisconnected || fault.type === "trickle")) return response;
    return end();
  }) as typeof response.end;
}

/** Returns what is sent instead of the text of a response. */
function changeText(text: string, fault: ResponseFault): string {
  switch (fault.type) {
    case "disconnect":
      return fault.when === "during" ? text.slice(0, text.length / 2) : text;
    case "content-type":
    case "trickle":
      return text;
    case "oversized":
      return replaceResult(text, { content: [{ type: "text", text: "x".repeat(fault.bytes) }] });
    case "invalid-json":
      return replaceJson(text, (json) => json.slice(0, json.length / 2));
    case "wrong-id":
      return replaceJson(text, (json) => JSON.stringify({ ...(JSON.parse(json) as object), id: 987_654 }));
    case "not-json-rpc":
      return replaceJson(text, () => JSON.stringify({ weather: "fine" }));
    case "no-response":
      return "";
    case "result":
      return replaceResult(text, fault.result);
  }
}

function trickle(
  response: ServerResponse,
  text: string,
  everyMs: number,
  write: (chunk: string) => boolean,
): void {
  let sent = 0;
  const timer = setInterval(() => {
    if (sent < text.length) write(text[sent++] ?? "");
    else response.destroy();
  }, everyMs);
  response.once("close", () => clearInterval(timer));
}

/** Replaces the JSON of a response, which is the whole body or the data of an SSE event. */
function replaceJson(text: string, replace: (json: string) => string): string {
  return text.replace(/\{.*\}/s, replace);
}

function replaceResult(text: string, result: unknown): string {
  return replaceJson(text, (json) => {
    const { error: _, ...message } = JSON.parse(json) as Record<string, unknown>;
    return JSON.stringify({ ...message, result });
  });
}

function toText(chunk: unknown): string {
  if (typeof chunk === "string") return chunk;
  return chunk instanceof Uint8Array ? Buffer.from(chunk).toString("utf8") : "";
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
