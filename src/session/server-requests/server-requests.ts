import { CancelScope } from "../../async/cancel-scope.js";
import { Semaphore } from "../../async/semaphore.js";
import { isPlainObject, type JsonObject } from "../../json/json.js";
import type { JsonRpcMessage } from "../../config/message-transport.js";
import type { ServerRequestContext, ServerRequestHandlers } from "../../config/server-request-handlers.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { RequestId } from "../../transports/json-rpc.js";
import { answerElicitation } from "./elicitation-handler.js";
import { answerRoots } from "./roots-handler.js";
import { answerSampling } from "./sampling-handler.js";
import { ANSWER_CODES, AnswerError, type Answerer } from "./server-request-handler.js";

interface ServerRequestsOptions {
  readonly server: string;
  /** Whose session it is; empty for everybody's. */
  readonly identity: string;
  readonly handlers: ServerRequestHandlers;
  /** How many the handlers answer at the same time. */
  readonly limit: number;
  readonly onWarning: (message: string) => void;
}

type Send = (answer: JsonRpcMessage) => void;

/** Running and waiting ones together: a server that asks for more at once wants no answers. */
export const MOST_OPEN = 256;

/**
 * Answers what the server asks on one session, from its first message on. The SDK's client, which shakes
 * hands, is left none of it: it cannot take back a request with the id 0, the first that its own servers
 * give, and bounds nothing.
 */
export class ServerRequests {
  readonly #options: ServerRequestsOptions;
  readonly #answerers: ReadonlyMap<unknown, Answerer>;
  readonly #slots: Semaphore;
  readonly #open = new Map<RequestId, CancelScope>();
  #isClosed = false;

  constructor(options: ServerRequestsOptions) {
    this.#options = options;
    this.#answerers = toAnswerers(options.handlers);
    this.#slots = new Semaphore(options.limit);
  }

  /** Takes a request of the server, or its word that it no longer wants one; leaves everything else. */
  take(message: unknown, send: Send): boolean {
    if (!isPlainObject(message)) return false;
    const { method, id, params } = message;
    const asked = isPlainObject(params) ? params : {};
    if (method === "notifications/cancelled") {
      this.#end(asked["requestId"] as RequestId, asked["reason"]);
      return true;
    }
    if (typeof method !== "string" || (typeof id !== "string" && typeof id !== "number")) return false;
    // What is sent once more, as on a stream that was resumed, is answered once.
    if (!this.#isClosed && !this.#open.has(id)) void this.#respond(id, { method, params: asked }, send);
    return true;
  }

  /** Nobody waits for answers any more. A handler that goes on all the same holds nothing up. */
  close(): void {
    this.#isClosed = true;
    const reason = new McpRuntimeError("closed", `The session with server "${this.#options.server}" ended.`);
    for (const id of this.#open.keys()) this.#end(id, reason);
  }

  #end(id: RequestId, reason: unknown): void {
    this.#open.get(id)?.cancel(reason);
    this.#open.delete(id);
  }

  async #respond(id: RequestId, asked: { method: string; params: JsonObject }, send: Send): Promise<void> {
    const isTooMuch = this.#open.size >= MOST_OPEN;
    const cancellation = new CancelScope();
    this.#open.set(id, cancellation);
    try {
      if (isTooMuch) throw new AnswerError("internalError", "Too many requests at the same time.");
      const result = await this.answer(asked.method, asked.params, cancellation);
      if (!cancellation.isCancelled) send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!cancellation.isCancelled)
        send({ jsonrpc: "2.0", id, error: this.toRpcError(asked.method, error) });
    } finally {
      if (this.#open.get(id) === cancellation) this.#open.delete(id);
    }
  }

  /** The answer to a request, or an `AnswerError`, or whatever a handler throws. */
  async answer(method: string, params: JsonObject, cancellation: CancelScope): Promise<JsonObject> {
    if (method === "ping") return {};
    const answerer = this.#answerers.get(method);
    if (answerer === undefined) throw new AnswerError("methodNotFound", "Method not found");
    const ask = answerer(params);
    // Folders are told at once: who asks for them must not wait until eight people have filled in forms.
    const leave = method === "roots/list" ? () => undefined : await this.#slots.enter(cancellation);
    const asking = (async () => ask(this.#contextOf(cancellation)))();
    // The place is taken for as long as the handler runs, also when nobody waits for it any more.
    asking.then(leave, leave);
    return cancellation.race(asking);
  }

  #contextOf(cancellation: CancelScope): ServerRequestContext {
    const { server, identity } = this.#options;
    const controller = new AbortController();
    cancellation.onCancel((reason) => controller.abort(reason));
    return { server, signal: controller.signal, ...(identity === "" ? {} : { identity }) };
  }

  /** What the server is told. What went wrong on our side stays on our side, as a warning. */
  toRpcError(method: string, error: unknown): { code: number; message: string } {
    const { server, onWarning } = this.#options;
    if (error instanceof McpRuntimeError && error.kind === "denied")
      return { code: ANSWER_CODES.refused, message: "The user rejected the request." };
    if (!(error instanceof AnswerError)) {
      onWarning(`Server "${server}": the handler of ${method} failed: ${describe(error)}`);
      return { code: ANSWER_CODES.internalError, message: "The client failed to answer." };
    }
    const { code, message, warning } = error;
    if (warning !== undefined) onWarning(`Server "${server}": ${warning}`);
    return { code, message };
  }
}

function toAnswerers(handlers: ServerRequestHandlers): Map<unknown, Answerer> {
  const { roots, sample, elicitForm, elicitUrl } = handlers;
  const answerers = new Map<unknown, Answerer>();
  if (roots !== undefined) answerers.set("roots/list", answerRoots(roots));
  if (sample !== undefined) answerers.set("sampling/createMessage", answerSampling(sample));
  if (elicitForm !== undefined || elicitUrl !== undefined)
    answerers.set("elicitation/create", answerElicitation(handlers));
  return answerers;
}

/** What somebody's code threw may be anything, also something that cannot be written down. */
function describe(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return "it threw something that cannot be shown";
  }
}
