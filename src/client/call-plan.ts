import { randomUUID } from "node:crypto";
import { raceAbort } from "../async/cancel-scope.js";
import type { Clock } from "../async/clock.js";
import { mapConcurrent } from "../async/semaphore.js";
import { findOptionsProblem, optionKeys } from "../config/parse-options.js";
import { configError, type ConfigIssue, McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { TextRedactor } from "../errors/redaction.js";
import { printValue } from "../errors/sanitize-text.js";
import { describeValue } from "../json/describe-value.js";
import { isPlainObject, isStringArray } from "../json/json.js";
import type { CallOutcome, OutcomeDetails, ToolCall } from "./call-options.js";
import type { ToolResult } from "./tool-result.js";

/** A call of `callTools` that is made from the results of other calls of the same array. */
export interface DependentCall<Call extends ToolCall = ToolCall> {
  /** Names this call for those that depend on it. Reported as `requestId` in its outcome. @default a random UUID */
  readonly id?: string | undefined;
  /** The ids of the calls whose results it needs. They may be anywhere in the array. */
  readonly dependsOn: readonly string[];
  /** Creates the call, once all of them have succeeded. Receives their results by id. */
  readonly call: (results: Readonly<Record<string, ToolResult>>) => Call | Promise<Call>;
}

interface CallPlanOptions<Call extends ToolCall> {
  /** `undefined`: the calls are for several servers. */
  readonly server?: string;
  /** For the results of the calls that others need. */
  readonly redactor: TextRedactor;
  /** @default 16 */
  readonly concurrency: number | undefined;
  /** Ends the wait for the function of a dependent call. */
  readonly signal: AbortSignal | undefined;
  readonly tryCall: (call: Call) => Promise<CallOutcome>;
}

/** A result, and how often its call was sent. */
export interface CompletedCall<Output> {
  readonly result: ToolResult<Output>;
  readonly attempts: number;
}

/** Returns the failure of a call as a value. Other errors, such as the abort reason of the caller, are thrown. */
export async function toOutcome<Output>(
  call: Pick<OutcomeDetails, "server" | "tool" | "requestId">,
  clock: Clock,
  run: () => Promise<CompletedCall<Output>>,
): Promise<CallOutcome<Output>> {
  const startedAt = clock.now();
  try {
    const { result, attempts } = await run();
    return { ok: true, result, ...call, attempts, latencyMs: clock.now() - startedAt };
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) throw error;
    return { ok: false, error, ...call, attempts: error.attempts, latencyMs: clock.now() - startedAt };
  }
}

const DEFAULT_CONCURRENCY = 16;

/**
 * Runs calls with limited concurrency; the outcomes are in the order of the calls. A call starts when those that it
 * depends on have ended. Throws `invalid-config` before anything is sent if a dependency is unknown or circular.
 */
export async function runCalls<Call extends ToolCall>(
  calls: readonly (Call | DependentCall<Call>)[],
  { server, redactor, concurrency = DEFAULT_CONCURRENCY, signal, tryCall }: CallPlanOptions<Call>,
): Promise<CallOutcome[]> {
  const invalidCall = (path: string, message: string) =>
    configError("The call to callTools", [{ path, message }], server === undefined ? {} : { server });
  if (!Array.isArray(calls))
    throw invalidCall("", `expected an array of { name, args }, got ${describeValue(calls)}`);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw invalidCall("concurrency", `expected a positive integer, got ${describeValue(concurrency)}`);
  if (!calls.some(isDependent))
    return mapConcurrent(calls as readonly Call[], concurrency, (call) => tryCall(call));
  const order = sortByDependencies(calls);
  const byId = new Map<string, Promise<CallOutcome>>();
  const outcomes: CallOutcome[] = Array.from({ length: calls.length });
  await mapConcurrent(order, concurrency, async (index) => {
    const call = calls[index] as Call | DependentCall<Call>;
    const outcome = isDependent<Call>(call)
      ? runDependent(call, byId, { redactor, signal, tryCall })
      : tryCall(call);
    if (typeof call?.id === "string") byId.set(call.id, outcome);
    outcomes[index] = await outcome;
  });
  return outcomes;
}

