import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import { type HttpErrorContext, fromHttpStatus } from "../http/http-errors.js";
import {
  isRequest,
  invalidResponseError,
  type RequestId,
  classifyMessage,
  toLocalErrorResponse,
  toJsonText,
} from "../json-rpc.js";
import type { LambdaFunction } from "./lambda-function.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";

interface LambdaTransportOptions extends HttpErrorContext {
  readonly clock: Clock;
}

const NOTIFICATION_TIMEOUT_MS = 5_000;

/**
 * A server in a Lambda function: every message is a separate invocation, and the payload that the function
 * returns is the response. There is no session, and the server cannot send messages on its own.
 */
export class LambdaTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly canReceiveUnsolicited = false;
  readonly #function: LambdaFunction;
  readonly #options: LambdaTransportOptions;
  readonly #requests = new Map<RequestId, AbortController>();
  readonly #notifications = new Set<AbortController>();
  #isClosed = false;

  constructor(lambdaFunction: LambdaFunction, options: LambdaTransportOptions) {
    this.#function = lambdaFunction;
    this.#options = options;
  }

  async start(): Promise<void> {
    // Nothing to open: the first request opens a connection.
  }

  async send(message: JsonRpcMessage): Promise<void> {
    const text = toJsonText(message, this.#options.server);
    if (isRequest(message)) void this.#request(message.id, text);
    // A running invocation cannot be reached: sending the notification would start another one.
    else if (message.method === "notifications/cancelled") this.#cancel(message.params?.["requestId"]);
    else await this.#notify(text);
  }

  mayHaveBeenSent(id: RequestId): boolean {
    const controller = this.#requests.get(id);
    return controller === undefined || this.#function.wasSent(controller.signal);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const controllers = [...this.#requests.values(), ...this.#notifications];
    this.#requests.clear();
    for (const controller of controllers) controller.abort();
    this.onclose?.();
  }

  async #request(id: RequestId, text: string): Promise<void> {
    const controller = new AbortController();
    this.#requests.set(id, controller);
    const messages = await this.#invoke(id, text, controller.signal);
    // The request was cancelled.
    if (!this.#requests.delete(id)) return;
    for (const message of messages) this.onmessage?.(message);
  }

  /** Returns the response, preceded by the server messages. A failure is returned as an error response. */
  async #invoke(id: RequestId, text: string, signal: AbortSignal): Promise<JsonRpcMessage[]> {
    try {
      const payload = await this.#function.invoke(text, signal);
      const serverMessages: JsonRpcMessage[] = [];
      for (const value of parsePayload(payload, this.#options)) {
        const classified = classifyMessage(value, id);
        if (classified.type === "response") return [...serverMessages, classified.message];
        if (classified.type === "server-message") serverMessages.push(classified.message);
        else throw invalidResponseError(this.#options, classified.reason);
      }
      throw invalidResponseError(this.#options, "it does not contain the response");
    } catch (failure) {
      return [toLocalErrorResponse(id, failure)];
    }
  }

  #cancel(id: unknown): void {
    const controller = this.#requests.get(id as RequestId);
    this.#requests.delete(id as RequestId);
    controller?.abort();
  }

  /** Ignores what the function returns, and aborts the invocation after a timeout. */
  async #notify(text: string): Promise<void> {
    const controller = new AbortController();
    const cancelTimer = this.#options.clock.after(NOTIFICATION_TIMEOUT_MS, () => controller.abort());
    this.#notifications.add(controller);
    try {
      await this.#function.invoke(text, controller.signal);
    } finally {
      cancelTimer();
      this.#notifications.delete(controller);
    }
  }
}

/** The result of a function that was written for API Gateway. */
interface ApiGatewayResponse {
  readonly statusCode: number;
  readonly headers?: unknown;
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

/**
 * Parses the messages in a payload: plain JSON-RPC, or JSON-RPC in the `body` of an API Gateway response.
 *
 * @throws `McpRuntimeError` when the payload is not valid JSON or reports an error status.
 */
function parsePayload(payload: string, context: HttpErrorContext): unknown[] {
  const result = parseJsonTwice(payload, context);
  const value = isApiGatewayResponse(result) ? parseJsonTwice(decodeBody(result, context), context) : result;
  return Array.isArray(value) ? value : [value];
}

function isApiGatewayResponse(value: unknown): value is JsonObject & ApiGatewayResponse {
  return isPlainObject(value) && typeof value["statusCode"] === "number" && value["jsonrpc"] === undefined;
}

function decodeBody(response: ApiGatewayResponse, context: HttpErrorContext): unknown {
  const { statusCode: status, isBase64Encoded } = response;
  const isEncoded = isBase64Encoded === true && typeof response.body === "string";
  const body = isEncoded ? Buffer.from(response.body, "base64").toString("utf8") : response.body;
  if (status >= 200 && status < 300) return body;
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  throw fromHttpStatus(
    { status, headers: lowerCaseHeaders(response), body: text, hadSession: false },
    context,
  );
}

function lowerCaseHeaders({ headers }: ApiGatewayResponse): Record<string, string> {
  const entries = isPlainObject(headers) ? Object.entries(headers) : [];
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

/** Some functions return serialized JSON as a string, so a string result is parsed once more. */
function parseJsonTwice(value: unknown, context: HttpErrorContext): unknown {
  if (typeof value !== "string") return value;
  if (value === "") throw invalidResponseError(context, "it is empty");
  try {
    const inner: unknown = JSON.parse(value);
    return typeof inner === "string" ? JSON.parse(inner) : inner;
  } catch {
    throw invalidResponseError(context, "it is not valid JSON");
  }
}
