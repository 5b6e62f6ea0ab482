import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ErrorCode, McpError, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { settleWithin } from "../async/clock.js";
import { CLIENT_INFO, type MessageTransport } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { getLocalError } from "../transports/json-rpc.js";
import { JsonRpcClient } from "./json-rpc-client.js";
import { SafeTransport } from "./safe-transport.js";
import { toCapabilities } from "./server-requests/client-capabilities.js";
import { ServerRequests } from "./server-requests/server-requests.js";
import {
  connectionLostError,
  type ErrorContext,
  fromRpcError,
  fromTransportError,
  sessionClosedError,
  type SessionCloseReason,
} from "./session-errors.js";
import {
  closedDuringHandshakeError,
  type OpenSessionOptions,
  openTransportWithin,
  startAttempt,
} from "./session-options.js";
import type { ServerMetadata, ServerNotification, Session, SessionRequest } from "./session.js";

/** Disables the SDK's timeout: the session has its own deadlines. */
const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;
/** How long to wait for the `initialize` response when the client is closed during the handshake. */
const INITIALIZE_GRACE_MS = 500;

/**
 * Initializes a session: a new SDK client runs the handshake over a new transport and hands the transport
 * to the session. No state of an earlier session is reused, because servers reject `initialize` with a
 * stale session id. After a failure the transport is closed before the error is thrown.
 */
export async function openLegacySession(options: OpenSessionOptions): Promise<Session> {
  const { server, clock } = options;
  const { cancellation: attempt, end: endAttempt } = startAttempt(options);
  let transport: SafeTransport | undefined;
  let observation: InitializeObservation | undefined;
  let connecting: Promise<void> | undefined;
  try {
    const inner = await openTransportWithin(options, attempt);
    transport = wrapTransport(inner, options);
    const sdk = createSdkClient(options);
    observation = observeInitialize(transport, options);
    connecting = sdk.connect(transport, NO_SDK_TIMEOUT);
    await attempt.race(connecting);
    const isResumed = !observation.hasResponse;
    const metadata = isResumed ? options.metadata : observation.toMetadata(sdk);
    // Servers drop requests that they send before the stream is open, and then wait for a response forever.
    if (acceptsServerRequests(options)) await attempt.race(transport.openServerStream());
    // The SDK does not report a transport that closes while `notifications/initialized` is sent.
    if (sdk.transport === undefined) throw closedDuringHandshakeError(server);
    return new LegacySession({ ...options, transport, metadata, isResumed });
  } catch (error) {
    const failure = toHandshakeError(error, options, observation);
    // A late `initialize` response carries the session id that has to be terminated.
    if (options.cancellation.isCancelled) await settleWithin(INITIALIZE_GRACE_MS, clock, () => connecting);
    if (transport !== undefined) await closePartial(transport, observation);
    throw failure;
  } finally {
    endAttempt();
  }
}

function acceptsServerRequests({ handlers }: OpenSessionOptions): boolean {
  return Object.keys(toCapabilities(handlers)).length > 0;
}

function wrapTransport(inner: MessageTransport, options: OpenSessionOptions): SafeTransport {
  const {
    server,
    redactor,
    clock,
    identity,
    handlers,
    maxServerRequests: maxConcurrent,
    onWarning,
    wireIds,
  } = options;
  const serverRequests = new ServerRequests({ server, identity, handlers, maxConcurrent, onWarning });
  const toError = (error: unknown, phase: "start" | "send") =>
    fromTransportError(error, phase, { server, redactor, hasSession: inner.sessionId !== undefined });
  return new SafeTransport(inner, {
    clock,
    serverRequests,
    wireIds,
    toError,
    initializeMeta: options.handshakeMeta,
  });
}

function createSdkClient({ handlers, onNotification, onError }: OpenSessionOptions): Client {
  // The SDK's validator compiles schemas with ajv, 2 ms each; results are validated elsewhere.
  const acceptEverything = {
    getValidator: () => (input: unknown) => ({ valid: true, data: input }) as never,
  };
  const capabilities = toCapabilities(handlers);
  const sdk = new Client(CLIENT_INFO, { capabilities, jsonSchemaValidator: acceptEverything });
  sdk.fallbackNotificationHandler = async ({ method, params }) =>
    onNotification({ method, params: params ?? {} });
  sdk.onerror = onError;
  return sdk;
}

interface InitializeObservation {
  readonly hasResponse: boolean;
  /** The protocol version in the response, if there was one. */
  readonly version: string | undefined;
  toMetadata(sdk: Client): ServerMetadata | undefined;
}

/** The id of the SDK's first request. */
const INITIALIZE_ID = 0;

/** Reads the `initialize` response, since the SDK exposes neither its version nor its error. */
function observeInitialize(
  transport: SafeTransport,
  { onInitializeRejected }: OpenSessionOptions,
): InitializeObservation {
  let version: string | undefined;
  let hasResponse = false;
  transport.onmessage = (message) => {
    if (hasResponse || !isInitializeResponse(message)) return;
    hasResponse = true;
    const protocolVersion = isPlainObject(message.result) ? message.result["protocolVersion"] : undefined;
    if (typeof protocolVersion === "string") version = protocolVersion;
    const { error } = message;
    const isRejected = isPlainObject(error) && getLocalError(error.data) === undefined;
    if (isRejected && transport.sessionId === undefined)
      onInitializeRejected?.(error.code, () => transport.detach());
  };
  return {
    get hasResponse() {
      return hasResponse;
    },
    get version() {
      return version;
    },
    toMetadata(sdk) {
      const serverInfo = sdk.getServerVersion();
      if (serverInfo === undefined || version === undefined) return undefined;
      const { name, version: serverVersion, title } = serverInfo;
      return {
        serverInfo: { name, version: serverVersion, title },
        capabilities: sdk.getServerCapabilities() ?? {},
        instructions: sdk.getInstructions(),
        protocolVersion: version,
      };
    },
  };
}

