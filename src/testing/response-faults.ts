import type { ServerResponse } from "node:http";
import type { Fault } from "./fault.js";

type ResponseFault = Extract<
  Fault,
  {
    type:
      | "disconnect"
      | "content-type"
      | "invalid-json"
      | "wrong-id"
      | "not-json-rpc"
      | "no-response"
      | "trickle"
      | "oversized"
      | "result";
  }
>;

export function isResponseFault(fault: Fault): fault is ResponseFault {
  const types: readonly Fault["type"][] = [
    "content-type",
    "invalid-json",
    "wrong-id",
    "not-json-rpc",
    "no-response",
    "trickle",
    "oversized",
    "result",
  ];
  return types.includes(fault.type) || (fault.type === "disconnect" && fault.when !== "before");
}

/**
 * Changes the response that the SDK server writes. Only the chunk with the JSON-RPC response is
 * changed; earlier events of a stream pass unchanged.
 */
export function applyResponseFault(response: ServerResponse, fault: ResponseFault): void {
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
    switch (fault.type) {
      case "disconnect":
        write(fault.when === "during" ? text.slice(0, text.length / 2) : text);
        if (fault.when === "during") setImmediate(() => response.socket?.destroy());
        else response.once("finish", () => setImmediate(() => response.socket?.destroy()));
        return;
      case "trickle":
        trickle(response, text, fault.everyMs, write);
        return;
      case "oversized":
        write(replaceResult(text, { content: [{ type: "text", text: "x".repeat(fault.bytes) }] }));
        return;
      case "content-type":
        write(text);
        return;
      case "invalid-json":
        write(replaceJson(text, (json) => json.slice(0, json.length / 2)));
        return;
      case "wrong-id":
        write(replaceJson(text, (json) => JSON.stringify({ ...(JSON.parse(json) as object), id: 987_654 })));
        return;
      case "not-json-rpc":
        write(replaceJson(text, () => JSON.stringify({ weather: "fine" })));
        return;
      case "no-response":
        return;
      case "result":
        write(replaceResult(text, fault.result));
        return;
    }
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
