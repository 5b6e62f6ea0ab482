import type { Clock } from "../async/clock.js";
import { within } from "../async/settle-within.js";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { malformedAnswer } from "../transports/json-rpc.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import type { GuardedTransport } from "./safe-transport.js";
import { answerInput, INPUT_REQUIRED, MOST_ROUNDS, withoutInput } from "./server-requests/input-required.js";
import type { ModernRpc } from "./modern-rpc.js";
import {
  DISCOVER_METHOD,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  mayMissSession,
  refusesModern,
} from "./era-detection.js";
import type { ErrorContext } from "./rpc-failure.js";
import type { ServerRequests } from "./server-requests/server-requests.js";
import type { ServerMetadata, ServerNotification, Session, SessionRequest } from "./session.js";
import { brokenOff, type SessionEnd, tooLate } from "./session-close-reason.js";
import { Subscription } from "./listen-stream.js";
import { ToolHeaders } from "./tool-headers.js";
import { withoutStamp } from "./strip-server-info.js";

interface ModernSessionOptions extends ErrorContext {
  readonly transport: GuardedTransport;
  readonly exchange: ModernRpc;
  readonly facts: ServerMetadata;
  /** Answers what the server asks in its results. */
  readonly requests: ServerRequests;
  readonly clock: Clock;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error) => void;
  /** The transport below went by itself. */
  readonly onLost: () => void;
}

/** How long a server gets to say that it will tell. */
const LISTEN_MS = 500;

/**
 * A conversation with a server that knows no sessions: it is nothing but what we remember of the
 * server, and cannot be forgotten there. What older revisions have requests for and this one has not
 * (`ping`, `logging/setLevel`, `resources/subscribe`) is done in its own way.
 */
export class ModernSession implements Session {
  readonly id = undefined;
  readonly isResumed = false;
  readonly isProven = true;
  readonly facts: ServerMetadata;
  readonly #options: ModernSessionOptions;
  readonly #subscription: Subscription;
  readonly #toolHeaders: ToolHeaders;
  #inFlight = 0;
  #end: SessionEnd | undefined;
  /** By a server of an older revision. */
  #isReplaced = false;

  constructor(options: ModernSessionOptions) {
    const { facts, transport, server, exchange, onWarning, onLost } = options;
    this.facts = facts;
    this.#options = options;
    this.#subscription = new Subscription({ ...options, capabilities: facts.capabilities });
    this.#toolHeaders = new ToolHeaders(server, onWarning);
    transport.onclose = () => {
      const isLost = this.#end === undefined;
      this.#end ??= "lost";
      const reason = brokenOff(server, this.#end);
      exchange.breakOff(reason);
      this.#subscription.close(reason);
      if (isLost) onLost();
    };
  }

  get isAlive(): boolean {
    return this.#end === undefined;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  async request(request: SessionRequest): Promise<unknown> {
    request.cancellation.throwIfCancelled();
    if (this.#end !== undefined) throw tooLate(this.#options.server, this.#end);
    this.#inFlight += 1;
    try {
      return await this.#inItsWords(request);
    } catch (error) {
      throw (await this.#isStranger(error, request)) ? this.#speaksNoMore(error as McpRuntimeError) : error;
    } finally {
      this.#inFlight -= 1;
      if (this.#end === "retired" && this.#inFlight === 0) void this.#options.transport.close();
    }
  }

  listen(): Promise<void> {
    return within(LISTEN_MS, this.#options.clock, () => this.#subscription.hearLists());
  }

  retire(): void {
    if (this.#end !== undefined) return;
    this.#end = "retired";
    this.#subscription.close(brokenOff(this.#options.server, this.#end));
    if (this.#inFlight === 0) void this.#options.transport.close();
  }

  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    this.#end = "closed";
    this.#subscription.close(brokenOff(this.#options.server, this.#end));
    this.#options.transport.stopAnswering();
    await this.#options.transport.close();
  }

  async #inItsWords(request: SessionRequest): Promise<unknown> {
    const { method, params } = request;
    switch (method) {
      case "ping":
        await this.#ask(request, DISCOVER_METHOD, {});
        return {};
      case "logging/setLevel":
        this.#options.exchange.askForLogs(params["level"]);
        return {};
      case "resources/subscribe":
        await this.#askToTell(request, (uri) => this.#subscription.hearResource(uri));
        return {};
      case "resources/unsubscribe":
        await this.#askToTell(request, (uri) => this.#subscription.forgetResource(uri));
        return {};
      case "resources/read":
        return this.#readResource(request);
      case "tools/list":
        return this.#toolHeaders.learn(await this.#untilComplete(request));
      case "tools/call":
        return this.#callTool(request);
      default:
        return this.#untilComplete(request);
    }
  }

  /** It is asked on a stream that others share: who no longer waits leaves it be. */
  async #askToTell(
    { params, cancellation, delivery }: SessionRequest,
    change: (uri: string) => Promise<void>,
  ): Promise<void> {
    const changed = change(String(params["uri"]));
    if (delivery !== undefined) delivery.sending = this.#subscription.lastSent;
    await cancellation.race(changed);
  }

  /** A resource that is not there is an invalid parameter in this revision. */
  async #readResource(request: SessionRequest): Promise<JsonObject> {
    try {
      return await this.#untilComplete(request);
    } catch (error) {
      const isMissing = error instanceof McpRuntimeError && error.code === INVALID_PARAMS;
      throw isMissing ? error.with({ kind: "not-found" }) : error;
    }
  }

  /** A server that misses a header has run nothing. Its list says which it wants. */
  async #callTool(request: SessionRequest): Promise<JsonObject> {
    const sent = this.#toolHeaders.of(request.params);
    try {
      return await this.#untilComplete(request, sent);
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || error.code !== HEADER_MISMATCH) throw error;
      await this.#learnHeaders(request);
      const wanted = this.#toolHeaders.of(request.params);
      if (wanted === undefined || JSON.stringify(wanted) === JSON.stringify(sent)) throw error;
      return this.#untilComplete(request, wanted);
    }
  }

  async #learnHeaders({ cancellation, context }: SessionRequest): Promise<void> {
    let cursor: unknown;
    for (let page = 0; page < MOST_ROUNDS; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const found = await this.#ask({ method: "", params, cancellation, context }, "tools/list", params);
      this.#toolHeaders.learn(found);
      cursor = found["nextCursor"];
      if (typeof cursor !== "string" || cursor === "") return;
    }
  }

