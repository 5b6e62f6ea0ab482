import type { ProtocolOption } from "../config/server-definition.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import { appendSentence } from "../errors/sanitize-text.js";
import { MODERN_VERSION, PROTOCOL_CODES } from "../transports/http/modern-era.js";
import { rejectsModernEra, toEnvelope } from "./protocol-eras.js";
import type { OpenSessionOptions } from "./open-session.js";
import type { SessionChannel } from "./session-channel.js";
import type { Session } from "./session.js";
import { openLegacySession } from "./legacy-session.js";

/** The detected protocol era of a server, reused for later sessions. */
export interface DetectedEra {
  /** The server has no sessions. */
  isModern: boolean;
  /** The server accepts `initialize` only without the modern envelope in `_meta`. */
  rejectsEnvelope?: boolean;
}

/** The server itself reports that it does not know the method or the protocol version. */
const UNKNOWN_METHOD_CODES: ReadonlySet<unknown> = new Set([
  RPC_CODES.methodNotFound,
  RPC_CODES.unsupportedVersion,
]);
/** Statuses with which servers reject a body that they do not understand. */
const ENVELOPE_REJECTED_STATUSES: ReadonlySet<number> = new Set([400, 406, 415, 422]);
const DISCONNECT_KINDS: ReadonlySet<FailureKind> = new Set(["connection-lost", "not-sent"]);

/**
 * Opens a session with a server of either era: legacy (`initialize`) or modern (`server/discover`).
 *
 * An unknown server receives `initialize` with the modern envelope in `_meta`. A legacy server ignores
 * the envelope, so detection costs no extra request. A modern server rejects `initialize` and is then
 * sent `server/discover`; a server that is strict about the envelope receives a plain `initialize`. The
 * result is remembered in `era`.
 */
export async function openSession(
  protocol: ProtocolOption,
  era: DetectedEra,
  options: OpenSessionOptions,
): Promise<Session> {
  if (protocol === "legacy")
    return initialize(options).catch((error: unknown) => {
      const isUnsupported = error instanceof McpRuntimeError && error.kind === "unsupported-protocol";
      throw isUnsupported ? withProtocolHint(error, protocol) : error;
    });
  if (protocol === MODERN_VERSION)
    return discover(options).catch((error: unknown) => {
      throw rejectsModernEra(error) ? withProtocolHint(error, protocol) : error;
    });
  if (era.isModern) {
    try {
      return await discover(options);
    } catch (error) {
      // After any failure the next attempt detects the era again.
      era.isModern = false;
      if (!rejectsModernEra(error)) throw error;
    }
  }
  if (era.rejectsEnvelope === true) {
    era.rejectsEnvelope = false;
    try {
      return await initializeWithoutEnvelope(era, options);
    } catch (error) {
      if (!rejectsModernEra(error)) throw error;
    }
  }
  return negotiate(era, options);
}

async function negotiate(era: DetectedEra, options: OpenSessionOptions): Promise<Session> {
  let rejection: McpRuntimeError;
  let channel: SessionChannel | undefined;
  try {
    const handshakeMeta = { ...options.handshakeMeta, ...toEnvelope(options) };
    const outcome = await openLegacySession({ ...options, handshakeMeta }, ({ code }) =>
      PROTOCOL_CODES.has(code),
    );
    if (!("rejection" in outcome)) return outcome;
    ({ rejection, channel } = outcome);
  } catch (error) {
    if (!mayRejectEnvelope(error, options)) throw error;
    rejection = error;
  }
  const session = await openWithoutEnvelope(era, options, rejection, channel);
  era.isModern = session.metadata?.protocolVersion === MODERN_VERSION;
  return session;
}

/**
 * Finds a revision that both sides support after `initialize` with the envelope was rejected. A code of the protocol
 * comes from a server that knows the modern era, which reports with `server/discover` what it supports; any other
 * rejection may be about the envelope itself, so a plain `initialize` comes first. If both fail, the first rejection is
 * reported.
 */
