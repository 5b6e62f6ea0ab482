import { isDeepStrictEqual } from "node:util";
import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { suggestMatch } from "../../errors/find-closest-match.js";
import { pluralize } from "../../errors/sanitize-text.js";
import { describeValue } from "../../json/describe-value.js";
import { fullHash } from "../../json-schema/schema-hash.js";
import { isPlainObject, type JsonObject, toObject } from "../../json/json.js";
import { safeClone } from "../../json/safe-clone.js";
import {
  findPendingCalls,
  GraphTask,
  isBaseMessage,
  MAX_INTERRUPTS,
  toActionRequests,
} from "../graph-task.js";
import type { McpTool } from "../mcp-tool.js";
import { maskArguments, mayNeedApproval, toCallPreview } from "../prepare-call.js";
import { deniedError } from "../tool-failure.js";
import type { PreparedCall, ToolRun, ToolRuntime } from "../tool-run.js";
import {
  type ApprovalDecision,
  type ApprovalRequest,
  type Decision,
  DECISIONS,
  recordDecision,
  type ReviewSource,
  ReviewableCall,
} from "./reviewable-call.js";

const NO_APPROVER =
  "it needs approval, but there is no way to request it (set the option onApproval, or use mcpMiddleware or McpToolNode in a graph with a checkpointer).";
const NO_CHECKPOINTER =
  "it needs approval, and a graph without a checkpointer cannot wait for it: add a checkpointer (checkpointer: new MemorySaver() in createAgent or compile), or set the option onApproval.";
const NOT_ONLY_CALL =
  "it needs approval, which a tool cannot request before the other calls of its message run. " +
  'Use mcpMiddleware(toolset) in createAgent, or McpToolNode(toolset) in a graph (in createReactAgent with version "v1").';

const REPEATED_WITHOUT_ID =
  "it needs approval, and was called again for a call without an id: an approval is for one call. " +
  "Give the calls of the message an id each.";

/**
 * Requests approval from inside the tool, where neither middleware nor tool node has done so: calls `onApproval`,
 * or interrupts the graph if this is the only call of its message.
 */
export async function requestApproval(run: ToolRun, prepared: PreparedCall): Promise<PreparedCall> {
  const { runtime, context } = run;
  const { onApproval } = runtime.settings;
  const args = maskArguments(runtime, prepared.args);
  if (onApproval !== undefined) {
    run.cancellation.throwIfCancelled();
    // Not limited: it waits for a person.
    const asking = (async (): Promise<unknown> => onApproval(toCallPreview(run, args)))();
    const answer = await run.cancellation.race(asking).catch((error: unknown) => {
      if (!run.cancellation.isCancelled)
        recordDecision(run, { decision: "deny", source: "onApproval", args });
      throw error;
    });
    // A truthy value may be a mistake.
    const isApproved = answer === true;
    recordDecision(run, { decision: isApproved ? "approve" : "reject", source: "onApproval", args });
    if (!isApproved) throw deniedError(runtime, "it was not approved.");
    return prepared;
  }
  const task = new GraphTask(context.runConfig);
  // A resumed task runs again from its start, with every call it makes.
  if (task.interrupt === undefined || !task.hasOnlyCall(context.toolCallId)) {
    recordDecision(run, { decision: "deny", source: "tool", args });
    throw deniedError(runtime, describeNotRequested(task, runtime));
  }
  if (context.toolCallId === undefined && !task.isFirstRequest()) {
    recordDecision(run, { decision: "deny", source: "tool", args });
    throw deniedError(runtime, REPEATED_WITHOUT_ID);
  }
  const { messageId } = findPendingCalls(task.input);
  const call = await ReviewableCall.create(run, prepared, { source: "tool", messageId });
  const [decision = null] = await interruptForApproval([call], task);
  return call.resolve(decision, run);
}

/** The toolsets, by their settings, for which the missing checkpointer was logged. */
const loggedSettings = new WeakSet<ToolRuntime["settings"]>();

