import type { CancelScope } from "../../async/cancel-scope.js";
import { delay } from "../../async/clock.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { excerpt } from "../../errors/sanitize-text.js";
import { isPlainObject, type JsonObject, toObject } from "../../json/json.js";
import type { Session } from "../../session/session.js";
import { readResponse } from "../../transports/json-rpc.js";
import {
  IDEMPOTENT_CALL,
  type InternalRequestOptions,
  type RequestDependencies,
  type SendRequest,
  toSafeListener,
} from "../request-runner.js";
import { type McpTask, parseTask, PausedTask, toTaskSecrets } from "./mcp-task.js";

/** The options of a call that apply to its task, too. */
export type TaskOptions = Pick<
  InternalRequestOptions,
  "signal" | "timeoutMs" | "context" | "onProgress" | "headers" | "secrets"
>;

/** A task to wait for. */
export interface AwaitedTask {
  readonly taskId: string;
  /** For error messages; `undefined` if it is not known. */
  readonly tool?: string | undefined;
  /** The task as the server created it; without it, its status is requested at once. */
  readonly created?: McpTask | undefined;
  /** Input for the task, to be sent first. */
  readonly responses?: JsonObject | undefined;
  readonly deferInput: boolean;
}

/** How long to wait between two status requests if the server does not provide it. */
const DEFAULT_POLL_INTERVAL_MS = 1_000;
/** A server may provide 0: ten requests a second are enough to notice the end of a task soon. */
const MIN_POLL_INTERVAL_MS = 100;
/** A server may provide any interval; the status of a task that has ended should be known before `taskMs`. */
const MAX_POLL_INTERVAL_MS = 300_000;
/** Tasks that were created together are not polled together. */
const JITTER = 0.2;
/** How much input a task may require while it is awaited, in requests and in characters of their keys. */
const MAX_INPUT_REQUESTS = 1_000;
const MAX_INPUT_KEY_CHARS = 4_096;
/** The wait continues while a server restarts; this long after the first failed status request, it fails. */
const MAX_UNREACHABLE_MS = 300_000;

/** Failures of a status request after which the task may still be there. */
const TRANSIENT_KINDS: ReadonlySet<FailureKind> = new Set([
  "session-lost",
  "not-sent",
  "connection-lost",
  "timeout",
  "unavailable",
  "rate-limited",
  "circuit-open",
]);

/** Whether the task may still be there after this failure of a status request. */
export function isTransient(error: unknown): error is McpRuntimeError {
  return error instanceof McpRuntimeError && TRANSIENT_KINDS.has(error.kind);
}

/** Requests the status of one task until it has ended. */
export class TaskPoller {
  /** The task has ended or the server no longer knows it: there is nothing to cancel. */
  hasEnded = false;
  readonly #awaited: AwaitedTask;
  readonly #options: TaskOptions;
  readonly #deps: RequestDependencies;
  readonly #answeredKeys: Set<string>;
  readonly #onProgress: TaskOptions["onProgress"];
  #task: McpTask | undefined;
  #isCheck = false;
  /** The session of the last status request. */
  #session: Session | undefined;
  /** The error with which the server has rejected input. */
  #inputRejection: McpRuntimeError | undefined;
  #reports = 0;
  #reportedMessage: string | undefined;

  constructor(awaited: AwaitedTask, options: TaskOptions, deps: RequestDependencies) {
    this.#awaited = awaited;
    this.#options = options;
    this.#deps = deps;
    this.#task = awaited.created;
    this.#answeredKeys = new Set(Object.keys(awaited.responses ?? {}));
    const { onProgress } = options;
    this.#onProgress = onProgress && toSafeListener(onProgress, deps.events, deps.redactor);
  }

