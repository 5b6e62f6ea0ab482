import type { ServerResponse } from "node:http";
import type { z } from "zod";
import { assertObject, option, parseOptions, strictObject } from "../config/parse-options.js";
import { hasMethod, type ReceivedRequest } from "./http-listener.js";

/** The types of faults, each with its other fields. */
const FAULT_FIELDS = {
  /** Delays the handling of the request. */
  delay: {
    /** The delay in milliseconds. */
    ms: option.milliseconds,
  },
  /** Accepts the request and never responds; the tool does not run. */
  hang: {},
  /** Drops the connection. */
  disconnect: {
    /** Before the tool runs, in the middle of the response, or right after it. */
    when: option.oneOf("before", "during", "after"),
  },
  /** Responds with an HTTP status; the tool does not run. */
  status: {
    /** The HTTP status. */
    status: option.count,
    /**
     * The headers of the response.
     * @default none
     */
    headers: option.any<Readonly<Record<string, string>>>(),
    /**
     * The body of the response.
     * @default an empty body
     */
    body: option.string.optional(),
  },
  /** Responds with 200 and an HTML page; the tool does not run. */
  html: {},
  /** Sends the correct response with another content type. */
  "content-type": {
    /** The value of the `Content-Type` header. */
    value: option.string,
  },
  /** Truncates the JSON of the response in the middle. */
  "invalid-json": {},
  /** Sends the response with the id of another request. */
  "wrong-id": {},
  /** Responds with JSON that is not a JSON-RPC message. */
  "not-json-rpc": {},
  /** Ends the stream without a response. */
  "no-response": {},
  /** Sends the response one byte at a time. */
  trickle: {
    /** The time between two bytes in milliseconds. */
    everyMs: option.milliseconds,
  },
  /** Responds with one large text block. */
  oversized: {
    /** The length of the text. */
    bytes: option.count,
  },
  /** Replaces the result. */
  result: {
    /** The `result` of the JSON-RPC response; it need not be valid. */
    result: option.any(),
  },
};

type FaultFields = typeof FAULT_FIELDS;
type FaultOf<Type extends string, Fields extends z.ZodRawShape> = Readonly<
  z.input<z.ZodObject<{ type: z.ZodLiteral<Type> } & Fields>>
>;

/** A fault that the test server applies to a request. */
export type Fault = { [Type in keyof FaultFields]: FaultOf<Type, FaultFields[Type]> }[keyof FaultFields];

/** Throws kind `invalid-config` for a fault that would have no effect, or another one because of a misspelled field. */
export function assertFault(fault: Fault): void {
  const subject = "The fault";
  const { type } = assertObject(fault, { subject });
  parseOptions(option.oneOf(...Object.keys(FAULT_FIELDS)), type, { subject, path: "type" });
  parseOptions(strictObject({ type: option.any(), ...FAULT_FIELDS[type] }), fault, { subject });
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
