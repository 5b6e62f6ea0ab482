import { type Clock, settleWithin } from "../async/clock.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { excerpt } from "../errors/sanitize-text.js";
import { isPlainObject, type JsonObject } from "../json/json.js";
import { META_KEYS, MODERN_VERSION } from "../transports/http/modern-era.js";
import { invalidResponseError } from "../transports/json-rpc.js";
import {
  DISCOVER_METHOD,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  mayRequireSession,
  rejectsModernEra,
} from "./era-detection.js";
import { ListenStream } from "./listen-stream.js";
import type { ModernRpc } from "./modern-rpc.js";
import type { SafeTransport } from "./safe-transport.js";
import {
  answerInputRequests,
  INPUT_REQUIRED,
  MAX_ROUNDS,
  stripInput,
} from "./server-requests/input-required.js";
import type { ServerRequests } from "./server-requests/server-requests.js";
import {
  connectionLostError,
  type ErrorContext,
  sessionClosedError,
  type SessionCloseReason,
} from "./session-errors.js";
import type { ServerMetadata, ServerNotification, Session, SessionRequest } from "./session.js";
import { ToolHeaders } from "./tool-headers.js";

interface ModernSessionOptions extends ErrorContext {
  readonly transport: SafeTransport;
  readonly rpc: ModernRpc;
  readonly metadata: ServerMetadata;
  /** Handles the input requests in results. */
  readonly serverRequests: ServerRequests;
  readonly clock: Clock;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error) => void;
  /** The transport closed unexpectedly. */
  readonly onDisconnected: () => void;
}

/** How long to wait until the server acknowledges the listen stream. */
const SERVER_STREAM_TIMEOUT_MS = 500;

/**
 * A session of the modern era. It has only client-side state, so the server cannot lose it. Requests that
 * exist only in the legacy era (`ping`, `logging/setLevel`, `resources/subscribe`) are translated.
 */
export class ModernSession implements Session {
  readonly id = undefined;
  readonly isResumed = false;
  readonly isConfirmed = true;
  readonly metadata: ServerMetadata;
  readonly #options: ModernSessionOptions;
  readonly #listenStream: ListenStream;
  readonly #toolHeaders: ToolHeaders;
  #inFlight = 0;
  #closeReason: SessionCloseReason | undefined;
  /** The server was replaced by one of the legacy era. */
  #serverIsLegacy = false;

