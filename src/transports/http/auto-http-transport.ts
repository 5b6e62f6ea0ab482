import { CancelScope } from "../../async/cancel-scope.js";
import { withDeadline } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { AUTH_AND_RATE_STATUSES } from "./modern-era.js";
import type { McpHttpClientOptions } from "./mcp-http-client.js";
import { getLocalError, isRequest, type RequestId, toLocalErrorResponse } from "../json-rpc.js";
import { SseTransport } from "./sse-transport.js";
import { StreamableHttpTransport } from "./streamable-http-transport.js";

/** The transport that was detected for a server; shared by all its sessions. */
interface DetectedTransport {
  /** The server supports only SSE at this URL, not Streamable HTTP. */
  isSse: boolean;
}

interface AutoHttpOptions extends McpHttpClientOptions {
  readonly detected: DetectedTransport;
  /** How long an SSE server may take to send its endpoint, which is its first event. */
  readonly endpointTimeoutMs: number;
}

const METHOD_NOT_ALLOWED = 405;

/**
 * A GET that fails with one of these did not reach an SSE server. Other failures are inconclusive: the
 * server may be down, slow or require authorization.
 */
const NOT_SSE_KINDS: ReadonlySet<FailureKind> = new Set([
  "invalid-request",
  "not-found",
  "invalid-response",
  "too-large",
  "server-error",
]);

interface InitializeRequest {
  readonly message: JsonRpcMessage & { readonly id: RequestId };
  readonly options: SendOptions | undefined;
}

/**
 * Streamable HTTP with a fallback to SSE at the same URL for older servers. An SSE server is detected
 * during `initialize`: it rejects the POST, and its GET opens an event stream. The result is kept for
 * later sessions until the GET no longer opens a stream. When both fail, the first failure is reported
 * and the second is appended as a hint.
 */
export class AutoHttpTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: AutoHttpOptions;
  readonly #closed = new CancelScope();
  #active: MessageTransport;
  /** Why SSE, which was detected by an earlier session, no longer works. */
  #sseFailure: McpRuntimeError | undefined;
  #initialize: InitializeRequest | undefined;

  constructor(options: AutoHttpOptions) {
    this.#options = options;
    this.#active = new StreamableHttpTransport(options);
    this.#bind(this.#active, (message) => this.#onInitializeResponse(message));
  }

  get sessionId(): string | undefined {
    return this.#active.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#active.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    if (!this.#options.detected.isSse) return;
    try {
      await this.#startSse();
    } catch (error) {
      if (!isNotSse(error)) throw error;
      this.#options.detected.isSse = false;
      this.#sseFailure = error;
    }
  }

  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    if (message.method === "initialize" && isRequest(message)) this.#initialize = { message, options };
    return this.#active.send(message, options);
  }

  mayHaveBeenSent(id: RequestId): boolean {
    return this.#active.mayHaveBeenSent?.(id) ?? true;
  }

  async openServerStream(): Promise<void> {
    await this.#active.openServerStream?.();
  }

  async terminateSession(): Promise<void> {
    await this.#active.terminateSession?.();
  }

  async close(): Promise<void> {
    const { server } = this.#options;
    this.#closed.cancel(
      new McpRuntimeError("closed", `The session with "${server}" was closed.`, { server }),
    );
    await this.#active.close();
  }

  /** Forwards the events of a transport while it is the active one; closing another one is silent. */
  #bind(transport: MessageTransport, onMessage: (message: JsonRpcMessage) => void): void {
    transport.onmessage = (message) => {
      if (this.#active === transport) onMessage(message);
    };
    transport.onerror = (error) => {
      if (this.#active === transport) this.onerror?.(error);
    };
    transport.onclose = () => {
      if (this.#active === transport) this.onclose?.();
    };
  }

  /** Handles the messages of Streamable HTTP until the response to `initialize` has arrived. */
  #onInitializeResponse(message: JsonRpcMessage): void {
    const initialize = this.#initialize;
    if (message.id !== initialize?.message.id || message.method !== undefined || initialize === undefined) {
      this.onmessage?.(message);
      return;
    }
    this.#active.onmessage = (later) => this.onmessage?.(later);
    const failure = getLocalError(message.error?.data)?.reason;
    if (mayBeSse(failure)) void this.#fallBack(initialize, failure);
    else this.onmessage?.(message);
  }

  async #fallBack({ message, options }: InitializeRequest, rejection: McpRuntimeError): Promise<void> {
    try {
      await this.#switchToSse(rejection);
      await this.#active.send(message, options);
    } catch (error) {
      this.onmessage?.(toLocalErrorResponse(message.id, error));
    }
  }

  async #switchToSse(rejection: McpRuntimeError): Promise<void> {
    if (this.#sseFailure !== undefined) throw withHint(this.#sseFailure, "POST", rejection);
    try {
      await this.#startSse();
    } catch (error) {
      throw isNotSse(error) ? withHint(rejection, "GET", error) : error;
    }
    this.#options.detected.isSse = true;
  }

  async #startSse(): Promise<void> {
    const { server, clock, endpointTimeoutMs: ms } = this.#options;
    const sse = new SseTransport(this.#options);
    const createError = () => {
      const problem = sse.isStreaming ? "did not send an endpoint event" : "did not respond to the GET";
      const text = `Server "${server}" ${problem} within ${ms} ms.`;
      return new McpRuntimeError(sse.isStreaming ? "invalid-response" : "timeout", text, { server });
    };
    this.#bind(sse, (message) => this.onmessage?.(message));
    try {
      await withDeadline({ ms, clock, cancellation: this.#closed, createError }, (limited) =>
        limited.race(sse.start()),
      );
      this.#active = sse;
    } catch (error) {
      await sse.close();
      throw error;
    }
  }
}

/**
 * An SSE server rejects a POST to this URL with almost any 4xx status. A server that responds with a
 * JSON-RPC error has parsed the message, so it is not one.
 */
function mayBeSse(failure: unknown): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError) || failure.status === undefined) return false;
  const { status, code } = failure;
  if (status === METHOD_NOT_ALLOWED) return true;
  return status >= 400 && status < 500 && code === undefined && !AUTH_AND_RATE_STATUSES.has(status);
}

function isNotSse(error: unknown): error is McpRuntimeError {
  return error instanceof McpRuntimeError && NOT_SSE_KINDS.has(error.kind);
}

function withHint(first: McpRuntimeError, method: "GET" | "POST", second: McpRuntimeError): McpRuntimeError {
  const transport = method === "GET" ? "The older SSE transport" : "Streamable HTTP";
  const outcome = second.status === undefined ? second.message : `${method} returned HTTP ${second.status}.`;
  const message = `${first.message} ${transport} was also tried: ${outcome}`;
  return first.with({ message, cause: first.cause ?? second });
}
