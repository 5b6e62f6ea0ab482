import { createHash, scrypt } from "node:crypto";
import { promisify } from "node:util";
import type { ToolCall } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { fullHash, toCanonicalJson } from "../../json-schema/schema-hash.js";
import { toJson } from "../../json/describe-value.js";
import { isDeepEqual, isPlainObject, type JsonObject } from "../../json/json.js";
import { GraphTask } from "../graph-task.js";
import { applyEdits, guardEdits, maskArguments, prepareCall, toModelVisibleArgs } from "../prepare-call.js";
import { deniedError, toModelFailure } from "../tool-failure.js";
import {
  type ApprovalDecided,
  type PreparedCall,
  ToolContext,
  ToolRun,
  type ToolRuntime,
} from "../tool-run.js";

/** LangChain's `ActionRequest`: a call that needs approval. */
interface ActionRequest {
  /** The tool's name, as models see it. */
  readonly name: string;
  /** The arguments that would be sent; sensitive values and those that rules inject are masked. */
  readonly args: JsonObject;
  readonly description: string;
  /** The id that the model gave the call. */
  readonly toolCallId: string | undefined;
  /** Identifies the tool, the call, its arguments and its user: the decision applies to nothing else. */
  readonly callHash: string;
}

/** LangChain's `ReviewConfig`. */
interface ReviewConfig {
  readonly actionName: string;
  readonly allowedDecisions: readonly Decision["type"][];
  readonly argsSchema: JsonObject;
}

/** LangChain's `HITLRequest`. */
export interface ApprovalRequest {
  readonly actionRequests: readonly ActionRequest[];
  readonly reviewConfigs: readonly ReviewConfig[];
}

/** LangChain's `Decision`. */
export type Decision =
  | { readonly type: "approve" }
  | { readonly type: "edit"; readonly editedAction: { readonly name: string; readonly args: JsonObject } }
  | { readonly type: "reject"; readonly message?: string | undefined };

export const DECISIONS: readonly Decision["type"][] = ["approve", "edit", "reject"];

/** `null`: the decision was about another call, other arguments or another user. */
export type ApprovalDecision = Decision | null;

/** What requests approval, and for a call of which message. */
export interface ReviewSource {
  readonly source: Exclude<ApprovalDecided["source"], "onApproval">;
  readonly messageId: string | undefined;
  /** The position of a call without an id among those of its message: equal ones need an approval each. */
  readonly position?: number | undefined;
}

const STALE =
  "its arguments, or the user it runs for, are not those that were approved. Call it again to request approval again.";

/** Every `callHash` begins with it. Those of earlier versions did not cover the identity and what is masked. */
const HASH_VERSION = "v2.";
/** The toolsets, by their settings, for which an approval of an earlier version was logged. */
const loggedSettings = new WeakSet<ToolRuntime["settings"]>();

const deriveKey = promisify<string, string, number, Buffer>(scrypt);
const KEY_BYTES = 32;

/** A prepared call that may need a decision before it runs. */
export class ReviewableCall {
  /**
   * The calls of the approval request that this process sent, in its order: the decisions about them are about exactly
   * these arguments.
   */
  requestedWith: readonly string[] | undefined;
  /** Identifies the tool, the call, the arguments and the user that a decision is about. Empty if none is needed. */
  readonly hash: string;
  readonly #run: ToolRun;
  /** Whose session the call was prepared for; `undefined` if that is unknown. */
  readonly #identity: string | undefined;
  readonly #outcome: PreparedCall | McpRuntimeError;
  readonly #source: ReviewSource;
  /** The arguments that are shown to a reviewer; `undefined` when no approval is needed. */
  readonly #shownArgs: JsonObject | undefined;

  private constructor(
    run: ToolRun,
    outcome: PreparedCall | McpRuntimeError,
    source: ReviewSource,
    { shownArgs, hash = "" }: { readonly shownArgs?: JsonObject; readonly hash?: string } = {},
  ) {
    this.#run = run;
    this.#identity = tryGetIdentity(run);
    this.#outcome = outcome;
    this.#source = source;
    this.#shownArgs = shownArgs;
    this.hash = hash;
  }

  static async create(run: ToolRun, outcome: PreparedCall, source: ReviewSource): Promise<ReviewableCall> {
    if (!outcome.needsApproval) return new ReviewableCall(run, outcome, source);
    const shownArgs = maskArguments(run.runtime, outcome.args);
    const hash = await hashCall(run, source, { args: outcome.args, shownArgs });
    return new ReviewableCall(run, outcome, source, { shownArgs, hash });
  }

  /** Prepares a call, so that approval can be requested before any call of its message runs. */
  static async prepare(
    runtime: ToolRuntime,
    call: ToolCall,
    { config, ...source }: ReviewSource & { readonly config: RunnableConfig },
  ): Promise<ReviewableCall> {
    const { interceptor } = runtime;
    const context = new ToolContext(runtime, { ...config, toolCall: call } as RunnableConfig);
    const run = new ToolRun(runtime, { args: call.args, context, interceptor, progress: undefined });
    try {
      run.cancellation.throwIfCancelled();
      return await ReviewableCall.create(run, await prepareCall(run), source);
    } catch (error) {
      return new ReviewableCall(run, toModelFailure(error, run), source);
    } finally {
      run.dispose();
    }
  }

  get name(): string {
    return this.#run.runtime.name;
  }

  /** Whether a decision is needed before the call may run. */
  get needsApproval(): boolean {
    return this.#shownArgs !== undefined;
  }