  /** The request, as often as the server wants to know something more first. */
  async #untilComplete(request: SessionRequest, headers?: Record<string, string>): Promise<JsonObject> {
    const { method, cancellation, holdsInput: isHeld = false } = request;
    const { server, requests } = this.#options;
    const params = withoutInput(request.params);
    let said = request.params;
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
      cancellation.throwIfCancelled();
      const { resultType = "complete", ...result } = await this.#ask(request, method, said, headers);
      if (resultType === "complete") return withoutStamp(result);
      if (resultType !== INPUT_REQUIRED)
        throw malformedAnswer(this.#options, `a result of type ${JSON.stringify(resultType)}`);
      const round = await answerInput(result, { server, requests, cancellation, isHeld });
      if ("held" in round) return round.held;
      said = { ...params, ...round.again };
    }
    throw malformedAnswer(this.#options, `it asked ${MOST_ROUNDS} times for something more`);
  }

  async #ask(
    { cancellation, context, headers, onProgress, delivery, holdsInput }: SessionRequest,
    method: string,
    params: JsonObject,
    own?: Record<string, string>,
  ): Promise<JsonObject> {
    return this.#options.exchange.request({
      method,
      params,
      cancellation,
      headers: own === undefined ? headers : { ...headers, ...own },
      context,
      onProgress,
      delivery,
      holdsInput,
    });
  }

  /**
   * Whether the server that refused a request does not speak this revision any more, for it was
   * replaced by an older one. It has then not run the request. Only asking it can tell: a server of
   * this revision may answer with the same status.
   */
  async #isStranger(error: unknown, request: SessionRequest): Promise<boolean> {
    if (!mayMissSession(error)) return false;
    const { cancellation, context } = request;
    try {
      if (!this.#isReplaced)
        await this.#ask({ method: "", params: {}, cancellation, context }, DISCOVER_METHOD, {});
    } catch (refusal) {
      this.#isReplaced = refusesModern(refusal);
    }
    return this.#isReplaced;
  }

  #speaksNoMore({ message }: McpRuntimeError): McpRuntimeError {
    const { server } = this.#options;
    const text = `Server "${server}" does not speak MCP ${MODERN_VERSION} any more. ${quoteServer(message)}`;
    return new McpRuntimeError("unsupported-protocol", text, { server });
  }
}
