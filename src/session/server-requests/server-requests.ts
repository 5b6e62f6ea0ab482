import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { CancelScope } from "../../async/cancel-scope.js";
import { Semaphore } from "../../async/semaphore.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import { receivedArray } from "../../config/received-schemas.js";
import type {
  RootsOption,
  SamplingHandler,
  ServerRequestContext,
  ServerRequestHandlers,
} from "../../config/server-request-handlers.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { describeThrown, stripHiddenCharacters } from "../../errors/sanitize-text.js";
import { estimateJsonLength } from "../../json/describe-value.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { ServerLog } from "../../telemetry/logger.js";
import { MAX_REQUEST_ID_CHARS, MAX_SERVER_REQUESTS, type RequestId } from "../../transports/json-rpc.js";
import { createElicitationHandler } from "./elicitation-handler.js";
import {
  HANDLER_ERROR_CODES,
  HandlerError,
  parseHandlerResult,
  parseRequest,
  type ServerRequestHandler,
} from "./server-request-handler.js";

interface ServerRequestsOptions {
  readonly server: string;
  readonly log: ServerLog;
  /** The identity that owns the session; empty for the shared one. */
  readonly identity: string;
  readonly handlers: ServerRequestHandlers;
  /** How many handlers may run at a time. */
  readonly maxConcurrent: number;
}

type Send = (response: JsonRpcMessage) => void;

/** The limit for the params of running and waiting requests together, as JSON. A larger request has to be the only one. */
const MAX_ACTIVE_CHARS = 32 * 1_048_576;

/**
 * Handles the requests from the server on one session, from its first message on. The SDK client is not
 * used for this: it cannot cancel a request with id 0, the first id of SDK servers, and has no limits.
 */
export class ServerRequests {
  readonly #options: ServerRequestsOptions;
  readonly #handlers: ReadonlyMap<unknown, ServerRequestHandler>;
  readonly #slots: Semaphore;
  /** Roots must not wait until other users have filled in forms. */
  readonly #rootsSlots: Semaphore;
  readonly #turns = new Semaphore(1);
  readonly #active = new Map<RequestId, CancelScope>();
  #inputRevision = 0;
  #activeChars = 0;
  #isClosed = false;

  constructor(options: ServerRequestsOptions) {
    this.#options = options;
    this.#handlers = createHandlers(options.handlers);
    this.#slots = new Semaphore(options.maxConcurrent);
    this.#rootsSlots = new Semaphore(options.maxConcurrent);
  }

  /** Changes when the server requests input, and when it gets it. */
  get inputRevision(): number {
    return this.#inputRevision;
  }

  /** Handles a request or a cancellation from the server. Returns false for any other message. */
  handle(message: unknown, send: Send): boolean {
    if (!isPlainObject(message)) return false;
    const { method, id, params } = message;
    const requestParams = isPlainObject(params) ? params : {};
    if (method === "notifications/cancelled") {
      this.#cancel(requestParams["requestId"] as RequestId, requestParams["reason"]);
      return true;
    }
    if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) return false;
    if (typeof id === "string" && id.length > MAX_REQUEST_ID_CHARS) return true;
    // A request that is delivered again, as on a resumed stream, gets one response.
    if (!this.#isClosed && !this.#active.has(id))
      void this.#respond(id, { method, params: requestParams }, send);
    return true;
  }

  /** Cancels all requests without waiting for their handlers. */
  close(): void {
    this.#isClosed = true;
    const reason = new McpRuntimeError(
      "closed",
      `The session with server "${this.#options.server}" has ended.`,
    );
    for (const id of this.#active.keys()) this.#cancel(id, reason);
  }

  #cancel(id: RequestId, reason: unknown): void {
    this.#active.get(id)?.cancel(reason);
    this.#active.delete(id);
  }