function describeNotRequested(task: GraphTask, { settings, warn }: ToolRuntime): string {
  if (task.interrupt !== undefined) return NOT_ONLY_CALL;
  if (!task.lacksCheckpointer) return NO_APPROVER;
  if (!loggedSettings.has(settings)) warn(`The call was denied: ${NO_CHECKPOINTER}`);
  loggedSettings.add(settings);
  return NO_CHECKPOINTER;
}

/** The message and the run that a call belongs to. */
export interface CallLocation {
  readonly messageId: string | undefined;
  readonly config: RunnableConfig;
}

/** A call that may need approval. */
interface PendingCall {
  readonly call: ToolCall;
  readonly review: ReviewableCall;
}

/** Finds a tool that the run of this config may see. */
type FindTool = (name: string, config: RunnableConfig) => Promise<McpTool | undefined>;

/** The oldest calls are evicted above this; a resumed graph prepares them again. */
const MAX_PENDING = 1_000;

interface PreparedReview {
  readonly runtime: ToolRuntime;
  readonly received: ReceivedConfig;
  readonly review: Promise<ReviewableCall>;
}

/**
 * Calls that wait for approval. Each is prepared once, so hooks do not run again when the graph resumes in this
 * process while the tool, the arguments and all that hooks receive are the same. Prepared calls may contain secrets and
 * are never written to a checkpoint, so another process prepares them again.
 */
export class PendingApprovals {
  readonly #source: ReviewSource["source"];
  readonly #findTool: FindTool;
  readonly #pending = new Map<string, PreparedReview>();

  constructor(source: ReviewSource["source"], findTool: FindTool) {
    this.#source = source;
    this.#findTool = findTool;
  }