  run(): Promise<JsonObject> {
    const { clock, lifecycle } = this.#deps;
    return this.#run(async (send, cancellation) => {
      const { taskMs } = lifecycle.config.timeouts;
      const onExpired = () => cancellation.cancel(this.#timeoutError(taskMs));
      const disarm = taskMs === 0 ? undefined : clock.after(taskMs, onExpired);
      try {
        return await this.#pollUntilDone(send, cancellation);
      } finally {
        disarm?.();
      }
    });
  }

  /** Requests the status once. Returns `undefined` while the task is running. */
  check(): Promise<JsonObject | undefined> {
    return this.#run((send, cancellation) => this.#checkOnce(send, cancellation));
  }

  /** Cancels the task. Returns its result if it has ended before. */
  cancel(): Promise<JsonObject> {
    return this.#run(async (send, cancellation) => {
      const { taskId } = this.#awaited;
      try {
        await send("tasks/cancel", { taskId }, this.#details);
      } catch (error) {
        // A server rejects the cancellation of a task that has ended: its status shows whether that is so.
        if (!(error instanceof McpRuntimeError) || error.code === undefined) throw error;
      }
      const result = await this.#checkOnce(send, cancellation);
      if (result !== undefined) return result;
      throw this.#error("cancelled", "was asked to stop and has not ended yet");
    });
  }

  pause(error?: string): JsonObject {
    const task: McpTask = this.#task ?? { taskId: this.#awaited.taskId, status: "working" };
    return new PausedTask(task, error).toResult();
  }

  /** Whatever fails, the tool may have run, because its task was created. */
  async #run<T>(work: (send: SendRequest, cancellation: CancelScope) => Promise<T>): Promise<T> {
    const { signal, timeoutMs, context } = this.#options;
    try {
      return await this.#deps.runner.runOperation({ signal, timeoutMs, context }, work);
    } catch (error) {
      if (!(error instanceof McpRuntimeError)) throw error;
      const { tool } = this.#awaited;
      throw error.with({ server: this.#deps.server, tool, outcomeUnknown: true });
    }
  }

  async #checkOnce(send: SendRequest, cancellation: CancelScope): Promise<JsonObject | undefined> {
    const { responses } = this.#awaited;
    this.#isCheck = true;
    try {
      if (responses !== undefined) await this.#sendInput(send, responses);
      return await this.#poll(send, cancellation);
    } catch (error) {
      cancellation.throwIfCancelled();
      throw error;
    }
  }

  async #pollUntilDone(send: SendRequest, cancellation: CancelScope): Promise<JsonObject> {
    const { clock } = this.#deps;
    let { responses } = this.#awaited;
    let unreachableSince: number | undefined;
    this.#report();
    if (this.#task?.status === "working") await this.#waitForInterval(cancellation);
    for (;;) {
      try {
        if (responses !== undefined) await this.#sendInput(send, responses);
        responses = undefined;
        const result = await this.#poll(send, cancellation);
        if (result !== undefined) return result;
        unreachableSince = undefined;
      } catch (error) {
        // The reason of the cancellation, and not how it ended a request.
        cancellation.throwIfCancelled();
        unreachableSince ??= clock.now();
        if (clock.now() - unreachableSince > MAX_UNREACHABLE_MS || !isTransient(error)) throw error;
      }
      await this.#waitForInterval(cancellation);
    }
  }

  #waitForInterval(cancellation: CancelScope): Promise<void> {
    const { clock, random, lifecycle } = this.#deps;
    const { taskMs } = lifecycle.config.timeouts;
    const maxMs = taskMs === 0 ? MAX_POLL_INTERVAL_MS : Math.min(MAX_POLL_INTERVAL_MS, taskMs / 2);
    const intervalMs = Math.max(this.#task?.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS, MIN_POLL_INTERVAL_MS);
    return delay(Math.min(intervalMs, maxMs) * (1 + JITTER * random()), clock, cancellation);
  }

  /** Returns the result of the task; `undefined` while it is running. */
  async #poll(send: SendRequest, cancellation: CancelScope): Promise<JsonObject | undefined> {
    const raw = await this.#getTask(send);
    const task = this.#task;
    switch (task?.status) {
      case "completed":
        this.hasEnded = true;
        return isPlainObject(raw["result"]) ? toCallResult(raw["result"]) : this.#getResult(send);
      case "failed":
        this.hasEnded = true;
        return this.#getFailure(send, raw);
      case "cancelled":
        this.hasEnded = true;
        throw this.#error("cancelled", "was cancelled on the server");
      case "input_required":
        if (this.#inputRejection !== undefined) throw this.#inputRejection;
        if (!isPlainObject(raw["inputRequests"])) return this.#getResultWithInput(send);
        return this.#answerInput(send, raw["inputRequests"], cancellation);
      case "working":
      case undefined:
        return undefined;
    }
  }

  async #getTask(send: SendRequest): Promise<JsonObject> {
    const { taskId } = this.#awaited;
    const onCreated: InternalRequestOptions["onCreated"] = (request) => {
      requested = request;
    };
    let requested: { readonly session: Session | undefined } | undefined;
    try {
      const raw = await getTask(send, taskId, { ...this.#details, onCreated });
      this.#session = requested?.session;
      this.#task = parseTask(raw, this.#deps);
      this.#report();
      return raw;
    } catch (error) {
      if (error instanceof McpRuntimeError && error.kind === "not-found") this.hasEnded = true;
      throw error;
    }
  }

  async #getResult(send: SendRequest, timeouts: Partial<InternalRequestOptions> = {}): Promise<JsonObject> {
    const { taskId } = this.#awaited;
    const result = await send("tasks/result", { taskId }, { ...this.#details, ...timeouts });
    this.hasEnded = true;
    return toCallResult(result);
  }

  /** A server with sessions sends its input requests on the stream of `tasks/result`, which ends with the task. */
  async #getResultWithInput(send: SendRequest): Promise<JsonObject | undefined> {
    if (!this.#isCheck) return this.#getResult(send, { timeoutMs: 0, totalMs: 0 });
    try {
      return await this.#getResult(send);
    } catch (error) {
      if (error instanceof McpRuntimeError && error.kind === "timeout") return undefined;
      throw error;
    }
  }

  /** A failed task has an error, or a result with `isError`. */
  async #getFailure(send: SendRequest, raw: JsonObject): Promise<JsonObject> {
    if (isPlainObject(raw["error"])) {
      const failure = readResponse({ error: raw["error"] }, "tools/call", this.#deps);
      throw failure instanceof McpRuntimeError ? failure : this.#error("server-error", "failed");
    }
    try {
      return await this.#getResult(send);
    } catch (error) {
      const hasNoResult = error instanceof McpRuntimeError && error.code !== undefined;
      throw hasNoResult ? this.#error("server-error", "failed", error) : error;
    }
  }

  /** Returns the input requests that the caller has to answer, as an incomplete result. */
  async #answerInput(
    send: SendRequest,
    inputRequests: JsonObject,
    cancellation: CancelScope,
  ): Promise<JsonObject | undefined> {
    const { taskId, deferInput } = this.#awaited;
    // The server may not have processed earlier answers yet.
    const unanswered = Object.entries(inputRequests).filter(([key]) => !this.#answeredKeys.has(key));
    if (unanswered.length === 0) return undefined;
    const isExcessive = this.#answeredKeys.size + unanswered.length > MAX_INPUT_REQUESTS;
    if (isExcessive || unanswered.some(([key]) => key.length > MAX_INPUT_KEY_CHARS))
      throw this.#error(
        "invalid-response",
        `requires input more than ${MAX_INPUT_REQUESTS} times, or with keys of more than ${MAX_INPUT_KEY_CHARS} characters`,
      );
    if (this.#session?.answerInput === undefined)
      throw this.#error(
        "invalid-response",
        "requests input in a way that its protocol version does not define",
      );
    const outcome = await this.#session.answerInput(
      { inputRequests: Object.fromEntries(unanswered) },
      { cancellation, deferInput },
    );
    if ("deferred" in outcome) return { ...outcome.deferred, taskId };
    const { inputResponses } = outcome.retryWith;
    if (isPlainObject(inputResponses)) {
      for (const [key] of unanswered) this.#answeredKeys.add(key);
      await this.#sendInput(send, inputResponses);
    }
    return undefined;
  }

  /** A server may reject input because the task has ended: the next status request shows whether that is so. */
  async #sendInput(send: SendRequest, inputResponses: JsonObject): Promise<void> {
    const { taskId } = this.#awaited;
    try {
      await send("tasks/update", { taskId, inputResponses }, this.#details);
    } catch (error) {
      if (!(error instanceof McpRuntimeError) || error.code === undefined) throw error;
      this.#inputRejection = error;
    }
  }

  /** Reports each status once. */
  #report(): void {
    const { statusMessage } = this.#task ?? {};
    if (statusMessage === undefined || statusMessage === this.#reportedMessage) return;
    this.#reportedMessage = statusMessage;
    this.#reports += 1;
    this.#onProgress?.({ progress: this.#reports, message: statusMessage });
  }

  get #details(): InternalRequestOptions {
    const { headers, secrets = [] } = this.#options;
    const taskSecrets = toTaskSecrets(this.#awaited.taskId);
    return { headers, secrets: [...secrets, ...taskSecrets], ...IDEMPOTENT_CALL };
  }

  /** Without the id, which works like a password with some servers. */
  get #subject(): string {
    const { tool } = this.#awaited;
    return `A task of ${tool === undefined ? "" : `tool "${tool}" of `}server "${this.#deps.server}"`;
  }

  #error(kind: FailureKind, problem: string, cause?: unknown): McpRuntimeError {
    const { statusMessage } = this.#task ?? {};
    const detail = statusMessage === undefined ? "." : `: ${excerpt(statusMessage)}`;
    return new McpRuntimeError(kind, `${this.#subject} ${problem}${detail}`, { cause });
  }

  #timeoutError(taskMs: number): McpRuntimeError {
    const text = `${this.#subject} did not end within ${taskMs} ms (timeouts.taskMs).`;
    return new McpRuntimeError("timeout", text);
  }
}

