import type { CancelScope } from "../async/cancel-scope.js";
import { systemClock, type Clock } from "../async/clock.js";
import { assertObject } from "../config/assert-object.js";
import type { ServerConfig } from "../config/server-config.js";
import { configError } from "../errors/config-error.js";
import { Redactor } from "../errors/redaction.js";
import { describeValue } from "../json/describe-value.js";
import { createConsoleLogger, type Logger, validateLogger } from "../telemetry/logger.js";
import { RequestMetrics } from "../telemetry/request-metrics.js";
import { ClientEvents } from "./client-events.js";
import { ClientLifecycle } from "./client-lifecycle.js";
import { ListReader } from "./list-reader.js";
import { CircuitBreakers } from "./policies/circuit-breakers.js";
import { RetryBudgets } from "./policies/retry-budget.js";
import { PromptClient } from "./prompt-client.js";
import { RequestEventEmitter } from "./request-event-emitter.js";
import { RequestRunner } from "./request-runner.js";
import { ResourceClient } from "./resource-client.js";
import { SubscriptionRecovery } from "./session-state.js";
import { ToolClient } from "./tool-client.js";

/** Options of an `McpClient`. */
export interface McpClientOptions {
  /** @default a console logger that shows warnings and errors */
  readonly logger?: Logger | undefined;
  /** The source of time for timeouts, delays and latencies. @default the system clock */
  readonly clock?: Clock | undefined;
  /** The source of randomness for retry delays, from 0 to 1. @default Math.random */
  readonly random?: (() => number) | undefined;
}

/** Validates the options up front: an invalid one would fail only in the middle of a call. */
function assertClientOptions(server: string, options: McpClientOptions): McpClientOptions {
  const subject = "The client";
  const { logger, clock, random } = assertObject(options, { subject, path: "options", server });
  const issues = [...validateLogger(logger)];
  const isClock = ["now", "after"].every((name) => typeof Reflect.get(Object(clock), name) === "function");
  if (clock !== undefined && !isClock)
    issues.push({
      path: "clock",
      message: `expected an object with now, after, got ${describeValue(clock)}`,
    });
  if (random !== undefined && typeof random !== "function")
    issues.push({ path: "random", message: `expected a function, got ${describeValue(random)}` });
  if (issues.length > 0) throw configError(subject, issues, { server });
  return options;
}

export interface ClientInternals {
  readonly events: ClientEvents;
  readonly lifecycle: ClientLifecycle;
  readonly breakers: CircuitBreakers;
  readonly metrics: RequestMetrics;
  readonly runner: RequestRunner;
  readonly tools: ToolClient;
  readonly lists: ListReader;
  readonly resources: ResourceClient;
  readonly prompts: PromptClient;
}

/** Creates and wires the components of a client. Opens no connection. */
export function createClientInternals(config: ServerConfig, options: McpClientOptions): ClientInternals {
  const { name: server } = config;
  const {
    clock = systemClock,
    random = Math.random,
    logger = createConsoleLogger(),
  } = assertClientOptions(server, options);
  const redactor = new Redactor(config.secrets);
  const events = new ClientEvents(server, logger, redactor);
  const metrics = new RequestMetrics();
  const retryBudgets = new RetryBudgets(clock);
  const breakers = new CircuitBreakers({
    clock,
    settings: () => lifecycle.config.circuitBreaker,
    onChange: (identity, state) => events.emit("breakerChanged", { server, identity, state }),
  });
  const onSlotEvicted = (identity: string, cancellation: CancelScope) => {
    breakers.delete(identity);
    retryBudgets.delete(identity);
    recovery.delete(identity, cancellation);
  };
  const onSessionLost = (identity: string, cancellation: CancelScope) =>
    void recovery.onSessionLost(identity, cancellation);
  const onDisconnected = (identity: string, cancellation: CancelScope) =>
    void recovery.onDisconnected(identity, cancellation);
  const sessionCallbacks = { onSlotEvicted, onSessionLost, onDisconnected };
  const lifecycle = new ClientLifecycle({ config, clock, events, metrics, redactor, ...sessionCallbacks });
  const requestEvents = new RequestEventEmitter({
    server,
    events,
    metrics,
    redactor,
    config: () => lifecycle.config,
  });
  const policies = { random, retryBudgets, breakers };
  const runner = new RequestRunner({
    server,
    clock,
    events,
    lifecycle,
    redactor,
    requestEvents,
    ...policies,
  });
  const recovery = new SubscriptionRecovery({
    clock,
    subscriptions: lifecycle.sessionState.subscriptions,
    ping: (requestOptions) =>
      runner.request("ping", {}, { ...requestOptions, isIdempotent: true, purpose: "call" }),
    warn: (message) => events.warn(`Server "${server}": ${message}`),
  });
  const tools = new ToolClient({ server, clock, runner });
  const lists = new ListReader({ server, clock, events, lifecycle, runner });
  const resources = new ResourceClient({ server, lifecycle, runner, lists });
  const prompts = new PromptClient({ server, runner, lists });
  return { events, lifecycle, breakers, metrics, runner, tools, lists, resources, prompts };
}