  /** Prepares those of the calls that may need approval. */
  async prepare(calls: readonly ToolCall[], location: CallLocation): Promise<PendingCall[]> {
    const withoutId = calls.filter(({ id }) => id === undefined);
    let received: ReceivedConfig | undefined;
    const prepared = calls.map(async (call) => {
      const position = call.id === undefined ? withoutId.indexOf(call) : undefined;
      const tool = await this.#findTool(call.name, location.config);
      if (tool === undefined || !mayNeedApproval(tool.runtime)) return [];
      received ??= new ReceivedConfig(location.config);
      return [{ call, review: await this.#prepareOnce(tool, call, { ...location, position, received }) }];
    });
    return (await Promise.all(prepared)).flat();
  }

  /**
   * Requests decisions with one interrupt for all calls that need approval. The map has only those calls; it is
   * empty when no call needs approval or the graph cannot be interrupted.
   */
  async requestDecisions(
    pending: readonly PendingCall[],
    config: RunnableConfig,
  ): Promise<ReadonlyMap<ReviewableCall, ApprovalDecision>> {
    const undecided = pending.map(({ review }) => review).filter(({ needsApproval }) => needsApproval);
    const task = new GraphTask(config);
    if (undecided.length === 0 || task.interrupt === undefined) return new Map();
    const decisions = await interruptForApproval(undecided, task);
    return new Map(undecided.map((review, index) => [review, decisions[index] ?? null]));
  }

  /** Call before the call runs: running it again requires a new approval. */
  delete(call: ToolCall, location: CallLocation): void {
    this.#pending.delete(keyOf(call, location) ?? "");
  }

  #prepareOnce(
    { runtime }: McpTool,
    call: ToolCall,
    {
      received,
      ...location
    }: CallLocation & Pick<ReviewSource, "position"> & Pick<PreparedReview, "received">,
  ): Promise<ReviewableCall> {
    const key = keyOf(call, location);
    const existing = this.#pending.get(key ?? "");
    if (existing?.runtime === runtime && existing.received.equals(received)) return existing.review;
    const review = ReviewableCall.prepare(runtime, call, { ...location, source: this.#source });
    if (key === undefined) return review;
    const entry = { runtime, received, review };
    this.#pending.set(key, entry);
    review.catch(() => {
      if (this.#pending.get(key) === entry) this.#pending.delete(key);
    });
    const [oldestKey = ""] = this.#pending.keys();
    if (this.#pending.size > MAX_PENDING) this.#pending.delete(oldestKey);
    return review;
  }
}

/** The keys of `configurable` and `metadata` that LangGraph sets for each task. */
const TASK_KEY = /^(?:__|checkpoint_|langgraph_(?:step|node|triggers|path|checkpoint_ns)$)/;

/** What hooks and functions of rules receive of a run: they may return something else if it has changed. */
class ReceivedConfig {
  /** Plain objects and arrays are copied, because the application may change them in place. */
  readonly #values: unknown;
  readonly #store: unknown;

  constructor(config: RunnableConfig) {
    const { configurable, metadata, tags, context, state, store } = config as RunnableConfig & JsonObject;
    const values = { configurable: withoutTaskKeys(configurable), metadata: withoutTaskKeys(metadata) };
    this.#values = safeClone(
      { ...values, tags, context, state },
      { nonJson: "preserve", maxDepth: Number.POSITIVE_INFINITY, convert: toMessageJson },
    ).copy;
    // LangGraph wraps the store for each run.
    this.#store = Reflect.get(Object(store), "store") ?? store;
  }

  equals(other: ReceivedConfig): boolean {
    return this.#store === other.#store && isDeepStrictEqual(this.#values, other.#values);
  }
}

function withoutTaskKeys(values: JsonObject | undefined): JsonObject {
  return Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => !TASK_KEY.test(key)));
}

/** A message that was loaded from a checkpoint has the same JSON, but not always the same properties. */
function toMessageJson(value: object): unknown {
  return isBaseMessage(value) ? value.toJSON() : value;
}

/**
 * Call ids alone are not unique: some models number their calls and start again with every message. The arguments of
 * a call may be changed by `updateState`.
 */
function keyOf({ id, name, args }: ToolCall, { messageId, config }: CallLocation): string | undefined {
  if (id === undefined || messageId === undefined) return undefined;
  return JSON.stringify([new GraphTask(config).graphKey, messageId, id, name, fullHash(args)]);
}

/**
 * Interrupts the graph once for all these calls and returns the decisions when it is resumed. Interrupts again
 * after an invalid answer.
 *
 * A resumed task runs again from its start, possibly in another process that has prepared the calls again. So
 * the arguments are compared with those that were requested.
 */
async function interruptForApproval(
  calls: readonly ReviewableCall[],
  task: GraphTask,
): Promise<readonly ApprovalDecision[]> {
  const decisions = interruptUntilDecided(calls, task);
  const hashes = calls.map(({ hash }) => hash);
  if (calls.every(({ requestedWith }) => isDeepStrictEqual(requestedWith, hashes))) return decisions;
  const requests = toActionRequests(await task.lastQuestion());
  const requested = requests.map((request) => toObject(request)["callHash"]);
  return calls.map((call, index) => {
    const isSame = requested.length === calls.length && call.isAbout(requested[index]);
    return isSame ? (decisions[index] ?? null) : null;
  });
}

function interruptUntilDecided(calls: readonly ReviewableCall[], task: GraphTask): Decision[] {
  let problem = "";
  for (let attempt = 0; attempt < MAX_INTERRUPTS; attempt += 1) {
    const decisions = readDecisions(interrupt(calls, task, problem), calls);
    if (typeof decisions !== "string") return decisions;
    problem = decisions;
  }
  throw new McpRuntimeError("denied", `No valid answer was received: ${problem}`);
}

function interrupt(calls: readonly ReviewableCall[], task: GraphTask, problem: string): unknown {
  const request: ApprovalRequest = {
    actionRequests: calls.map(({ action }) => ({
      ...action,
      description: [problem, action.description].filter((text) => text !== "").join("\n"),
    })),
    reviewConfigs: calls.map(({ reviewConfig }) => reviewConfig),
  };
  try {
    return task.interrupt?.(request);
  } catch (error) {
    for (const call of calls) call.requestedWith = calls.map(({ hash }) => hash);
    throw error;
  }
}

/** The keys of each decision of LangChain's `HITLResponse`. */
const DECISION_KEYS: Readonly<Record<Decision["type"], readonly string[]>> = {
  approve: ["type"],
  edit: ["type", "editedAction"],
  reject: ["type", "message"],
};
/** Those of the request, too: an edited action may be a copy of it with other arguments. */
const EDITED_ACTION_KEYS: readonly string[] = ["name", "args", "description", "toolCallId", "callHash"];
/** Answers to other interrupts may be part of the same value. */
const ANSWER_KEYS: readonly string[] = ["decisions", "answers", "task"];

/** Returns the decisions of an answer (LangChain's `HITLResponse`), or a description of what is wrong with it. */
function readDecisions(answer: unknown, calls: readonly ReviewableCall[]): Decision[] | string {
  const { decisions } = toObject(answer);
  if (!Array.isArray(decisions)) return "The answer has no array of decisions: { decisions: [{ type }] }.";
  const unknownKey = describeUnknownKey(toObject(answer), ANSWER_KEYS);
  if (unknownKey !== undefined) return `The answer ${unknownKey}`;
  if (decisions.length !== calls.length)
    return `The answer has ${pluralize(decisions.length, "decision")} for ${pluralize(calls.length, "call")}.`;
  const problems = calls.flatMap((call, index) => validateDecision(decisions[index], call) ?? []);
  if (problems.length > 0) return problems.join(" ");
  const valid = decisions as Decision[];
  const invalidEdits = valid.flatMap((decision, index) => calls[index]?.validateEdits(decision) ?? []);
  return invalidEdits.length > 0 ? invalidEdits.join("\n") : valid;
}

function validateDecision(decision: unknown, call: ReviewableCall): string | undefined {
  const { name } = call;
  const { type, editedAction, message } = toObject(decision);
  const known = DECISIONS.find((each) => each === type);
  if (known === undefined)
    return `The decision about ${name} must be one of ${DECISIONS.join(", ")}, got ${describeValue(type)}.`;
  const unknownKey = describeUnknownKey(toObject(decision), DECISION_KEYS[known]);
  if (unknownKey !== undefined) return `The decision "${known}" about ${name} ${unknownKey}`;
  if (known === "edit") return validateEditedAction(editedAction, call);
  const isText = message === undefined || message === null || typeof message === "string";
  return isText ? undefined : `The message about ${name} is not a string.`;
}

function validateEditedAction(action: unknown, { name, hash }: ReviewableCall): string | undefined {
  if (!isPlainObject(action) || !isPlainObject(action["args"]))
    return `The edited call of ${name} has no arguments: { editedAction: { name, args } }.`;
  const unknownKey = describeUnknownKey(action, EDITED_ACTION_KEYS);
  if (unknownKey !== undefined) return `The edited call of ${name} ${unknownKey}`;
  const { name: editedName = name, callHash = hash } = action;
  if (editedName !== name) return `A call of ${name} cannot be changed to another tool.`;
  return callHash === hash ? undefined : `The edited call of ${name} has the callHash of another call.`;
}

/** An unknown key may be meant as a condition or as a change, so that it must not be ignored. */
function describeUnknownKey(value: JsonObject, keys: readonly string[]): string | undefined {
  const isAbsent = (key: string) => value[key] === undefined || value[key] === null;
  const unknownKey = Object.keys(value).find((key) => !keys.includes(key) && !isAbsent(key));
  if (unknownKey === undefined) return undefined;
  const hint = suggestMatch(unknownKey, keys);
  return `has an unknown key ${describeValue(unknownKey)}; valid keys: ${keys.join(", ")}.${hint}`;
}