  constructor(options: ModernSessionOptions) {
    const { metadata, transport, server, rpc, onWarning, onDisconnected } = options;
    this.metadata = metadata;
    this.#options = options;
    this.#listenStream = new ListenStream({ ...options, capabilities: metadata.capabilities });
    this.#toolHeaders = new ToolHeaders(server, onWarning);
    transport.onclose = () => {
      const isUnexpected = this.#closeReason === undefined;
      this.#closeReason ??= "disconnected";
      const reason = connectionLostError(server, this.#closeReason);
      rpc.rejectAll(reason);
      this.#listenStream.close(reason);
      if (isUnexpected) onDisconnected();
    };
  }

  get isAlive(): boolean {
    return this.#closeReason === undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async request(request: SessionRequest): Promise<unknown> {
    request.cancellation.throwIfCancelled();
    if (this.#closeReason !== undefined) throw sessionClosedError(this.#options.server, this.#closeReason);
    this.#inFlight += 1;
    try {
      return await this.#dispatch(request);
    } catch (error) {
      throw (await this.#wasReplacedByLegacyServer(error, request))
        ? this.#eraChangedError(error as McpRuntimeError)
        : error;
    } finally {
      this.#inFlight -= 1;
      if (this.#closeReason === "draining" && this.#inFlight === 0) void this.#options.transport.close();
    }
  }

  openServerStream(): Promise<void> {
    return settleWithin(SERVER_STREAM_TIMEOUT_MS, this.#options.clock, () =>
      this.#listenStream.subscribeLists(),
    );
  }

  drain(): void {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = "draining";
    this.#listenStream.close(connectionLostError(this.#options.server, this.#closeReason));
    if (this.#inFlight === 0) void this.#options.transport.close();
  }

  async close(): Promise<void> {
    if (this.#closeReason !== undefined) return;
    this.#closeReason = "closed";
    this.#listenStream.close(connectionLostError(this.#options.server, this.#closeReason));
    this.#options.transport.cancelServerRequests();
    await this.#options.transport.close();
  }

  async #dispatch(request: SessionRequest): Promise<unknown> {
    const { method, params } = request;
    switch (method) {
      case "ping":
        await this.#request(request, DISCOVER_METHOD, {});
        return {};
      case "logging/setLevel":
        this.#options.rpc.setLogLevel(params["level"]);
        return {};
      case "resources/subscribe":
        await this.#changeSubscription(request, (uri) => this.#listenStream.subscribeResource(uri));
        return {};
      case "resources/unsubscribe":
        await this.#changeSubscription(request, (uri) => this.#listenStream.unsubscribeResource(uri));
        return {};
      case "resources/read":
        return this.#readResource(request);
      case "tools/list":
        return this.#toolHeaders.update(await this.#requestUntilComplete(request));
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
    const changed = change(String(params["uri"]));
    if (tracker !== undefined) tracker.sendStatus = this.#listenStream.lastRequest;
    await cancellation.race(changed);
  }

  /** The modern era reports a missing resource as invalid params. */
  async #readResource(request: SessionRequest): Promise<JsonObject> {
    try {
      return await this.#requestUntilComplete(request);
    } catch (error) {
      const isMissing = error instanceof McpRuntimeError && error.code === INVALID_PARAMS;
      throw isMissing ? error.with({ kind: "not-found" }) : error;
    }
  }

  /** A server that misses a header did not execute the call; its tool list has the required headers. */
  async #callTool(request: SessionRequest): Promise<JsonObject> {
    const sentHeaders = this.#toolHeaders.headersFor(request.params);
    try {
      return await this.#requestUntilComplete(request, sentHeaders);
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || error.code !== HEADER_MISMATCH) throw error;
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
      const result = await this.#request({ method: "", params, cancellation, context }, "tools/list", params);
      this.#toolHeaders.update(result);
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
    const { server, serverRequests } = this.#options;
    const params = stripInput(request.params);
    let roundParams = request.params;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      cancellation.throwIfCancelled();
      const { resultType = "complete", ...result } = await this.#request(
        request,
        method,
        roundParams,
        headers,
      );
      if (resultType === "complete") return stripServerInfo(result);
      if (resultType !== INPUT_REQUIRED)
        throw invalidResponseError(this.#options, `unknown result type ${JSON.stringify(resultType)}`);
      const outcome = await answerInputRequests(result, { server, serverRequests, cancellation, deferInput });
      if ("deferred" in outcome) return outcome.deferred;
      roundParams = { ...params, ...outcome.retryWith };
    }
    throw invalidResponseError(this.#options, `it requested input ${MAX_ROUNDS} times`);
  }

  async #request(
    { cancellation, context, headers, onProgress, tracker, deferInput }: SessionRequest,
    method: string,
    params: JsonObject,
    toolHeaders?: Record<string, string>,
  ): Promise<JsonObject> {
    return this.#options.rpc.request({
      method,
      params,
      cancellation,
      headers: toolHeaders === undefined ? headers : { ...headers, ...toolHeaders },
      context,
      onProgress,
      tracker,
      deferInput,
    });
  }

  /**
   * True when the server that rejected a request was replaced by a legacy one, which then did not execute
   * the request. This takes a `server/discover`, since a modern server may return the same status.
   */
  async #wasReplacedByLegacyServer(error: unknown, request: SessionRequest): Promise<boolean> {
    if (!mayRequireSession(error)) return false;
    const { cancellation, context } = request;
    try {
      if (!this.#serverIsLegacy)
        await this.#request({ method: "", params: {}, cancellation, context }, DISCOVER_METHOD, {});
    } catch (rejection) {
      this.#serverIsLegacy = rejectsModernEra(rejection);
    }
    return this.#serverIsLegacy;
  }

  #eraChangedError({ message }: McpRuntimeError): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" no longer supports MCP ${MODERN_VERSION}. ${excerpt(message)}`;
    return new McpRuntimeError("unsupported-protocol", text, { server });
  }
}

/** Removes the server info from `_meta` of a result; the rest of `_meta` belongs to the tool. */
function stripServerInfo(result: JsonObject): JsonObject {
  const { _meta: meta, ...rest } = result;
  if (!isPlainObject(meta) || !(META_KEYS.serverInfo in meta)) return result;
  const { [META_KEYS.serverInfo]: _, ...remaining } = meta;
  return Object.keys(remaining).length === 0 ? rest : { ...rest, _meta: remaining };
}
