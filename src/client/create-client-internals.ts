import type { CancelScope } from "../async/cancel-scope.js";
import { systemClock, type Clock } from "../async/clock.js";
import { option, optionsSchema, parseOptions } from "../config/parse-options.js";
import type { ServerConfig } from "../config/server-config.js";
import { Redactor } from "../errors/redaction.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
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

/** Validated up front: an invalid option would fail only in the middle of a call. */
const CLIENT_OPTIONS_SCHEMA = optionsSchema<McpClientOptions>({
  logger: option.logger,
  clock: option.clock,
  random: option.function(),
});

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
  } = parseOptions(CLIENT_OPTIONS_SCHEMA, options, { subject: "The client", path: "options", server });
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
