import { z } from "zod";
import type { CancelScope } from "../async/cancel-scope.js";
import { settleWithin } from "../async/clock.js";
import { ZOD_CONTEXT } from "../config/parse-options.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { closedDuringHandshakeError } from "../transports/transport.js";
import { LEGACY_VERSIONS } from "./protocol-eras.js";
import { type OpenSessionOptions, runHandshake } from "./open-session.js";
import { INPUT_REQUIRED, stripTask } from "./server-requests/input-required.js";
import { toCapabilities } from "./server-requests/server-request-handler.js";
import { ChannelSession, type SessionChannel } from "./session-channel.js";
import {
  INSTRUCTIONS,
  SERVER_INFO,
  sessionClosedError,
  type ServerMetadata,
  type Session,
  type SessionRequest,
  type ServerStreamOptions,
  supportsTaskCalls,
} from "./session.js";

/** How long to wait for the `initialize` response when the client is closed during the handshake. */
const INITIALIZE_GRACE_MS = 500;

/** The channel on which the server rejected `initialize` with a JSON-RPC error; it can be used for another handshake. */
export interface RejectedInitialize {
  readonly rejection: McpRuntimeError;
  readonly channel: SessionChannel;
}

/**
 * Initializes a session over a new transport. No state of an earlier session is reused, because servers reject `initialize`
 * with a stale session id. With `canContinue`, a rejection for which it returns true is returned instead of thrown.
 */
export async function openLegacySession(
  options: OpenSessionOptions,
  canContinue: (rejection: McpRuntimeError) => boolean = () => false,
): Promise<Session | RejectedInitialize> {
  return runHandshake(options, undefined, async (channel, attempt) => {
    if (channel.sessionId !== undefined) {
      await openServerStream(channel, attempt, options);
      return new LegacySession(channel, options, { metadata: options.metadata, isResumed: true });
    }
    const handshake = new InitializeHandshake(channel, options);
    try {
      const metadata = await handshake.run(attempt);
      // The server may have responded and closed the connection right away.
      if (channel.isClosed) throw closedDuringHandshakeError(options.server);
      return new LegacySession(channel, options, { metadata, isResumed: false });
    } catch (error) {
      const isRejected = error instanceof McpRuntimeError && handshake.isRejected(error);
      if (isRejected && canContinue(error)) return { rejection: error, channel };
      await handshake.terminate();
      throw error;
    }
  });
}

/** Servers drop requests that they send before the stream is open, and then wait for a response forever. */
async function openServerStream(
  channel: SessionChannel,
  attempt: CancelScope,
  { config }: OpenSessionOptions,
): Promise<void> {
  const { extensions: _, ...accepted } = toCapabilities(config.handlers);
  if (Object.keys(accepted).length > 0) await attempt.race(channel.openServerStream());
}

/** Lenient where servers differ; the session does not use more than this. */
const INITIALIZE_RESULT = z.object({
  protocolVersion: z.string(),
  capabilities: z.custom<JsonObject>(isPlainObject),
  serverInfo: SERVER_INFO,
  instructions: INSTRUCTIONS.optional(),
});

/** `initialize`, and `initialized` after the server has accepted it. */
class InitializeHandshake {
  readonly #channel: SessionChannel;
  readonly #options: OpenSessionOptions;
  #responding: Promise<JsonObject> | undefined;
  #hasResponse = false;

  constructor(channel: SessionChannel, options: OpenSessionOptions) {
    this.#channel = channel;
    this.#options = options;
  }

