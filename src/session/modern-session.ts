import { z } from "zod";
import type { CancelScope } from "../async/cancel-scope.js";
import { settleWithin } from "../async/clock.js";
import { ZOD_CONTEXT } from "../config/parse-options.js";
import { receivedArray } from "../config/received-schemas.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { RPC_CODES } from "../errors/rpc-codes.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { LISTEN_METHOD, META_KEYS, MODERN_VERSION } from "../transports/http/modern-era.js";
import { invalidResponseError } from "../transports/json-rpc.js";
import { closedDuringHandshakeError } from "../transports/transport.js";
import { DISCOVER_METHOD, mayRequireSession, rejectsModernEra, toEnvelope } from "./protocol-eras.js";
import { ListenStream } from "./listen-stream.js";
import { type OpenSessionOptions, runHandshake } from "./open-session.js";
import {
  answerInputRequests,
  type AnswerInputOptions,
  type InputOutcome,
  INPUT_REQUIRED,
  MAX_ROUNDS,
  stripInput,
  stripTask,
} from "./server-requests/input-required.js";
import { ChannelSession, type SessionChannel } from "./session-channel.js";
import {
  INSTRUCTIONS,
  SERVER_INFO,
  sessionClosedError,
  type ServerMetadata,
  type Session,
  type SessionRequest,
  type ServerStreamOptions,
} from "./session.js";
import { ToolHeaders } from "./tool-headers.js";

/** The `resultType` of a call that the server has turned into a task. */
const TASK_CREATED = "task";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** Opens a session with a server of the modern era: no handshake, only `server/discover` for its metadata. */
export async function openModernSession(
  options: OpenSessionOptions,
  existing?: SessionChannel,
): Promise<Session> {
  return runHandshake(options, existing, async (channel, attempt) => {
    channel.isModern = true;
    if (channel.isClosed) throw closedDuringHandshakeError(options.server);
    const metadata = toServerMetadata(await discoverServer(channel, attempt, options), options);
    // The server may have responded and closed the connection right away.
    if (channel.isClosed) throw closedDuringHandshakeError(options.server);
    return new ModernSession(channel, options, metadata);
  });
}

/** A server that rejects the version may still support it: the request is repeated once. */
async function discoverServer(
  channel: SessionChannel,
  cancellation: CancelScope,
  options: OpenSessionOptions,
): Promise<JsonObject> {
  const envelope = toEnvelope(options);
  const params = { _meta: { ...options.handshakeMeta, ...envelope } };
  const discover = () => channel.request(DISCOVER_METHOD, params, { cancellation, cancelMeta: envelope });
  return discover().catch((failure: unknown) => {
    if (!isVersionRejection(failure)) throw failure;
    return discover();
  });
}

function isVersionRejection(failure: unknown): boolean {
  return (
    failure instanceof McpRuntimeError &&
    failure.kind === "unsupported-protocol" &&
    failure.code !== undefined
  );
}

