import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { isPlainObject } from "../json/json.js";
import { readBody } from "./http-listener.js";

/** An HTTP request as the test server received it. */
export interface ReceivedRequest {
  readonly httpMethod: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** JSON-RPC method; `undefined` for responses, GET and DELETE. */
  readonly method: string | undefined;
  readonly tool: string | undefined;
  readonly body: unknown;
}

export async function parseReceived(request: IncomingMessage): Promise<ReceivedRequest> {
  const body = parseJson(await readBody(request));
  const message = isPlainObject(body) ? body : {};
  const params = isPlainObject(message["params"]) ? message["params"] : {};
  const method = typeof message["method"] === "string" ? message["method"] : undefined;
  const tool = method === "tools/call" && typeof params["name"] === "string" ? params["name"] : undefined;
  return {
    httpMethod: request.method ?? "",
    url: request.url ?? "",
    headers: request.headers,
    method,
    tool,
    body,
  };
}

function parseJson(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** An HTTP request that `intercept` may respond to. */
export interface InterceptedRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The parsed body; the stream of `request` is already consumed. */
  readonly body: unknown;
}
