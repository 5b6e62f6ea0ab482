import { settleWithin } from "../async/clock.js";
import type { InProcessServer, JsonRpcMessage, MessageTransport } from "../config/message-transport.js";
import { hasMethods } from "../config/parse-options.js";
import type { ServerAddress, ServerConfig } from "../config/server-config.js";
import { classifyFailure, isOutcomeUnknown, errorCode } from "../errors/failure-kinds.js";
import { configError, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { describeThrown } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { reportsUnknownSession } from "./http/http-errors.js";
import {
  isTooDeep,
  NOT_JSON_RPC,
  type RequestId,
  type RpcRequest,
  TOO_DEEP,
  UNMATCHED_RESPONSE,
  unprocessableError,
  UnreadableMessage,
} from "./json-rpc.js";
import {
  BaseTransport,
  type BaseTransportOptions,
  type PendingRequest,
  type WireRequest,
} from "./pending-requests.js";
import {
  closedDuringHandshakeError,
  connectionLostError,
  type Transport,
  type TransportDependencies,
  type TransportFactory,
  type TransportRequestOptions,
} from "./transport.js";

/** Transports of the user, and linked transports to a server in this process. They share nothing. */
export function createCustomFactory(
  { name: server }: ServerConfig,
  address: Extract<ServerAddress, { kind: "in-process" | "custom" }>,
  { redactor, clock }: TransportDependencies,
): TransportFactory {
  const open = async () =>
    address.kind === "custom"
      ? assertTransport(await address.open(), server)
      : openInProcess(await address.open());
  return {
    openTransport: async () => new CustomTransport(await open(), { server, redactor, clock }),
    close: async () => undefined,
  };
}

const TRANSPORT_METHODS = ["start", "send", "close"];

/** JavaScript callers can return anything. */
function assertTransport(transport: MessageTransport, server: string): MessageTransport {
  if (hasMethods(transport, ...TRANSPORT_METHODS)) return transport;
  const received = describeValue(transport);
  const message = `expected a transport with ${TRANSPORT_METHODS.join("(), ")}(), got ${received}`;
  throw configError(`Server "${server}"`, [{ path: "openTransport", message }], { server });
}

/** Connects to a server in this process. Each session gets its own pair of linked transports. */
async function openInProcess(server: InProcessServer): Promise<MessageTransport> {
  const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js");
  const [clientEnd, serverEnd] = InMemoryTransport.createLinkedPair();
  await server.connect(serverEnd);
  return clientEnd;
}

const CLOSE_TIMEOUT_MS = 1_000;
const HANDSHAKE_METHODS: ReadonlySet<string> = new Set(["initialize", "server/discover"]);

/** Asks the inner transport whether a request was sent, as long as the inner transport knows the request. */
class CustomRequest implements WireRequest {
  readonly #id: RequestId;
  readonly #inner: MessageTransport;
  #wasSent: boolean | undefined;

  constructor(id: RequestId, inner: MessageTransport) {
    this.#id = id;
    this.#inner = inner;
  }

  get wasSent(): boolean {
    return this.#wasSent ?? this.#inner.mayHaveBeenSent?.(this.#id) ?? true;
  }

  /** Keeps the current status. */
  freeze(): void {
    this.#wasSent = this.wasSent;
  }
}

/**
 * Adapts a transport that only sends and receives messages, such as those of the SDK: matches responses to requests, and
 * guarantees that a request that cannot be sent fails, that there are no unhandled rejections, that closing takes a
 * bounded time, and that `onclose` is called once.
 */
export class CustomTransport extends BaseTransport<CustomRequest> implements Transport {
  readonly #inner: MessageTransport;
  readonly #options: BaseTransportOptions;

  constructor(inner: MessageTransport, options: BaseTransportOptions) {
    super(options);
    this.#inner = inner;
    this.#options = options;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  get canReceiveUnsolicited(): boolean {
    return this.#inner.canReceiveUnsolicited !== false;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion?.(version);
  }

  async start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#onMessage(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => this.#onClose();
    try {
      await this.#inner.start();
    } catch (error) {
      throw this.#toError(error, false);
    }
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    const pending = this.pending.add(message, options);
    pending.wire = new CustomRequest(message.id, this.#inner);
    const { headers, context } = options;
    this.#send(message, { headers, context }).catch((error: unknown) =>
      pending.reject(this.#toError(error, undefined)),
    );
    // The response may have arrived while it was sent.
    pending.attach();
    return pending.response;
  }

  notify(message: JsonRpcMessage): Promise<void> {
    return this.#send(message);
  }

  /** What a transport of the user opens may keep the process alive. */
  get canListenInBackground(): boolean {
    return this.#inner.openServerStream === undefined;
  }

  async openServerStream(): Promise<void> {
    await this.#inner.openServerStream?.();
  }

  async terminateSession(): Promise<void> {
    await this.#inner.terminateSession?.();
  }

  async close(reason: McpRuntimeError): Promise<void> {
    if (this.end(() => reason))
      await settleWithin(CLOSE_TIMEOUT_MS, this.#options.clock, () => this.#inner.close());
  }

  /** A function of the user that throws, rejects. */
  async #send(message: JsonRpcMessage, options?: Parameters<MessageTransport["send"]>[1]): Promise<void> {
    await this.#inner.send(message, options);
  }

  override onCancelled(request: PendingRequest<CustomRequest>): void {
    request.wire?.freeze();
    this.oncancel?.(request.toCancelNotification());
  }

  override onFailure(failure: McpRuntimeError): void {
    this.#closeWith(() => failure, failure);
  }

  #onMessage(message: JsonRpcMessage): void {
    if (this.isClosed) return;
    try {
      const problem = this.#receive(message);
      if (problem !== undefined) this.ignore("", problem);
    } catch (error) {
      this.onFailure(unprocessableError(this.#options, error));
    }
  }

  /** A transport may deliver any value. Returns why it is ignored. */
  #receive(message: JsonRpcMessage): string | undefined {
    if (!isPlainObject(message)) return NOT_JSON_RPC;
    if (isTooDeep(message)) return this.pending.receiveUnreadable(new UnreadableMessage(TOO_DEEP, message));
    if (typeof message.method === "string") {
      this.pending.receiveServerMessage(message);
      return undefined;
    }
    const request = this.pending.get(message.id);
    request?.receive(message);
    return request === undefined ? UNMATCHED_RESPONSE : undefined;
  }

  #onClose(): void {
    const { server } = this.#options;
    this.#closeWith(({ method }) =>
      HANDSHAKE_METHODS.has(method) ? closedDuringHandshakeError(server) : connectionLostError(server),
    );
  }

  #closeWith(
    toReason: (request: PendingRequest<CustomRequest>) => McpRuntimeError,
    failure?: McpRuntimeError,
  ): void {
    if (!this.end(toReason)) return;
    this.onclose?.(failure);
    // It may hold resources that only `close()` releases.
    (async () => this.#inner.close())().catch(() => undefined);
  }

  /**
   * Nothing was sent before the transport started. After that, only an HTTP status or a network error code in the error
   * shows what happened.
   */
  #toError(error: unknown, wasSent: false | undefined): McpRuntimeError {
    if (error instanceof McpRuntimeError) return error;
    const { server, redactor } = this.#options;
    const message = describeThrown(error);
    const status = getHttpStatus(error);
    const kind = classifyFailure({
      status,
      hadSession: this.sessionId !== undefined,
      reportsUnknownSession: reportsUnknownSession(message),
      wasSent,
      networkCodes: getNetworkCodes(error),
    });
    const subject =
      status === undefined
        ? `The transport of server "${server}" failed`
        : `Server "${server}" returned HTTP ${status}`;
    const outcomeUnknown = isOutcomeUnknown(kind);
    const details = { server, status, outcomeUnknown, cause: redactor.redactCause(error) };
    return new McpRuntimeError(kind, `${subject}: ${redactor.excerpt(message)}`, details);
  }
}

/** The SDK's HTTP errors have the status as `code` or in `data.status`. */
function getHttpStatus(error: unknown): number | undefined {
  return [errorCode(error), getProperty(getProperty(error, "data"), "status")].find(isFailureStatus);
}

function isFailureStatus(value: unknown): value is number {
  return typeof value === "number" && value >= 400 && value < 600;
}

/** Global fetch wraps the reason in `cause`, and the errors of several addresses in an `AggregateError`. */
function getNetworkCodes(error: unknown): readonly unknown[] {
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause, ...(cause instanceof AggregateError ? cause.errors : [])].map(errorCode);
}

function getProperty(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