  async #respond(id: RequestId, request: { method: string; params: JsonObject }, send: Send): Promise<void> {
    const isHandled = this.#handlers.has(request.method);
    const chars = isHandled ? estimateJsonLength(request.params, MAX_ACTIVE_CHARS) : 0;
    const isTooLarge = this.#activeChars > 0 && this.#activeChars + chars > MAX_ACTIVE_CHARS;
    const isOverLimit = this.#active.size >= MAX_SERVER_REQUESTS || isTooLarge;
    const cancellation = new CancelScope();
    if (isHandled) this.#inputRevision += 1;
    this.#active.set(id, cancellation);
    this.#activeChars += chars;
    let release = () => {
      this.#activeChars -= chars;
    };
    // A handler may keep the params until it ends, even after cancellation.
    const onStart = (handler: Promise<unknown>) => {
      const onEnd = release;
      release = () => void handler.then(onEnd, onEnd);
    };
    try {
      if (isOverLimit) throw new HandlerError("internalError", "Too many concurrent requests.");
      const result = await this.runHandler(request.method, request.params, cancellation, onStart);
      if (!cancellation.isCancelled) send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!cancellation.isCancelled)
        send({ jsonrpc: "2.0", id, error: this.toRpcError(request.method, error) });
    } finally {
      if (isHandled) this.#inputRevision += 1;
      if (this.#active.get(id) === cancellation) this.#active.delete(id);
      release();
    }
  }

  /**
   * Returns the result of a request. Throws a `HandlerError`, or whatever the user's handler throws. `onStart` receives the
   * promise of the handler, which may run longer than the request if that is cancelled.
   */
  async runHandler(
    method: string,
    params: JsonObject,
    cancellation: CancelScope,
    onStart?: (handler: Promise<unknown>) => void,
  ): Promise<JsonObject> {
    if (method === "ping") return {};
    const handler = this.#handlers.get(method);
    if (handler === undefined) throw new HandlerError("methodNotFound", "Method not found");
    const slots = method === "roots/list" ? this.#rootsSlots : this.#slots;
    const release = await slots.acquire(cancellation);
    const result = (async () => {
      if (method !== "roots/list") await this.#waitForTurn(cancellation);
      return handler(params)(this.#createContext(cancellation));
    })();
    // A handler keeps its slot until it ends, even after cancellation.
    result.then(release, release);
    onStart?.(result);
    return cancellation.race(result);
  }

  /** One request is parsed per turn of the event loop: a large one takes long, and a message may have hundreds of them. */
  async #waitForTurn(cancellation: CancelScope): Promise<void> {
    const release = await this.#turns.acquire(cancellation);
    await setImmediate();
    release();
    cancellation.throwIfCancelled();
  }

  #createContext(cancellation: CancelScope): ServerRequestContext {
    const { server, identity } = this.#options;
    const controller = new AbortController();
    cancellation.onCancel((reason) => controller.abort(reason));
    return { server, signal: controller.signal, ...(identity === "" ? {} : { identity }) };
  }

  /** Returns the error for the server. Details of a local failure are only logged as a warning. */
  toRpcError(method: string, error: unknown): { code: number; message: string } {
    const { server, log } = this.#options;
    if (error instanceof McpRuntimeError && error.kind === "denied")
      return { code: HANDLER_ERROR_CODES.userRejected, message: "The user rejected the request." };
    if (!(error instanceof HandlerError)) {
      log.warn(`Server "${server}": the handler for ${method} failed: ${describeThrown(error)}`);
      return { code: HANDLER_ERROR_CODES.internalError, message: "The client failed to handle the request." };
    }
    const { code, message, warning } = error;
    if (warning !== undefined) log.warn(`Server "${server}": ${warning}`);
    return { code, message };
  }
}

function createHandlers(handlers: ServerRequestHandlers): Map<unknown, ServerRequestHandler> {
  const { roots, sample, elicitForm, elicitUrl } = handlers;
  const handlersByMethod = new Map<unknown, ServerRequestHandler>();
  if (roots !== undefined) handlersByMethod.set("roots/list", createRootsHandler(roots));
  if (sample !== undefined) handlersByMethod.set("sampling/createMessage", createSamplingHandler(sample));
  if (elicitForm !== undefined || elicitUrl !== undefined)
    handlersByMethod.set("elicitation/create", createElicitationHandler(handlers));
  return handlersByMethod;
}

const ROOTS_RESULT = z.array(
  z.object({
    uri: z
      .union([z.string(), z.instanceof(URL)])
      .transform(String)
      .refine((uri) => uri.startsWith("file://"), { error: "expected a URL starting with file://" }),
    name: z.string().optional(),
  }),
);

/** Handles `roots/list`. */
function createRootsHandler(roots: RootsOption): ServerRequestHandler {
  return () => async (context) => {
    const result = typeof roots === "function" ? await roots(context) : roots;
    return { roots: parseHandlerResult(ROOTS_RESULT, "roots returned an invalid result", result) };
  };
}

const SAMPLING_CONTENT = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.enum(["image", "audio"]), data: z.string(), mimeType: z.string() }),
]);

const SAMPLING_REQUEST = z.object({
  messages: receivedArray(
    z.object({
      role: z.enum(["user", "assistant"]),
      content: z
        .union([SAMPLING_CONTENT, receivedArray(SAMPLING_CONTENT)])
        .transform((content) => (Array.isArray(content) ? content : [content])),
    }),
  ),
  maxTokens: z.number(),
  systemPrompt: z.string().transform(stripHiddenCharacters).optional(),
  temperature: z.number().optional(),
  stopSequences: receivedArray(z.string()).optional(),
  includeContext: z.enum(["none", "thisServer", "allServers"]).optional().catch(undefined),
  modelPreferences: z
    .object({
      hints: receivedArray(z.object({ name: z.string().optional() })).optional(),
      costPriority: z.number().optional(),
      speedPriority: z.number().optional(),
      intelligencePriority: z.number().optional(),
    })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

const SAMPLING_RESULT = z.object({
  model: z.string().min(1),
  content: z.union([z.string().transform((text) => ({ type: "text" as const, text })), SAMPLING_CONTENT]),
  stopReason: z.string().optional(),
});

/** Handles `sampling/createMessage`. */
function createSamplingHandler(sample: SamplingHandler): ServerRequestHandler {
  return (params) => {
    // Tools are not declared for sampling, so a request with tools gets an error.
    if (params["tools"] !== undefined || params["toolChoice"] !== undefined)
      throw new HandlerError(
        "invalidParams",
        "Invalid params: this client does not support tools in sampling.",
      );
    const request = parseRequest(SAMPLING_REQUEST, params);
    return async (context) => {
      const { model, content, stopReason } = parseHandlerResult(
        SAMPLING_RESULT,
        "onSamplingRequest returned an invalid result",
        await sample(request, context),
      );
      return { role: "assistant", model, content, ...(stopReason === undefined ? {} : { stopReason }) };
    };
  };
}
