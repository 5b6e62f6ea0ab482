import { Client } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { CancelScope } from "../async/cancel-scope.js";
import { CLIENT_INFO, type JsonRpcMessage, type MessageTransport } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS, MODERN_VERSION } from "../transports/http/modern-era.js";
import { invalidResponseError } from "../transports/json-rpc.js";
import { DISCOVER_METHOD, toEnvelope } from "./era-detection.js";
import { ModernRpc } from "./modern-rpc.js";
import { ModernSession } from "./modern-session.js";
import { type DetachedTransport, SafeTransport } from "./safe-transport.js";
import { toCapabilities } from "./server-requests/client-capabilities.js";
import { ServerRequests } from "./server-requests/server-requests.js";
import { type ErrorContext, fromTransportError } from "./session-errors.js";
import {
  closedDuringHandshakeError,
  type OpenSessionOptions,
  openTransportWithin,
  startAttempt,
} from "./session-options.js";
import type { ServerMetadata, Session } from "./session.js";

/** Opens a session with a server of the modern era: no handshake, only `server/discover` for its metadata. */
export async function openModernSession(options: OpenSessionOptions): Promise<Session> {
  const { server, redactor, handlers, onNotification } = options;
  const { cancellation: attempt, end: endAttempt } = startAttempt(options);
  let transport: SafeTransport | undefined;
  try {
    const inner = options.startedTransport?.transport ?? (await openTransportWithin(options, attempt));
    const serverRequests = createServerRequests(options);
    transport = new SafeTransport(inner, {
      clock: options.clock,
      serverRequests: { handle: isServerRequest, close: () => serverRequests.close() },
      wireIds: undefined,
      toError: (error, phase) => fromTransportError(error, phase, { server, redactor, hasSession: false }),
    });
    const rpc = new ModernRpc({
      server,
      redactor,
      transport,
      envelope: toEnvelope(handlers),
      onNotification,
    });
    transport.onclose = () => rpc.rejectAll(closedDuringHandshakeError(server));
    transport.onerror = options.onError;
    attempt.throwIfCancelled();
    if (options.startedTransport === undefined) await attempt.race(transport.start());
    else attachStarted(transport, options.startedTransport, server);
    const metadata = await discoverServer(rpc, attempt, options);
    // The server may have responded and closed the connection right away.
    if (transport.isClosed) throw closedDuringHandshakeError(server);
    return new ModernSession({ ...options, transport, rpc, metadata, serverRequests });
  } catch (error) {
    await transport?.close();
    throw error instanceof McpRuntimeError ? error.with({ outcomeUnknown: false }) : error;
  } finally {
    endAttempt();
  }
}

function attachStarted(transport: SafeTransport, { isClosed }: DetachedTransport, server: string): void {
  transport.attach();
  if (isClosed()) throw closedDuringHandshakeError(server);
}

function createServerRequests(options: OpenSessionOptions): ServerRequests {
  const { server, identity, handlers, maxServerRequests, onWarning } = options;
  return new ServerRequests({ server, identity, handlers, maxConcurrent: maxServerRequests, onWarning });
}

/** Modern servers send their requests inside results. A request that comes as a message is ignored. */
function isServerRequest(message: unknown): boolean {
  return isPlainObject(message) && typeof message["method"] === "string" && message["id"] != null;
}

/** Disables the SDK's timeout: the session has its own deadlines. */
const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;

/**
 * Sends `server/discover` with a new client of SDK v2, which writes the request and repeats it in a version
 * that the server offers instead.
 *
 * The result is read from the wire and not from the SDK, because the SDK treats a server with one unknown
 * field in the response as a legacy server and drops fields that it does not know.
 */
async function discoverServer(
  rpc: ModernRpc,
  cancellation: CancelScope,
  options: OpenSessionOptions,
): Promise<ServerMetadata> {
  const transport = new DiscoveryTransport({ rpc, cancellation, handshakeMeta: options.handshakeMeta });
  const connecting = createSdkClient(options).connect(transport, NO_SDK_TIMEOUT);
  const sdkFailure = connecting.then(
    () => undefined,
    (error: unknown) => toDiscoveryError(error, options),
  );
  try {
    // The SDK keeps waiting when it ignores a response.
    const failure = await cancellation.race(Promise.race([sdkFailure, transport.responded]));
    if (transport.result === undefined) throw transport.failure ?? failure;
    return toServerMetadata(transport.result, options);
  } finally {
    transport.disconnectSdk();
  }
}

