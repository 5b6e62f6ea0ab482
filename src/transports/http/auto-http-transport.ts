import { CancelScope } from "../../async/cancel-scope.js";
import { withDeadline } from "../../async/deadline.js";
import type { JsonRpcMessage, MessageTransport, SendOptions } from "../../config/message-transport.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { CALLER_STATUSES } from "./auth-and-rate-statuses.js";
import type { HttpWireOptions } from "./mcp-http-client.js";
import { failureIn, isRequest, type RequestId, toFailureAnswer } from "../json-rpc.js";
import { SseTransport } from "./sse-transport.js";
import { StreamableHttpTransport } from "./streamable-http.js";

/** What was found out about a server, for the sessions to come. */
interface HttpFinding {
  /** It speaks legacy SSE at this address, and no Streamable HTTP. */
  isLegacy: boolean;
}

interface HttpOrSseOptions extends HttpWireOptions {
  readonly finding: HttpFinding;
  /** How long a legacy server may take to name its endpoint, which is the first thing it does. */
  readonly endpointMs: number;
}

const METHOD_NOT_ALLOWED = 405;

/** How a GET ends that finds no legacy server. Other failures say nothing: the server may be down or slow, or want a login. */
const FINDS_NO_STREAM: ReadonlySet<FailureKind> = new Set([
  "invalid-request",
  "not-found",
  "invalid-response",
  "too-large",
  "server-error",
]);

/** The request that opens the session. */
interface Greeting {
  readonly message: JsonRpcMessage & { readonly id: RequestId };
  readonly options: SendOptions | undefined;
}

/**
 * Streamable HTTP, and legacy SSE at the same address for servers that are older than it. What a
 * server speaks shows in the handshake: it refuses the POST, and its GET streams. That is remembered
 * for later sessions, until the GET streams no more. When neither works, the first failure is told,
 * and the second is a hint.
 */
export class AutoHttpTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: HttpOrSseOptions;
  readonly #closed = new CancelScope();
  #way: MessageTransport;
  /** Why the remembered way is none any more. */
  #gone: McpRuntimeError | undefined;
  #greeting: Greeting | undefined;

  constructor(options: HttpOrSseOptions) {
    this.#options = options;
    this.#way = new StreamableHttpTransport(options);
    this.#hear(this.#way, (message) => this.#takeFirst(message));
  }

  get sessionId(): string | undefined {
    return this.#way.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#way.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    if (!this.#options.finding.isLegacy) return;
    try {
      await this.#startLegacy();
    } catch (error) {
      if (!findsNoStream(error)) throw error;
      this.#options.finding.isLegacy = false;
      this.#gone = error;
    }
  }

  send(message: JsonRpcMessage, options?: SendOptions): Promise<void> {
    if (message.method === "initialize" && isRequest(message)) this.#greeting = { message, options };
    return this.#way.send(message, options);
  }

  wasSent(id: RequestId): boolean {
    return this.#way.wasSent?.(id) ?? true;
  }

  async listen(): Promise<void> {
    await this.#way.listen?.();
  }

  async terminateSession(): Promise<void> {
    await this.#way.terminateSession?.();
  }

  async close(): Promise<void> {
    const { server } = this.#options;
    this.#closed.cancel(
      new McpRuntimeError("closed", `The session with "${server}" was closed.`, { server }),
    );
    await this.#way.close();
  }

  /** Only what the way in use says is passed on: one that was tried in vain is closed without a word. */
  #hear(way: MessageTransport, take: (message: JsonRpcMessage) => void): void {
    way.onmessage = (message) => {
      if (this.#way === way) take(message);
    };
    way.onerror = (error) => {
      if (this.#way === way) this.onerror?.(error);
    };
    way.onclose = () => {
      if (this.#way === way) this.onclose?.();
    };
  }

  /** What Streamable HTTP brings until the server has answered the handshake. */
  #takeFirst(message: JsonRpcMessage): void {
    const greeting = this.#greeting;
    if (message.id !== greeting?.message.id || message.method !== undefined || greeting === undefined) {
      this.onmessage?.(message);
      return;
    }
    this.#way.onmessage = (later) => this.onmessage?.(later);
    const failure = failureIn(message.error?.data)?.reason;
    if (mayBeLegacy(failure)) void this.#fallBack(greeting, failure);
    else this.onmessage?.(message);
  }

  async #fallBack({ message, options }: Greeting, refusal: McpRuntimeError): Promise<void> {
    try {
      await this.#becomeLegacy(refusal);
      await this.#way.send(message, options);
    } catch (error) {
      this.onmessage?.(toFailureAnswer(message.id, error));
    }
  }

  async #becomeLegacy(refusal: McpRuntimeError): Promise<void> {
    if (this.#gone !== undefined) throw withHint(this.#gone, "POST", refusal);
    try {
      await this.#startLegacy();
    } catch (error) {
      throw findsNoStream(error) ? withHint(refusal, "GET", error) : error;
    }
    this.#options.finding.isLegacy = true;
  }

  async #startLegacy(): Promise<void> {
    const { server, clock, endpointMs: ms } = this.#options;
    const legacy = new SseTransport(this.#options);
    const expired = () => {
      const what = legacy.isStreaming ? "names no endpoint for messages" : "does not answer the GET";
      const text = `Server "${server}" ${what} within ${ms} ms.`;
      return new McpRuntimeError(legacy.isStreaming ? "invalid-response" : "timeout", text, { server });
    };
    this.#hear(legacy, (message) => this.onmessage?.(message));
    try {
      await withDeadline({ ms, clock, cancellation: this.#closed, expired }, (limited) =>
        limited.race(legacy.start()),
      );
      this.#way = legacy;
    } catch (error) {
      await legacy.close();
      throw error;
    }
  }
}

/**
 * Most 4xx may be an older server's way to say that it takes no POST at this address. Whoever answers
 * a message with a JSON-RPC error has read it, and is no older server.
 */
function mayBeLegacy(failure: unknown): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError) || failure.status === undefined) return false;
  const { status, code } = failure;
  if (status === METHOD_NOT_ALLOWED) return true;
  return status >= 400 && status < 500 && code === undefined && !CALLER_STATUSES.has(status);
}

function findsNoStream(error: unknown): error is McpRuntimeError {
  return error instanceof McpRuntimeError && FINDS_NO_STREAM.has(error.kind);
}

function withHint(first: McpRuntimeError, method: "GET" | "POST", second: McpRuntimeError): McpRuntimeError {
  const transport = method === "GET" ? "The older SSE transport" : "Streamable HTTP";
  const found =
    second.status === undefined ? second.message : `${method} was answered HTTP ${second.status}.`;
  const message = `${first.message} ${transport} was tried as well: ${found}`;
  return first.with({ message, cause: first.cause ?? second });
}