/** How a request about a task is sent, if it does not belong to a call. */
export function toTaskDetails(taskId: string): InternalRequestOptions {
  return { ...IDEMPOTENT_CALL, secrets: toTaskSecrets(taskId) };
}

/** @throws {McpRuntimeError} kind `not-found` if the server does not know the task. */
export async function getTask(
  send: SendRequest,
  taskId: string,
  details: InternalRequestOptions = toTaskDetails(taskId),
): Promise<JsonObject> {
  const result = await send("tasks/get", { taskId }, details).catch(toUnknownTaskError);
  const task = toObject(result);
  // The state of another task would be taken for the result of this one.
  if (task["taskId"] === taskId) return task;
  throw new McpRuntimeError("invalid-response", "The response to tasks/get is about another task.");
}

/** Servers return invalid params for a task that they do not know. */
function toUnknownTaskError(error: unknown): never {
  const isUnknown =
    error instanceof McpRuntimeError &&
    error.code !== undefined &&
    (error.kind === "invalid-request" || error.kind === "not-found");
  if (!isUnknown) throw error;
  const message = `The server does not know the task, or does not support tasks. ${error.message}`;
  throw error.with({ kind: "not-found", message });
}

function toCallResult(result: unknown): JsonObject {
  const { resultType: _, ...rest } = toObject(result);
  return rest;
}