  async run(attempt: CancelScope): Promise<ServerMetadata> {
    const result = await this.#initializeOrFallBack(attempt);
    const metadata = this.#parse(result);
    this.#channel.transport.setProtocolVersion?.(metadata.protocolVersion);
    await attempt.race(this.#channel.notify({ jsonrpc: "2.0", method: "notifications/initialized" }));
    await openServerStream(this.#channel, attempt, this.#options);
    return metadata;
  }

  /** The server itself rejected `initialize`, with a JSON-RPC error and without a session. */
  isRejected({ code, status }: McpRuntimeError): boolean {
    return code !== undefined && status === undefined && this.#channel.sessionId === undefined;
  }

  /** Terminates the session that the server may just have created. */
  async terminate(): Promise<void> {
    const { cancellation, clock } = this.#options;
    // A late response carries the session id that has to be terminated.
    if (cancellation.isCancelled) await settleWithin(INITIALIZE_GRACE_MS, clock, () => this.#responding);
    if (this.#hasResponse) await this.#channel.terminateSession();
  }

  async #initializeOrFallBack(attempt: CancelScope): Promise<JsonObject> {
    try {
      return await this.#initialize(attempt);
    } catch (error) {
      if (attempt.isCancelled || !(error instanceof McpRuntimeError)) throw error;
      if (this.#options.hasTriedFallback === true) throw error;
      const fallback = await this.#channel.transport.openFallback?.(error, attempt);
      if (fallback === undefined) throw error;
      await this.#channel.replaceTransport(fallback);
      return this.#initialize(attempt);
    }
  }

  /** The protocol does not allow to cancel `initialize`: a cancelled attempt only stops waiting. */
  #initialize(attempt: CancelScope): Promise<JsonObject> {
    const { config, clientInfo, handshakeMeta } = this.#options;
    const params = {
      protocolVersion: LEGACY_VERSIONS[0],
      capabilities: toCapabilities(config.handlers),
      clientInfo,
      ...(Object.keys(handshakeMeta).length === 0 ? {} : { _meta: handshakeMeta }),
    };
    this.#responding = this.#channel.initialize(params);
    const onResponse = () => {
      this.#hasResponse = true;
    };
    this.#responding.then(onResponse, onResponse);
    return attempt.race(this.#responding);
  }

  #parse(result: JsonObject): ServerMetadata {
    const { server, redactor } = this.#options;
    const version = result["protocolVersion"];
    if (typeof version === "string" && !LEGACY_VERSIONS.includes(version)) {
      const text = `Server "${server}" supports MCP ${redactor.excerpt(version)}; this client supports ${LEGACY_VERSIONS.join(", ")}.`;
      throw new McpRuntimeError("unsupported-protocol", text, { server });
    }
    const { data, error } = INITIALIZE_RESULT.safeParse(result, ZOD_CONTEXT);
    if (data !== undefined) return { ...data, instructions: data.instructions };
    const text = `Server "${server}" returned an invalid initialize result.`;
    throw new McpRuntimeError("invalid-response", text, { server, cause: redactor.redactCause(error) });
  }
}

/** A session that was opened with `initialize` and that the server may lose. */
class LegacySession extends ChannelSession implements Session {
  readonly metadata: ServerMetadata | undefined;
  readonly isResumed: boolean;
  isConfirmed: boolean;

  constructor(
    channel: SessionChannel,
    options: Pick<OpenSessionOptions, "server" | "onDisconnected">,
    { metadata, isResumed }: Pick<LegacySession, "metadata" | "isResumed">,
  ) {
    super(channel, options);
    this.metadata = metadata;
    this.isResumed = isResumed;
    this.isConfirmed = !isResumed;
  }

  get id(): string | undefined {
    return this.channel.sessionId;
  }

  /** Servers that have not declared tasks must not be asked for one. What a resumed session declared may be unknown. */
  get #supportsTasks(): boolean {
    return this.metadata === undefined || supportsTaskCalls(this.metadata.capabilities);
  }

  async sendRootsListChanged(): Promise<void> {
    await this.channel.notify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
  }

  async request(request: SessionRequest): Promise<JsonObject> {
    request.cancellation.throwIfCancelled();
    if (this.closeReason !== undefined) throw sessionClosedError(this.server, this.closeReason);
    this.inFlight += 1;
    const { serverRequests } = this.channel;
    const { inputRevision } = serverRequests;
    try {
      const { params } = request;
      const sent = params["task"] === undefined || this.#supportsTasks ? params : stripTask(params);
      const result = await this.channel.request(request.method, sent, request);
      this.isConfirmed = true;
      return result["resultType"] === INPUT_REQUIRED ? stripResultType(result) : result;
    } finally {
      // A server before 2026-07-28 does not say which of the requests in flight needs the input.
      if (serverRequests.inputRevision !== inputRevision) request.hasInput = true;
      this.endRequest();
    }
  }

  openServerStream(options?: ServerStreamOptions): Promise<void> {
    return this.channel.openServerStream(options);
  }
}

/** Results of this era are complete: one that claims to require input would not be checked like a result. */
function stripResultType(result: JsonObject): JsonObject {
  const { resultType: _, ...complete } = result;
  return complete;
}
