import { randomUUID } from "node:crypto";
import type { CallInput } from "../client/call-options.js";
import { mayHaveRun } from "../client/policies/failure-policies.js";
import { type McpTask, PausedTask } from "../client/tasks/mcp-task.js";
import { type ToolResult, toToolResult } from "../client/tool-result.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { printValue } from "../errors/sanitize-text.js";
import { fullHash } from "../json-schema/schema-hash.js";
import { isPlainObject } from "../json/json.js";
import type { StoreLease } from "../stores/key-value-store.js";
import { findPendingCalls, GraphTask } from "./graph-task.js";
import { callError, deniedError } from "./tool-failure.js";
import type { Approval, ToolCaller, ToolRun, ToolRuntime } from "./tool-run.js";

/** A step of a durable or an approved call, as it is saved in the checkpoint. */
interface CallRecord {
  /** The message and the call; of an approved call, the approval. */
  readonly key: string;
  /** The server, the tool and the arguments of the model; of an approved call, the arguments. */
  readonly callHash: string;
  /** Empty for an approved call. */
  readonly identityHash: string;
  /** One attempt to send the call. */
  readonly attempt: string;
  /** "starting" is saved before the request is sent, the others after its response. */
  readonly state: "starting" | "created" | "not-run";
  /** The task of a "created" call; not known if it needs input. */
  readonly task?: McpTask | undefined;
}

type CallDetails = Pick<CallRecord, "key" | "callHash" | "identityHash">;

/** How long a call waits until its checkpoint is saved, which LangGraph does not wait for. */
const MAX_SAVE_MS = 10_000;
const MAX_SAVE_WITH_STORE_MS = 1_000;
const NO_CHECKPOINTER =
  "is durable, which requires a graph with a checkpointer, and a tool call of its model: add a checkpointer.";
const NOT_ONLY_CALL =
  "it is durable, and a tool cannot pause the graph while other calls of its message run in the same graph task. " +
  "Use mcpMiddleware(toolset) in createAgent, or McpToolNode(toolset) in a graph; or call it alone.";
const NOT_SAVED =
  'is durable, but its graph does not save checkpoints while it runs: use the durability "async" or "sync".';
const NOT_RECORDED =
  "was not sent: approved and durable calls are recorded in the checkpoint before, and the checkpointer has failed or has not saved it in time. " +
  "Check the checkpointer, and resume the graph.";
const NOT_SHARED =
  "was not sent: its approval may be used by several processes, and nothing that they share records it. " +
  'Set the option approvalStore; or use the durability "async" or "sync" with a checkpointer that keeps earlier checkpoints.';
const NOT_LEASED =
  "was not sent: the approvalStore did not record it. Check the store, and resume the graph.";
const STARTED_ELSEWHERE =
  "another run has started it for the same approval, and its outcome is not known here. It is not sent again; a new call requires a new approval.";
const OTHER_USERS_TASK =
  "The task belongs to another user. Resume the graph with the config of the user who started it.";

/** Creates the error of a call that has to be durable and cannot be. Only the application can add a checkpointer. */
export function notDurableError({ runtime, context }: ToolRun): McpRuntimeError {
  const { interrupt } = new GraphTask(context.runConfig);
  if (interrupt !== undefined && context.toolCallId !== undefined) return deniedError(runtime, NOT_ONLY_CALL);
  return configProblem({ runtime }, NO_CHECKPOINTER);
}

/**
 * A call that is sent once for its approval, also if several processes resume the graph, or one of them ends: the call
 * is recorded in the checkpoint and in the `approvalStore` before it is sent. If the task of a call
 * already exists, the call continues with it.
 */
export function createApprovedCaller(run: ToolRun, approval: Approval): Pick<ToolCaller, "callTool"> {
  const { caller, settings } = run.runtime;
  const details = { key: approval.key, callHash: approval.argsHash, identityHash: "" };
  const needsRecords = settings.approvalStore === undefined;
  const attempts = new CallAttempts(run, details, { approval, needsRecords });
  return {
    async callTool(call, options) {
      if (options.input?.taskId !== undefined) return caller.callTool(call, options);
      const records = (await attempts.find()) ?? [];
      const attempt = mayHaveRunBefore(records) ? undefined : await attempts.start();
      if (attempt === undefined) throw startedElsewhereError(run);
      return attempts.send(attempt, () => caller.callTool(call, options));
    },
  };
}

/** The model is informed and may request approval again, also where failures are thrown: the graph would be stuck. */
function startedElsewhereError(run: ToolRun): McpRuntimeError {
  run.isRejected = true;
  return deniedError(run.runtime, STARTED_ELSEWHERE).with({ outcomeUnknown: true });
}

/** Allows one run to send the call of an approval. Released if the call has not run. */
type ApprovalLease = Pick<StoreLease, "release">;

const NO_LEASE: ApprovalLease = { release: async () => undefined };

/** A lease is not renewed: it also has to outlive the process that has sent the call. */
const LEASE_MS = 30 * 86_400_000;