/** Compares ids as strings, because some servers return numeric ids as strings. */
function isInitializeResponse(message: unknown): boolean {
  return (
    isPlainObject(message) && message["method"] === undefined && String(message["id"]) === `${INITIALIZE_ID}`
  );
}

function toHandshakeError(
  error: unknown,
  { server, redactor }: OpenSessionOptions,
  observation: InitializeObservation | undefined,
): unknown {
  const version = observation?.version;
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
    return new McpRuntimeError(
      "unsupported-protocol",
      `Server "${server}" supports MCP ${excerpt(redactor.redact(version))}; this client supports ${SUPPORTED_PROTOCOL_VERSIONS.join(", ")}.`,
      { server, cause: redactor.redactCause(error) },
    );
  }
  if (error instanceof z.core.$ZodError) {
    return new McpRuntimeError(
      "invalid-response",
      `Server "${server}" returned an invalid initialize result.`,
      {
        server,
        cause: redactor.redactCause(error),
      },
    );
  }
  const failure = fromSdkError(error, closedDuringHandshakeError(server), { server, redactor });
  // The request that needs the session has not been sent.
  return failure instanceof McpRuntimeError ? failure.with({ outcomeUnknown: false }) : failure;
}

/** Closes the transport and terminates the session that the server may just have created. */
async function closePartial(
  transport: SafeTransport,
  observation: InitializeObservation | undefined,
): Promise<void> {
  if (observation?.hasResponse === true) await transport.terminateSession();
  await transport.close();
}

interface LegacySessionOptions extends ErrorContext {
  /** The transport over which the handshake ran. */
  readonly transport: SafeTransport;
  readonly metadata: ServerMetadata | undefined;
  readonly isResumed: boolean;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onError: (error: Error) => void;
  /** The transport closed unexpectedly. */
  readonly onDisconnected: () => void;
}

/** A session that was opened with `initialize` and that the server may lose. */
class LegacySession implements Session {
  readonly metadata: ServerMetadata | undefined;
  readonly isResumed: boolean;
  readonly #server: string;
  readonly #transport: SafeTransport;
  readonly #rpc: JsonRpcClient;
  #isConfirmed: boolean;
  #inFlight = 0;
  #closeReason: SessionCloseReason | undefined;

  constructor(options: LegacySessionOptions) {
    const { server, transport, metadata, isResumed, onError, onDisconnected } = options;
    this.metadata = metadata;
    this.isResumed = isResumed;
    this.#isConfirmed = !isResumed;
    this.#server = server;
    this.#transport = transport;
    this.#rpc = new JsonRpcClient(options);
    transport.onerror = onError;
    transport.onclose = () => {
      const isUnexpected = this.#closeReason === undefined;
      this.#closeReason ??= "disconnected";
      this.#rpc.rejectAll(connectionLostError(server, this.#closeReason));
      if (isUnexpected) onDisconnected();
    };
  }

  get id(): string | undefined {
    return this.#transport.sessionId;
  }

  get isConfirmed(): boolean {
    return this.#isConfirmed;
  }

  get isAlive(): boolean {
    return this.#closeReason === undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async request(request: SessionRequest): Promise<JsonObject> {
    request.cancellation.throwIfCancelled();
    if (this.#closeReason !== undefined) throw sessionClosedError(this.#server, this.#closeReason);
    this.#inFlight += 1;
    try {
      const result = await this.#rpc.request(request);
      this.#isConfirmed = true;
      return result;
    } finally {
      this.#inFlight -= 1;
      if (this.#closeReason === "draining" && this.#inFlight === 0) void this.#transport.close();
    }
  }

  openServerStream(): Promise<void> {
    return this.#transport.openServerStream();
  }

  drain(): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = "draining";
    if (this.#inFlight === 0) void this.#transport.close();
  }

  async close({ terminate }: { readonly terminate: boolean }): Promise<void> {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = "closed";
    this.#transport.cancelServerRequests();
    if (terminate) await this.#transport.terminateSession();
    await this.#transport.close();
  }
}

/** The SDK uses this code for a closed transport; servers use it for other errors. */
const CONNECTION_CLOSED: number = ErrorCode.ConnectionClosed;

/**
 * Converts an error of the SDK. `closeError` replaces the SDK's generic error for a closed transport; a
 * local error that was passed through the SDK is returned unchanged.
 */
function fromSdkError(
  error: unknown,
  closeError: McpRuntimeError | undefined,
  { server, redactor, method }: ErrorContext,
): unknown {
  if (error instanceof McpRuntimeError) return error;
  if (!(error instanceof McpError)) return closeError ?? unexpectedError(error, { server, redactor });
  const localFailure = getLocalError(error.data);
  if (localFailure !== undefined) return localFailure.reason;
  if (error.code === CONNECTION_CLOSED && closeError !== undefined) return closeError;
  const message = error.message.replace(/^MCP error -?\d+: /, "");
  return fromRpcError({ code: error.code, message }, { server, redactor, method }, error);
}

function unexpectedError(error: unknown, { server, redactor }: ErrorContext): McpRuntimeError {
  const message = redactor.redact(String(error));
  return new McpRuntimeError("invalid-response", `Unexpected error with server "${server}": ${message}`, {
    server,
    cause: redactor.redactCause(error),
    outcomeUnknown: true,
  });
}
