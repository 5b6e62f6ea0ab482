import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { printValue } from "../../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, tryParseJson } from "../../json/json.js";
import { AddressGuard } from "../../net/address-guard.js";
import { type HttpErrorContext, fromHttpStatus } from "../http/http-errors.js";
import {
  describeOtherResponse,
  invalidResponseError,
  isResponse,
  isResponseTo,
  isServerMessage,
  isTooDeep,
  NOT_JSON_RPC,
  type RpcRequest,
  TOO_DEEP,
  toJsonText,
  toMessages,
  UnreadableMessage,
} from "../json-rpc.js";
import { BaseTransport, type PendingRequest, type WireRequest } from "../pending-requests.js";
import type {
  Transport,
  TransportRequestOptions,
  TransportDependencies,
  TransportFactory,
} from "../transport.js";
import { LambdaFunction } from "./lambda-function.js";
import type { ServerAddress, ServerConfig } from "../../config/server-config.js";

interface LambdaTransportOptions extends HttpErrorContext {
  readonly clock: Clock;
}

const NOTIFICATION_TIMEOUT_MS = 5_000;

/** One invocation. */
class LambdaInvocation implements WireRequest {
  readonly controller = new AbortController();
  readonly #function: LambdaFunction;

  constructor(lambdaFunction: LambdaFunction) {
    this.#function = lambdaFunction;
  }

  get wasSent(): boolean {
    return this.#function.wasSent(this.controller.signal);
  }
}

/**
 * A server in a Lambda function: every message is a separate invocation, and the payload that the function
 * returns is the response. There is no session, and the server cannot send messages on its own.
 */
class LambdaTransport extends BaseTransport<LambdaInvocation> implements Transport {
  readonly canReceiveUnsolicited = false;
  readonly #function: LambdaFunction;
  readonly #options: LambdaTransportOptions;
  readonly #notifications = new Set<AbortController>();

  constructor(lambdaFunction: LambdaFunction, options: LambdaTransportOptions) {
    super(options);
    this.#function = lambdaFunction;
    this.#options = options;
  }

  async start(): Promise<void> {
    // Nothing to open: the first request opens a connection.
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    const text = toJsonText(message, this.#options.server);
    const pending = this.pending.add(message, options);
    pending.wire = new LambdaInvocation(this.#function);
    void this.#invoke(pending, text, pending.wire.controller.signal);
    pending.attach();
    return pending.response;
  }

  notify(message: JsonRpcMessage): Promise<void> {
    return this.#notify(toJsonText(message, this.#options.server));
  }

  async close(reason: McpRuntimeError): Promise<void> {
    this.end(({ wire }) => {
      wire?.controller.abort();
      return reason;
    });
    for (const controller of this.#notifications) controller.abort();
  }

  /** A running invocation cannot be reached: sending the notification would start another one. */
  override onCancelled({ wire }: PendingRequest<LambdaInvocation>): void {
    wire?.controller.abort();
  }

  async #invoke(pending: PendingRequest<LambdaInvocation>, text: string, signal: AbortSignal): Promise<void> {
    try {
      const payload = await this.#function.invoke(text, signal);
      for (const value of parsePayload(payload, this.#options)) {
        if (pending.isSettled) return;
        if (isServerMessage(value)) this.pending.receiveServerMessage(value);
        else if (!isResponse(value))
          throw invalidResponseError(
            this.#options,
            value instanceof UnreadableMessage ? value.reason : NOT_JSON_RPC,
          );
        else if (isResponseTo(value, pending.id)) pending.receive(value);
        else throw invalidResponseError(this.#options, describeOtherResponse(value));
      }
      if (!pending.isSettled) throw invalidResponseError(this.#options, "it does not contain the response");
    } catch (failure) {
      pending.reject(failure);
    }
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
  return toMessages(value);
}

function isApiGatewayResponse(value: unknown): value is JsonObject & ApiGatewayResponse {
  if (!isPlainObject(value) || value["jsonrpc"] !== undefined) return false;
  const { statusCode } = value;
  return Number.isInteger(statusCode) && Number(statusCode) >= 100 && Number(statusCode) <= 599;
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
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), printValue(value)]));
}

/** Some functions return serialized JSON as a string, so a string result is parsed once more. */
function parseJsonTwice(value: unknown, context: HttpErrorContext): unknown {
  if (typeof value !== "string") return value;
  if (value === "") throw invalidResponseError(context, "it is empty");
  const outer = parseJson(value, context);
  return typeof outer === "string" ? parseJson(outer, context) : outer;
}

/** Everything that is read from the value later, such as headers, is limited in depth. */
function parseJson(text: string, context: HttpErrorContext): unknown {
  const value = tryParseJson(text);
  if (value === undefined) throw invalidResponseError(context, "it is not valid JSON");
  if (isTooDeep(value)) throw invalidResponseError(context, TOO_DEEP);
  return value;
}

/** All sessions share one AWS client with one connection pool. */
export async function createLambdaFactory(
  config: ServerConfig,
  address: ServerAddress & { readonly kind: "lambda" },
  dependencies: TransportDependencies,
): Promise<TransportFactory> {
  const { name: server, limits, timeouts } = config;
  const { redactor } = dependencies;
  const { connectMs } = timeouts;
  const checkFor = (url: URL) => new AddressGuard(config, url).checkFor(url, "server");
  const options = { server, limits, connectMs, redactor, checkFor };
  const lambdaFunction = await LambdaFunction.load({ ...address, ...options });
  return {
    openTransport: async () =>
      new LambdaTransport(lambdaFunction, { server, origin: address.functionName, ...dependencies }),
    close: () => lambdaFunction.close(),
  };
}