/** Converts an error of the SDK for the case that the server sent no response. */
function toDiscoveryError(error: unknown, { server, redactor }: OpenSessionOptions): McpRuntimeError {
  const text = `Server "${server}": server/discover failed: ${redactor.redact(String(error))}`;
  return new McpRuntimeError("invalid-response", text, { server, cause: redactor.redactCause(error) });
}

function createSdkClient({ handlers }: OpenSessionOptions): Client {
  return new Client(CLIENT_INFO, {
    capabilities: toCapabilities(handlers),
    versionNegotiation: { mode: { pin: MODERN_VERSION } },
  });
}

interface DiscoveryTransportOptions {
  readonly rpc: ModernRpc;
  readonly cancellation: CancelScope;
  readonly handshakeMeta: JsonObject;
}

/**
 * The transport that the SDK client sees. Its request is sent like any other request, and the response is
 * reduced to a form that the SDK does not ignore.
 */
class DiscoveryTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  /** The response as received. Without one, `failure` is set. */
  result: JsonObject | undefined;
  failure: unknown;
  /** Resolves when `result` is set. */
  readonly responded: Promise<undefined>;
  #markResponded: (() => void) | undefined;
  readonly #options: DiscoveryTransportOptions;

  constructor(options: DiscoveryTransportOptions) {
    this.#options = options;
    this.responded = new Promise((resolve) => {
      this.#markResponded = () => resolve(undefined);
    });
  }

  /** The underlying transport is started and closed by `openModernSession`. */
  async start(): Promise<void> {}
  async close(): Promise<void> {}

  /** Makes the SDK stop waiting for a response. */
  disconnectSdk(): void {
    this.onclose?.();
  }

  async send({ id, method = "", params = {} }: JsonRpcMessage): Promise<void> {
    // Only requests are forwarded; the SDK's notifications are not for the server.
    if (id === undefined) return;
    const { rpc, cancellation, handshakeMeta } = this.#options;
    const sdkMeta = isPlainObject(params["_meta"]) ? params["_meta"] : {};
    const outgoing = { ...params, _meta: { ...handshakeMeta, ...sdkMeta } };
    try {
      this.result = await rpc.request({ method, params: outgoing, cancellation });
    } catch (failure) {
      this.failure = failure;
      if (!isVersionRejection(failure)) throw failure;
      this.onmessage?.(toVersionRejection(id, failure));
      return;
    }
    const { _meta: _, ...result } = this.result;
    this.onmessage?.({ jsonrpc: "2.0", id, result });
    this.#markResponded?.();
  }
}

type VersionRejection = McpRuntimeError & { readonly code: number };

function isVersionRejection(failure: unknown): failure is VersionRejection {
  return (
    failure instanceof McpRuntimeError &&
    failure.kind === "unsupported-protocol" &&
    failure.code !== undefined
  );
}

/**
 * Makes the SDK repeat the request, since our version may be among those that the server supports. The
 * list in the original error is lost when it was converted from an HTTP response.
 */
function toVersionRejection(id: JsonRpcMessage["id"], { code, message }: VersionRejection): JsonRpcMessage {
  const data = { supported: [MODERN_VERSION], requested: MODERN_VERSION };
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}

const SERVER_INFO = z.object({ name: z.string(), version: z.string(), title: z.string().optional() });

const DISCOVER_RESULT = z.object({
  supportedVersions: z.array(z.string()),
  capabilities: z.record(z.string(), z.unknown()),
  instructions: z.string().optional().catch(undefined),
  _meta: z
    .object({ [META_KEYS.serverInfo]: SERVER_INFO.optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** Parses the `server/discover` result. Throws when the server does not support `MODERN_VERSION`. */
function toServerMetadata(result: JsonObject, context: ErrorContext): ServerMetadata {
  const parsed = DISCOVER_RESULT.safeParse(result);
  if (!parsed.success)
    throw invalidResponseError(context, `the ${DISCOVER_METHOD} result does not match the protocol`);
  const { supportedVersions, capabilities, instructions, _meta } = parsed.data;
  if (!supportedVersions.includes(MODERN_VERSION)) throw unsupportedVersionError(supportedVersions, context);
  return {
    serverInfo: _meta?.[META_KEYS.serverInfo],
    capabilities,
    instructions,
    protocolVersion: MODERN_VERSION,
  };
}

function unsupportedVersionError(
  versions: readonly string[],
  { server, redactor }: ErrorContext,
): McpRuntimeError {
  const serverVersions = excerpt(redactor.redact(versions.join(", ")));
  const text = `Server "${server}" supports MCP ${serverVersions === "" ? "(no version)" : serverVersions}; this client supports ${MODERN_VERSION} and earlier versions.`;
  return new McpRuntimeError("unsupported-protocol", text, { server });
}