async function openWithoutEnvelope(
  era: DetectedEra,
  options: OpenSessionOptions,
  rejection: McpRuntimeError,
  channel: SessionChannel | undefined,
): Promise<Session> {
  const initializePlain = () => initializeWithoutEnvelope(era, { ...options, hasTriedFallback: true });
  const discoverModern = () => discoverOnSameTransport(channel, options);
  const isCoded = PROTOCOL_CODES.has(rejection.code);
  if (!isCoded && !isCustomTransport(options))
    return initializePlain().catch((error) => {
      if (!rejectsModernEra(error)) throw error;
      return discoverModern().catch(() => {
        throw rejection;
      });
    });
  return discoverModern().catch((error: unknown) => {
    if (!rejectsModernEra(error)) throw error;
    // Without `initialize` there is nothing left to try.
    if (rejection.code === RPC_CODES.methodNotFound) throw withDiscoverFailure(rejection, error);
    return initializePlain().catch((plainError) => {
      if (!rejectsModernEra(plainError) || !isCoded) throw plainError;
      throw withDiscoverFailure(rejection, error);
    });
  });
}

/** Reuses the transport on which `initialize` was rejected, so that a stdio server is not started twice. */
async function discoverOnSameTransport(
  channel: SessionChannel | undefined,
  options: OpenSessionOptions,
): Promise<Session> {
  if (channel === undefined) return discover(options);
  try {
    return await discover(options, channel);
  } catch (error) {
    // The server may have closed the connection along with the rejection.
    if (!(error instanceof McpRuntimeError) || !DISCONNECT_KINDS.has(error.kind)) throw error;
    return discover(options);
  }
}

/**
 * Whether the server may have rejected the envelope and not the client: with a code of the protocol, or with a status and
 * any body. A custom transport may report a rejection with any HTTP status, because it need not send the headers that a
 * server compares with the envelope.
 */
function mayRejectEnvelope(error: unknown, options: OpenSessionOptions): error is McpRuntimeError {
  if (!(error instanceof McpRuntimeError)) return false;
  const { code, status } = error;
  if (PROTOCOL_CODES.has(code)) return true;
  if (isCustomTransport(options)) return code === undefined && rejectsModernEra(error);
  return status !== undefined && ENVELOPE_REJECTED_STATUSES.has(status);
}

/** The transport comes from the user's `openTransport`. */
function isCustomTransport({ config }: OpenSessionOptions): boolean {
  return config.address.kind === "custom";
}

async function initializeWithoutEnvelope(era: DetectedEra, options: OpenSessionOptions): Promise<Session> {
  const session = await initialize(options).catch((error: unknown) => {
    throw rejectsModernEra(error) ? withTransportHint(error) : error;
  });
  era.rejectsEnvelope = true;
  return session;
}

async function initialize(options: OpenSessionOptions): Promise<Session> {
  return (await openLegacySession(options)) as Session;
}

async function discover(options: OpenSessionOptions, channel?: SessionChannel): Promise<Session> {
  const { openModernSession } = await import("./modern-session.js");
  return openModernSession(options, channel);
}

function withProtocolHint(failure: McpRuntimeError, protocol: ProtocolOption): McpRuntimeError {
  const hint = `The server definition sets protocol: "${protocol}"; remove it to detect the protocol automatically.`;
  return withHint(failure, hint).with({ kind: "unsupported-protocol" });
}

function withTransportHint(failure: McpRuntimeError): McpRuntimeError {
  const hint = `MCP ${MODERN_VERSION} was also tried. Over HTTP it requires headers that a custom transport may not send: use url instead of openTransport in the server definition.`;
  return withHint(failure, hint);
}

/** Both handshakes failed. A server that knows neither method is probably not an MCP server. */
function withDiscoverFailure(rejection: McpRuntimeError, discoverError: McpRuntimeError): McpRuntimeError {
  if (!UNKNOWN_METHOD_CODES.has(rejection.code)) return rejection;
  const attempt = `server/discover was also tried: ${discoverError.message}`;
  const hint = appendSentence(attempt, "Is there an MCP server at this address?");
  return withHint(rejection, hint).with({ kind: "unsupported-protocol" });
}

function withHint(failure: McpRuntimeError, hint: string): McpRuntimeError {
  return failure.with({ message: appendSentence(failure.message, hint) });
}