  /** Whether a request or a decision with this `callHash` is about this call. */
  isAbout(callHash: unknown): boolean {
    const { settings, warn } = this.#run.runtime;
    const isOld = typeof callHash === "string" && !callHash.startsWith(HASH_VERSION);
    if (isOld && !loggedSettings.has(settings)) {
      warn(
        "An approval that an earlier version requested does not count: approval has to be requested again.",
      );
      loggedSettings.add(settings);
    }
    return callHash === this.hash;
  }

  get action(): ActionRequest {
    const { server } = this.#run.runtime;
    const { toolCallId } = this.#run.context;
    const description = `Tool "${this.name}" of server "${server}" needs approval before it runs.`;
    return { name: this.name, args: this.#shownArgs ?? {}, description, toolCallId, callHash: this.hash };
  }

  get reviewConfig(): ReviewConfig {
    const argsSchema = this.#run.runtime.schema.modelSchema();
    return { actionName: this.name, allowedDecisions: DECISIONS, argsSchema };
  }

  /** Returns what is wrong with the edited arguments of a decision. */
  validateEdits(decision: Decision): string | undefined {
    const outcome = this.#outcome;
    if (decision.type !== "edit" || outcome instanceof McpRuntimeError) return undefined;
    try {
      applyEdits(this.#run, outcome, decision.editedAction.args);
      return undefined;
    } catch (error) {
      if (error instanceof McpRuntimeError) return error.message;
      throw error;
    }
  }

  /**
   * Returns the call that `run` sends. Without a decision, it may still need approval.
   *
   * @throws McpRuntimeError when it was rejected or could not be prepared
   */
  async resolve(decided: ApprovalDecision | undefined, run: ToolRun): Promise<PreparedCall> {
    const outcome = this.#outcome;
    if (outcome instanceof McpRuntimeError) throw outcome;
    run.notice = this.#run.notice;
    run.addSecrets(this.#run.secrets ?? []);
    const isSameUser = tryGetIdentity(run) === this.#identity;
    // The graph may have been resumed for another user, whose arguments are not injected yet.
    if (decided === undefined) return isSameUser ? outcome : prepareCall(run);
    const decision = this.#isForTool(run) && isSameUser ? decided : null;
    const edited =
      decision?.type === "edit" ? applyEdits(this.#run, outcome, decision.editedAction.args) : undefined;
    const editedArgs = edited && maskArguments(run.runtime, edited.args);
    const args = this.#shownArgs ?? {};
    const type = decision === null ? "deny" : decision.type;
    recordDecision(run, { decision: type, source: this.#source.source, args, editedArgs });
    if (decision === null || decision.type === "reject") {
      run.isRejected = true;
      throw deniedError(run.runtime, decision === null ? STALE : decision.message || "it was not approved.");
    }
    const guarded = edited && (await guardEdits(run, edited));
    if (edited !== undefined)
      run.notice = `A person changed the arguments before the call: ${toJson(toModelVisibleArgs(run.runtime, edited.args))}`;
    const argsHash = fullHash(editedArgs ?? args);
    const approval = { key: this.#approvalKey, callHash: this.hash, argsHash };
    return { ...(guarded ?? outcome), needsApproval: false, approval };
  }

  /** The tool of this name may have been replaced by that of another server since the call was prepared. */
  #isForTool({ runtime, context: { tool } }: ToolRun): boolean {
    return runtime.server === this.#run.runtime.server && tool === this.#run.context.tool;
  }

  /** A message without an id is identified by the checkpoint of the interrupt. */
  get #approvalKey(): string {
    const task = new GraphTask(this.#run.context.runConfig);
    const { messageId = { checkpoint: task.checkpointId } } = this.#source;
    return JSON.stringify([task.graphKey, messageId, this.hash]);
  }
}

interface RecordedDecision extends Pick<ApprovalDecided, "decision" | "source"> {
  /** As shown to the reviewer: masked. */
  readonly args: JsonObject;
  readonly editedArgs?: JsonObject | undefined;
}

/** Emits `approvalDecided`. */
export function recordDecision(run: ToolRun, { decision, source, args, editedArgs }: RecordedDecision): void {
  const { runtime, context } = run;
  const { server, tool, toolCallId } = context;
  runtime.onApprovalDecided({
    server,
    tool,
    toolCallId,
    argsHash: hashArguments(args),
    editedArgsHash: editedArgs && hashArguments(editedArgs),
    decision,
    source,
    identity: tryGetIdentity(run),
    time: Date.now(),
  });
}

/** SHA-256 of JSON with sorted keys, which others can compute, too. */
function hashArguments(args: JsonObject): string {
  const json = JSON.stringify(args, (_, value: unknown) =>
    isPlainObject(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash("sha256").update(json).digest("hex");
}

/**
 * The hash is saved in the checkpoint. Masked arguments may be secret and short, so it has a key in their place that scrypt
 * derives: about 50 ms for each guess, off the main thread. A keyed hash would need a secret that all processes share, and
 * there is none. The id of the message makes the salt unique.
 */
async function hashCall(
  run: ToolRun,
  { messageId, position }: ReviewSource,
  { args, shownArgs }: { readonly args: JsonObject; readonly shownArgs: JsonObject },
): Promise<string> {
  const { server, name } = run.runtime;
  const { tool, toolCallId } = run.context;
  const identity = tryGetIdentity(run);
  const call = { server, tool, name, toolCallId, position, identity, args: shownArgs };
  if (isDeepEqual(args, shownArgs)) return HASH_VERSION + fullHash(call);
  const key = await deriveKey(toCanonicalJson(args), fullHash({ ...call, messageId }), KEY_BYTES);
  return HASH_VERSION + fullHash({ ...call, maskedArgs: key.toString("hex") });
}

function tryGetIdentity({ runtime: { caller }, context }: ToolRun): string | undefined {
  try {
    return caller.identityOf({ context, signal: context.signal, purpose: "call" });
  } catch {
    return undefined;
  }
}