/** Hashes of used approvals, keyed by the thread's storage object in MemorySaver. */
const USED_APPROVALS = new WeakMap<object, Set<string>>();

/** Returns `undefined` if another run of this process has the lease. */
function takeProcessLease(thread: object, key: string): ApprovalLease | undefined {
  const used = USED_APPROVALS.get(thread) ?? new Set();
  USED_APPROVALS.set(thread, used);
  const hash = fullHash(key);
  if (used.has(hash)) return undefined;
  used.add(hash);
  return { release: async () => void used.delete(hash) };
}

interface CallAttempt {
  readonly id: string;
  readonly lease: ApprovalLease;
}

/** The attempts of all runs to send a call, as records in the checkpoint. One run at a time may use an approval. */
class CallAttempts {
  readonly #run: ToolRun;
  readonly #graphTask: GraphTask;
  readonly #details: CallDetails;
  readonly #approval: Approval | undefined;
  /** Whether the call is not sent without a record in the checkpoint. Otherwise a lease in the store is enough. */
  readonly #needsRecords: boolean;

  constructor(
    run: ToolRun,
    details: CallDetails,
    { approval, needsRecords }: { readonly approval: Approval | undefined; readonly needsRecords: boolean },
  ) {
    this.#run = run;
    this.#graphTask = new GraphTask(run.context.runConfig);
    this.#details = details;
    this.#approval = approval;
    this.#needsRecords = needsRecords;
  }

