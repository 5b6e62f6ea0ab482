import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { isPlainObject, type JsonObject, omitUndefined, toObject } from "../../json/json.js";
import type { ErrorContext } from "../../transports/json-rpc.js";

const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;

/** Ids are saved in checkpoints. */
const MAX_TASK_ID_CHARS = 4_096;
const MAX_DATE_CHARS = 64;

/** The state of a task. The last three are final. */
export type TaskStatus = (typeof STATUSES)[number];

/** A tool call that runs on its server as a task. */
export interface McpTask {
  /** The id that the server gave the task. Treat it as a secret: with some servers, it is enough to read the result. */
  readonly taskId: string;
  /** The status of the task. */
  readonly status: TaskStatus;
  /** The server's description of the status. */
  readonly statusMessage?: string | undefined;
  /** When the task was created (ISO 8601), if the server provides it. */
  readonly createdAt?: string | undefined;
  /** When the status last changed (ISO 8601), if the server provides it. */
  readonly lastUpdatedAt?: string | undefined;
  /** How long the server keeps the task after its creation, in milliseconds; `undefined` if that is unlimited or unknown. */
  readonly ttlMs?: number | undefined;
  /** How long to wait between two status requests, in milliseconds, if the server provides it. This client waits 100 at least. */
  readonly pollIntervalMs?: number | undefined;
}

/** A task that has not ended, in the place of a call's result. A class, because a server cannot send an instance. */
export class PausedTask {
  readonly task: McpTask;
  /** Why its status could not be requested. */
  readonly error: string | undefined;

  constructor(task: McpTask, error?: string) {
    this.task = task;
    this.error = error;
  }

  /** The incomplete result of the call. */
  toResult(): JsonObject {
    const { taskId } = this.task;
    return { resultType: "input_required", inputRequests: {}, taskId, pausedTask: this };
  }
}

/** Shorter ids can be guessed, and a word as an id would be redacted wherever it occurs. */
const SECRET_TASK_ID = /^\S{16,}$/;

/** Returns the id if it has to be redacted in messages. */
export function toTaskSecrets(taskId: string): readonly string[] {
  return SECRET_TASK_ID.test(taskId) ? [taskId] : [];
}

/** Returns the task in the result of a call that the server has turned into one, as received. */
export function getCreatedTask(result: unknown): JsonObject | undefined {
  if (!isPlainObject(result)) return undefined;
  // In 2026-07-28 the result is the task (SDK 2.x adds empty content); in 2025-11-25 it contains the task.
  const isTask = result["resultType"] === "task";
  const task = isTask || result["content"] !== undefined ? isTask && result : result["task"];
  // An invalid id is an invalid task: as a result, it would be an empty one.
  return isPlainObject(task) && (isTask || task["taskId"] !== undefined) ? task : undefined;
}

/** Parses a task of either protocol revision. Invalid optional fields are dropped. */
export function parseTask(value: unknown, { server, redactor }: ErrorContext): McpTask {
  const raw = toObject(value);
  const { taskId, statusMessage, createdAt, lastUpdatedAt } = raw;
  const status = STATUSES.find((name) => name === raw["status"]);
  const isIdValid = typeof taskId === "string" && taskId !== "" && taskId.length <= MAX_TASK_ID_CHARS;
  if (!isIdValid || status === undefined) {
    const missing = isIdValid ? "known status" : `taskId of 1 to ${MAX_TASK_ID_CHARS} characters`;
    const text = `Server "${server}" sent an invalid task: it has no ${missing}.`;
    throw new McpRuntimeError("invalid-response", text, { server, outcomeUnknown: true });
  }
  const optional = omitUndefined({
    statusMessage: typeof statusMessage === "string" ? redactor.sanitize(statusMessage) : undefined,
    createdAt: toDate(createdAt),
    lastUpdatedAt: toDate(lastUpdatedAt),
    ttlMs: toMs(raw["ttlMs"] ?? raw["ttl"]),
    pollIntervalMs: toMs(raw["pollIntervalMs"] ?? raw["pollInterval"]),
  });
  return { taskId, status, ...optional };
}

/** Drops other text: it would be neither sanitized nor redacted. */
function toDate(value: unknown): string | undefined {
  const isDate =
    typeof value === "string" && value.length <= MAX_DATE_CHARS && /^\d{4}-[-\d:.TZ+]+$/.test(value);
  return isDate ? value : undefined;
}

function toMs(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}