const DISCOVER_RESULT = z.object({
  supportedVersions: receivedArray(z.string()),
  capabilities: z.custom<JsonObject>(isPlainObject),
  instructions: INSTRUCTIONS.optional().catch(undefined),
  // Servers of a draft have it here instead of in `_meta`.
  serverInfo: SERVER_INFO.optional().catch(undefined),
  _meta: z
    .object({ [META_KEYS.serverInfo]: SERVER_INFO.optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** Parses the `server/discover` result. Throws when the server does not support `MODERN_VERSION`. */
function toServerMetadata(result: JsonObject, context: OpenSessionOptions): ServerMetadata {
  const parsed = DISCOVER_RESULT.safeParse(result, ZOD_CONTEXT);
  if (!parsed.success)
    throw invalidResponseError(context, `the ${DISCOVER_METHOD} result does not match the protocol`);
  const { supportedVersions, capabilities, instructions, serverInfo, _meta } = parsed.data;
  if (!supportedVersions.includes(MODERN_VERSION)) throw unsupportedVersionError(supportedVersions, context);
  return {
    serverInfo: _meta?.[META_KEYS.serverInfo] ?? serverInfo,
    capabilities,
    instructions,
    protocolVersion: MODERN_VERSION,
  };
}

function unsupportedVersionError(
  versions: readonly string[],
  { server, redactor }: OpenSessionOptions,
): McpRuntimeError {
  const serverVersions = redactor.excerpt(versions.join(", "));
  const text = `Server "${server}" supports MCP ${serverVersions === "" ? "(no version)" : serverVersions}; this client supports ${MODERN_VERSION} and earlier versions.`;
  return new McpRuntimeError("unsupported-protocol", text, { server });
}

/** How long to wait until the server acknowledges the listen stream. */
const SERVER_STREAM_TIMEOUT_MS = 500;

/**
 * A session of the modern era. It has only client-side state, so the server cannot lose it. Requests that
 * exist only in the legacy era (`ping`, `logging/setLevel`, `resources/subscribe`) are translated.
 */
class ModernSession extends ChannelSession implements Session {
  readonly id = undefined;
  readonly isResumed = false;
  readonly isConfirmed = true;
  readonly metadata: ServerMetadata;
  readonly #options: OpenSessionOptions;
  readonly #listenStream: ListenStream;
  readonly #toolHeaders: ToolHeaders;
  /** The `_meta` entries of every request. */
  #envelope: JsonObject;
  /** Whether the listen stream keeps the process alive. */
  #holdsProcess = false;
  /** The server was replaced by one of the legacy era. */
  #serverIsLegacy = false;

  constructor(channel: SessionChannel, options: OpenSessionOptions, metadata: ServerMetadata) {
    super(channel, options);
    this.metadata = metadata;
    this.#options = options;
    this.#envelope = toEnvelope(options);
    this.#toolHeaders = new ToolHeaders(options.server, (message) => options.log.warn(message));
    this.#listenStream = new ListenStream({
      ...options,
      capabilities: metadata.capabilities,
      canReceiveUnsolicited: channel.canReceiveUnsolicited,
      holdsProcess: () => this.#holdsProcess,
      listen: (params, request) => this.#send(LISTEN_METHOD, params, request),
    });
    channel.onNotification = (notification) => {
      if (notification.method === ACKNOWLEDGED) this.#listenStream.acknowledge(notification.params);
      else options.onNotification(notification);
    };
  }

  async request(request: SessionRequest): Promise<unknown> {
    request.cancellation.throwIfCancelled();
    if (this.closeReason !== undefined) throw sessionClosedError(this.server, this.closeReason);
    this.inFlight += 1;
    try {
      return await this.#dispatch(request);
    } catch (error) {
      throw (await this.#wasReplacedByLegacyServer(error, request))
        ? this.#eraChangedError(error as McpRuntimeError)
        : error;
    } finally {
      this.endRequest();
    }
  }

  answerInput(task: JsonObject, options: AnswerInputOptions): Promise<InputOutcome> {
    const { server, redactor } = this.#options;
    const { serverRequests } = this.channel;
    return answerInputRequests(task, { server, redactor, serverRequests, ...options });
  }

  async openServerStream(options?: ServerStreamOptions): Promise<void> {
    if (!this.#prepareListening(options)) return;
    await settleWithin(SERVER_STREAM_TIMEOUT_MS, this.#options.clock, () =>
      this.#listenStream.subscribeLists(),
    );
  }

  #prepareListening(options?: ServerStreamOptions): boolean {
    this.#holdsProcess ||= options?.isBackground !== true;
    return this.channel.prepareServerStream(options);
  }

  override close(): Promise<void> {
    return super.close({ terminate: true });
  }

  protected override onEnd(reason: McpRuntimeError): void {
    this.#listenStream.close(reason);
  }

  async #dispatch(request: SessionRequest): Promise<unknown> {
    const { method, params } = request;
    switch (method) {
      case "ping":
        await this.#send(DISCOVER_METHOD, {}, request);
        return {};
      case "logging/setLevel":
        this.#envelope = { ...this.#envelope, [META_KEYS.logLevel]: params["level"] };
        return {};
      case "resources/subscribe":
        this.#prepareListening();
        await this.#changeSubscription(request, (uri) => this.#listenStream.subscribeResource(uri, request));
        return {};
      case "resources/unsubscribe":
        await this.#changeSubscription(request, (uri) =>
          this.#listenStream.unsubscribeResource(uri, request),
        );
        return {};
      case "resources/read":
        return this.#readResource(request);
      case "tools/list":
        return this.#toolHeaders.update(await this.#requestUntilComplete(request), {
          isFirst: params["cursor"] === undefined,
        });
      case "tools/call":
        return this.#callTool(request);
      default:
        return this.#requestUntilComplete(request);
    }
  }

  /** The listen stream is shared, so a cancelled caller stops waiting without ending it. */
  async #changeSubscription(
    { params, cancellation, tracker }: SessionRequest,
    change: (uri: string) => Promise<void>,
  ): Promise<void> {
    const changed = change(params["uri"] as string);
    if (tracker !== undefined) tracker.sendStatus = this.#listenStream.lastRequest;
    await cancellation.race(changed);
  }

  /** The modern era reports a missing resource as invalid params. */
  async #readResource(request: SessionRequest): Promise<JsonObject> {
    try {
      return await this.#requestUntilComplete(request);
    } catch (error) {
      const isMissing = error instanceof McpRuntimeError && error.code === RPC_CODES.invalidParams;
      throw isMissing ? error.with({ kind: "not-found" }) : error;
    }
  }

  /** A server that misses a header did not execute the call; its tool list has the required headers. */
  async #callTool(request: SessionRequest): Promise<JsonObject> {
    const sentHeaders = this.#toolHeaders.headersFor(request.params);
    try {
      return await this.#requestUntilComplete(request, sentHeaders);
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || error.code !== RPC_CODES.headerMismatch) throw error;
      await this.#refreshToolHeaders(request);
      const requiredHeaders = this.#toolHeaders.headersFor(request.params);
      if (requiredHeaders === undefined || JSON.stringify(requiredHeaders) === JSON.stringify(sentHeaders))
        throw error;
      return this.#requestUntilComplete(request, requiredHeaders);
    }
  }

  async #refreshToolHeaders({ cancellation, context }: SessionRequest): Promise<void> {
    let cursor: unknown;
    for (let page = 0; page < MAX_ROUNDS; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await this.#send("tools/list", params, { cancellation, context });
      this.#toolHeaders.update(result, { isFirst: page === 0 });
      cursor = result["nextCursor"];
      if (typeof cursor !== "string" || cursor === "") return;
    }
  }

  /** Repeats the request with the requested input until the result is complete. */
  async #requestUntilComplete(
    request: SessionRequest,
    headers?: Record<string, string>,
  ): Promise<JsonObject> {
    const { method, cancellation, deferInput = false } = request;
    const { server, redactor } = this.#options;
    const { serverRequests } = this.channel;
    // In this era, the server decides about tasks.
    let roundParams = request.params["task"] === undefined ? request.params : stripTask(request.params);
    const params = stripInput(roundParams);
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      cancellation.throwIfCancelled();
      const response = await this.#send(method, roundParams, request, headers);
      const { resultType = "complete", ...result } = response;
      if (resultType === "complete") return stripServerInfo(result);
      if (resultType === TASK_CREATED && method === "tools/call") return response;
      if (resultType !== INPUT_REQUIRED)
        throw invalidResponseError(this.#options, `unknown result type ${JSON.stringify(resultType)}`);
      request.hasInput = true;
      const outcome = await answerInputRequests(result, {
        server,
        redactor,
        serverRequests,
        cancellation,
        deferInput,
      });
      if ("deferred" in outcome) return outcome.deferred;
      roundParams = { ...params, ...outcome.retryWith };
    }
    throw invalidResponseError(this.#options, `it requested input ${MAX_ROUNDS} times`);
  }

  /** Sends a request with the envelope. */
  #send(
    method: string,
    params: JsonObject,
    {
      cancellation,
      context,
      isBackground,
      headers,
      tracker,
      deferInput = false,
    }: Omit<SessionRequest, "method" | "params">,
    toolHeaders?: Record<string, string>,
  ): Promise<JsonObject> {
    const requestMeta = isPlainObject(params["_meta"]) ? params["_meta"] : {};
    const envelope = deferInput ? withElicitation(this.#envelope) : this.#envelope;
    return this.channel.request(
      method,
      { ...params, _meta: { ...requestMeta, ...envelope } },
      {
        cancellation,
        context,
        isBackground,
        headers: toolHeaders === undefined ? headers : { ...headers, ...toolHeaders },
        tracker,
        cancelMeta: this.#envelope,
      },
    );
  }

  /**
   * True when the server that rejected a request was replaced by a legacy one, which then did not execute
   * the request. This takes a `server/discover`, since a modern server may return the same status.
   */
  async #wasReplacedByLegacyServer(error: unknown, request: SessionRequest): Promise<boolean> {
    if (!mayRequireSession(error)) return false;
    const { cancellation, context, isBackground } = request;
    try {
      if (!this.#serverIsLegacy)
        await this.#send(DISCOVER_METHOD, {}, { cancellation, context, isBackground });
    } catch (rejection) {
      this.#serverIsLegacy = rejectsModernEra(rejection);
    }
    return this.#serverIsLegacy;
  }

  /** With the status, by which the request is known not to have run. */
  #eraChangedError({ message, status }: McpRuntimeError): McpRuntimeError {
    const { server } = this;
    const text = `Server "${server}" no longer supports MCP ${MODERN_VERSION}. ${excerpt(message)}`;
    return new McpRuntimeError("unsupported-protocol", text, { server, status });
  }
}

/** Declares elicitation for a request whose caller answers it, even without elicitation handlers. */
function withElicitation(envelope: JsonObject): JsonObject {
  const capabilities = envelope[META_KEYS.clientCapabilities] as JsonObject;
  const elicitation = { form: {}, url: {} };
  return { ...envelope, [META_KEYS.clientCapabilities]: { ...capabilities, elicitation } };
}

/** Removes the server info from `_meta` of a result; the rest of `_meta` belongs to the tool. */
function stripServerInfo(result: JsonObject): JsonObject {
  const { _meta: meta, ...rest } = result;
  if (!isPlainObject(meta) || !(META_KEYS.serverInfo in meta)) return result;
  const { [META_KEYS.serverInfo]: _, ...remaining } = meta;
  return Object.keys(remaining).length === 0 ? rest : { ...rest, _meta: remaining };
}