  /** Returns what was saved by earlier runs; `undefined` if nothing is saved while the graph runs, as with the durability "exit". */
  async find(): Promise<CallRecord[] | undefined> {
    const { messageId } = findPendingCalls(this.#graphTask.input);
    const { cancellation } = this.#run;
    const { callHash } = this.#approval ?? {};
    const maxWaitMs = this.#needsRecords ? MAX_SAVE_MS : MAX_SAVE_WITH_STORE_MS;
    const records = await this.#access(() =>
      this.#graphTask.findRecords({ messageId, callHash, maxWaitMs, cancellation }),
    );
    if (records === undefined && this.#needsRecords && !this.#graphTask.savesOnExit)
      throw configProblem(this.#run, NOT_RECORDED);
    return records && this.#findOwn(records);
  }

  /**
   * Saves that the call is about to be sent. Two runs may do this at the same time: at least one of them sees the other,
   * and then does not send it (`undefined`).
   */
  async start(): Promise<CallAttempt | undefined> {
    const lease = await this.#takeLease();
    if (lease === undefined) return undefined;
    const attempt = { id: randomUUID(), lease };
    let isOnly = false;
    try {
      isOnly = await this.#isOnlyAttempt(attempt);
    } finally {
      if (!isOnly) await this.#saveOutcome(attempt, { state: "not-run" });
    }
    return isOnly ? attempt : undefined;
  }

  /** Sends the call, and saves the task that was created, or that the tool has not run. */
  async send(attempt: CallAttempt, callTool: () => Promise<ToolResult>): Promise<ToolResult> {
    try {
      const result = await callTool();
      const { inputRequired } = result;
      if (inputRequired !== undefined) {
        const { taskId, task } = inputRequired;
        await this.#saveOutcome(
          attempt,
          taskId === undefined ? { state: "not-run" } : { state: "created", task },
        );
      }
      // The graph saves a result later: until then, other runs do not know it.
      return result;
    } catch (error) {
      if (error instanceof McpRuntimeError && !mayHaveRun(error))
        await this.#saveOutcome(attempt, { state: "not-run" });
      throw error;
    }
  }

  /** Saves the attempt, and returns whether no other one may have run the call. */
  async #isOnlyAttempt(attempt: CallAttempt): Promise<boolean> {
    if (!this.#graphTask.canRecord) return true;
    await this.#access(() => this.#saveRecord(attempt, { state: "starting" }));
    const records = this.#findOwn(await this.#access(() => this.#graphTask.readRecords()));
    if (this.#needsRecords && !records.some((record) => record.attempt === attempt.id))
      throw configProblem(this.#run, NOT_RECORDED);
    return !mayHaveRunBefore(records.filter((record) => record.attempt !== attempt.id));
  }

  /** Returns `undefined` if another run has the lease. It is not needed where all resumes record in the same checkpoint. */
  async #takeLease(): Promise<ApprovalLease | undefined> {
    if (this.#approval === undefined) return NO_LEASE;
    const { key } = this.#approval;
    const { approvalStore } = this.#run.runtime.settings;
    if (approvalStore !== undefined) {
      try {
        return await approvalStore.lease?.(`approvals/${fullHash(key)}`, { ttlMs: LEASE_MS });
      } catch (error) {
        throw configProblem(this.#run, NOT_LEASED, error);
      }
    }
    const { processThread, sharesRecords } = this.#graphTask;
    if (processThread !== undefined) return takeProcessLease(processThread, key);
    if (!sharesRecords) throw configProblem(this.#run, NOT_SHARED);
    return NO_LEASE;
  }

  /** The task is in the interrupt, too: a failure to save it here must not hide it. */
  async #saveOutcome(attempt: CallAttempt, outcome: Pick<CallRecord, "state" | "task">): Promise<void> {
    const saves = [this.#saveRecord(attempt, outcome)];
    if (outcome.state === "not-run") saves.push(attempt.lease.release());
    for (const result of await Promise.allSettled(saves)) {
      if (result.status === "fulfilled") continue;
      this.#run.runtime.warn(`The outcome of a call could not be saved: ${printValue(result.reason)}`);
    }
  }

  /** An error of the checkpointer fails the run, which can be resumed: nothing was sent. */
  async #access<Result>(work: () => Promise<Result>): Promise<Result> {
    const { cancellation } = this.#run;
    try {
      return await cancellation.race(work());
    } catch (error) {
      cancellation.throwIfCancelled();
      throw configProblem(this.#run, NOT_RECORDED, error);
    }
  }

  async #saveRecord({ id }: CallAttempt, outcome: Pick<CallRecord, "state" | "task">): Promise<void> {
    await this.#graphTask.saveRecord({ ...this.#details, attempt: id, ...outcome } satisfies CallRecord);
  }

  #findOwn(records: readonly unknown[]): CallRecord[] {
    const { key } = this.#details;
    return records.filter((record) => isPlainObject(record) && record["key"] === key) as never;
  }
}

/**
 * Opens a call that is sent once, whatever happens to the process. What is about to be sent is saved before, and the task
 * that the server has created is saved after: a run that finds only the former does not know whether the tool has run. If
 * the task of a call already exists, the call continues with it.
 *
 * @throws McpRuntimeError if the call was sent by another run, and its outcome is not known
 */
export async function openDurableCall(
  run: ToolRun,
  approval: Approval | undefined,
): Promise<Pick<ToolCaller, "callTool">> {
  const { runtime, context } = run;
  const { caller } = runtime;
  const { toolCallId, server, tool } = context;
  const { messageId } = findPendingCalls(new GraphTask(context.runConfig).input);
  const identity = caller.identityOf({ context, signal: context.signal, purpose: "call" });
  const details: CallDetails = {
    key: JSON.stringify([messageId, toolCallId]),
    callHash: fullHash({ server, tool, args: run.args }),
    identityHash: fullHash(identity),
  };
  const attempts = new CallAttempts(run, details, { approval, needsRecords: true });
  const records = await attempts.find();
  if (records === undefined) throw configProblem(run, NOT_SAVED);
  const existing = findTask(records, details, runtime);
  if (existing instanceof PausedTask)
    return { callTool: async (call) => toToolResult(existing.toResult(), { server, tool: call.name }) };
  let taskId = existing?.taskId;
  return {
    async callTool(call, options) {
      const input: CallInput = { task: "check", taskId, ...options.input };
      if (input.taskId !== undefined) return caller.callTool(call, { ...options, input });
      const attempt = await attempts.start();
      if (attempt === undefined) throw unknownOutcomeError(runtime);
      const result = await attempts.send(attempt, () => caller.callTool(call, { ...options, input }));
      const { inputRequired } = result;
      if (inputRequired?.task === undefined) return result;
      ({ taskId } = inputRequired);
      const hasEnded = inputRequired.task.status !== "working";
      return hasEnded ? caller.callTool(call, { ...options, input: { task: "check", taskId } }) : result;
    },
  };
}

/** Returns the task that an earlier run has started, if any. That of another user is paused. */
function findTask(
  records: readonly CallRecord[],
  { callHash, identityHash }: CallDetails,
  runtime: ToolRuntime,
): McpTask | PausedTask | undefined {
  if (!mayHaveRunBefore(records)) return undefined;
  const task = records.find(({ state }) => state === "created")?.task;
  if (task !== undefined && records.some((record) => record.identityHash !== identityHash))
    return new PausedTask(task, OTHER_USERS_TASK);
  if (records.some((record) => record.callHash !== callHash)) {
    const reason = "it was started as a task with other arguments, and that task may still run.";
    throw deniedError(runtime, reason).with({ outcomeUnknown: true });
  }
  if (task === undefined) throw unknownOutcomeError(runtime);
  return task;
}

function unknownOutcomeError(runtime: ToolRuntime): McpRuntimeError {
  const text =
    `The durable call to tool "${runtime.schema.info.name}" was started by another run, ` +
    "and its task is not known: it is not started again.";
  return callError(runtime, "connection-lost", text, { outcomeUnknown: true });
}

/** Whether the call may have run: an attempt has created a task, or its response is unknown. */
function mayHaveRunBefore(records: readonly CallRecord[]): boolean {
  const notRun = new Set(records.flatMap(({ state, attempt }) => (state === "not-run" ? attempt : [])));
  return records.some(({ attempt }) => !notRun.has(attempt));
}

function configProblem(
  { runtime }: Pick<ToolRun, "runtime">,
  problem: string,
  cause?: unknown,
): McpRuntimeError {
  const text = `The call to tool "${runtime.schema.info.name}" ${problem}`;
  return callError(runtime, "invalid-config", text, { cause });
}