async function runDependent<Call extends ToolCall>(
  { id = randomUUID(), dependsOn, call: createCall }: DependentCall<Call>,
  byId: ReadonlyMap<string, Promise<CallOutcome>>,
  { redactor, signal, tryCall }: Pick<CallPlanOptions<Call>, "redactor" | "signal" | "tryCall">,
): Promise<CallOutcome> {
  const startedAt = performance.now();
  const fail = (error: McpRuntimeError): CallOutcome => {
    const latencyMs = performance.now() - startedAt;
    return { ok: false, error, server: "", tool: "", requestId: id, latencyMs, attempts: 0 };
  };
  const found: [string, ToolResult][] = [];
  for (const dependency of dependsOn) {
    const outcome = await byId.get(dependency);
    if (outcome?.ok === true && !outcome.result.isError) found.push([dependency, outcome.result]);
    else return fail(dependencyError(id, dependency, outcome, redactor));
  }
  let call: Call;
  try {
    const results = Object.fromEntries(found);
    const created = await (signal === undefined
      ? createCall(results)
      : raceAbort(signal, () => createCall(results)));
    call = { ...created, id };
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    const reason =
      cause instanceof Error || typeof cause === "string" ? printValue(cause) : describeValue(cause);
    const text = `The call "${id}" was not sent: its function failed: ${reason}`;
    return fail(new McpRuntimeError("invalid-config", text, { cause }));
  }
  return tryCall(call);
}

function dependencyError(
  id: string,
  dependency: string,
  outcome: CallOutcome | undefined,
  redactor: TextRedactor,
): McpRuntimeError {
  const cause = outcome?.ok === false ? outcome.error : undefined;
  const reason = redactor.excerpt(outcome?.ok === true ? outcome.result.text() : (cause?.message ?? ""));
  const text = `The call "${id}" was not sent: the call "${dependency}", whose result it needs, failed: ${reason}`;
  return new McpRuntimeError("not-sent", text, { cause });
}

function isDependent<Call extends ToolCall>(
  call: Call | DependentCall<Call> | undefined,
): call is DependentCall<Call> {
  return isPlainObject(call) && (call["dependsOn"] !== undefined || typeof call["call"] === "function");
}

const DEPENDENT_CALL_KEYS = optionKeys<DependentCall>({ id: true, dependsOn: true, call: true });

/** The indexes of the calls: each after those that it depends on, and those without dependencies first. */
function sortByDependencies(calls: readonly (ToolCall | DependentCall)[]): number[] {
  const indexes = indexById(calls);
  assertDependencies(calls, indexes);
  const placed = new Set<number>();
  const isReady = (index: number) => {
    const call = calls[index];
    const dependsOn = isDependent(call) ? call.dependsOn : [];
    return dependsOn.every((id) => indexes.get(id)?.every((other) => placed.has(other)));
  };
  for (let remaining = [...calls.keys()]; remaining.length > 0;) {
    const ready = remaining.filter(isReady);
    if (ready.length === 0) throw circularError(remaining.map((index) => calls[index]?.id ?? `#${index}`));
    for (const index of ready) placed.add(index);
    remaining = remaining.filter((index) => !placed.has(index));
  }
  return [...placed];
}

/** Several calls may have the same id, unless another call depends on it. */
function indexById(calls: readonly (ToolCall | DependentCall)[]): ReadonlyMap<string, number[]> {
  const indexes = new Map<string, number[]>();
  for (const [index, call] of calls.entries())
    if (typeof call?.id === "string") indexes.set(call.id, [...(indexes.get(call.id) ?? []), index]);
  return indexes;
}

function assertDependencies(
  calls: readonly (ToolCall | DependentCall)[],
  indexes: ReadonlyMap<string, readonly number[]>,
): void {
  const issues = [...calls.entries()].flatMap(([index, call]): ConfigIssue[] => {
    if (!isDependent(call)) return [];
    const toIssues = (key: string, messages: readonly string[]) =>
      messages.map((message) => ({ path: `[${index}]${key}`, message }));
    const problem = findOptionsProblem(call, DEPENDENT_CALL_KEYS);
    if (problem !== undefined) return toIssues("", [problem]);
    const { dependsOn, call: createCall } = call as { dependsOn: unknown; call: unknown };
    if (typeof createCall !== "function")
      return toIssues(".call", [
        `expected a function that returns { name, args }, got ${describeValue(createCall)}`,
      ]);
    if (!isStringArray(dependsOn))
      return toIssues(".dependsOn", [`expected an array of call ids, got ${describeValue(dependsOn)}`]);
    return toIssues(
      ".dependsOn",
      dependsOn.flatMap((id) => describeUnknownId(id, indexes) ?? []),
    );
  });
  if (issues.length > 0) throw configError("The call to callTools", issues);
}

function describeUnknownId(id: string, indexes: ReadonlyMap<string, readonly number[]>): string | undefined {
  const found = indexes.get(id) ?? [];
  if (found.length === 1) return undefined;
  if (found.length > 1) return `${found.length} calls have the id ${JSON.stringify(id)}`;
  const ids = [...indexes.keys()].map((known) => JSON.stringify(known)).join(", ");
  return `no call has the id ${JSON.stringify(id)}; ids: ${ids || "none"}`;
}

function circularError(ids: readonly string[]): McpRuntimeError {
  const message = `these calls depend on each other in a circle, or on such calls: ${ids.join(", ")}`;
  return configError("The call to callTools", [{ path: "", message }]);
}
