import { systemClock } from "../async/clock.js";
import { CLIENT_INFO } from "../config/message-transport.js";
import {
  CLIENT_INFO_SCHEMA,
  option,
  type OptionsOf,
  optionsSchema,
  parseOptions,
} from "../config/parse-options.js";
import type { ServerConfig } from "../config/server-config.js";
import { Redactor } from "../errors/redaction.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import { RequestMetrics } from "../telemetry/request-metrics.js";
import { type ClientContext, ClientEvents } from "./client-events.js";
import { ClientLifecycle } from "./client-lifecycle.js";
import { CircuitBreakers } from "./policies/circuit-breaker.js";
import { RetryBudgets } from "./policies/retry-budget.js";
import { ServerProbe } from "./policies/server-probe.js";
import { RequestEventEmitter } from "./request-event-emitter.js";
import { IDEMPOTENT_CALL, type RequestDependencies, RequestRunner } from "./request-runner.js";
import { SubscriptionRecovery } from "./restored-session-state.js";
import { SkillClient } from "./skills/skill-client.js";
import { TaskClient } from "./tasks/task-client.js";
import { ToolClient } from "./tool-client.js";

const CLIENT_FIELDS = {
  /** The name and version of your application, which servers receive in the handshake. @default this package's */
  clientInfo: CLIENT_INFO_SCHEMA,
  /** @default a console logger that shows warnings and errors */
  logger: option.logger,
  /** The source of time for timeouts, delays and latencies. @default the system clock */
  clock: option.clock,
  /** The source of randomness for retry delays, from 0 to 1. @default Math.random */
  random: option.function<() => number>(),
};

/** Options of an `McpClient`. */
export interface McpClientOptions extends OptionsOf<typeof CLIENT_FIELDS, undefined> {}

/** Validated up front: an invalid option would fail only in the middle of a call. */
const CLIENT_OPTIONS_SCHEMA = optionsSchema<McpClientOptions>(CLIENT_FIELDS);

/** The components of a client. */
export type ClientComponents = ReturnType<typeof createClientComponents>;

/** Creates and wires the components of a client. Opens no connection. */
export function createClientComponents(config: ServerConfig, options: McpClientOptions) {
  const { name: server } = config;
  const {
    clientInfo = CLIENT_INFO,
    clock = systemClock,
    random = Math.random,
    logger = createConsoleLogger(),
  } = parseOptions(CLIENT_OPTIONS_SCHEMA, options, { subject: "The client", path: "options", server });
  const redactor = new Redactor(config.secrets);
  const events = new ClientEvents(server, logger, redactor);
  const metrics = new RequestMetrics();
  const context: ClientContext = { server, clock, random, events, metrics, redactor };
  const maxIdentities = () => lifecycle.config.limits.identities;
  const retryBudgets = new RetryBudgets(clock, maxIdentities);
  const probe: ServerProbe = new ServerProbe({
    clock,
    startsProcess: () => lifecycle.config.address.kind === "stdio",
    isReachable: (identity, cancellation) => runner.isReachable(identity, cancellation),
    onReachable: () => breakers.onReachable(),
  });
  const breakers: CircuitBreakers = new CircuitBreakers({
    server,
    clock,
    log: events,
    probe,
    maxIdentities,
    settings: () => lifecycle.config.circuitBreaker,
    onChange: (identity, state) => events.emit("breakerChanged", { server, identity, state }),
  });
  const lifecycle: ClientLifecycle = new ClientLifecycle({
    ...context,
    config,
    clientInfo,
    onSlotEvicted: (identity, cancellation) => {
      breakers.delete(identity);
      retryBudgets.delete(identity);
      recovery.delete(identity, cancellation);
    },
    onHandshake: () => {
      probe.stop();
      breakers.onReachable();
    },
    onSessionLost: (identity, cancellation) => void recovery.onSessionLost(identity, cancellation),
    onDisconnected: (identity, cancellation) => void recovery.onDisconnected(identity, cancellation),
  });
  const requestEvents = new RequestEventEmitter({ ...context, config: () => lifecycle.config });
  const policies = { requestEvents, retryBudgets, breakers, probe };
  const runner: RequestRunner = new RequestRunner({ ...context, ...policies, lifecycle });
  const recovery = new SubscriptionRecovery({
    clock,
    subscriptions: lifecycle.sessionState.subscriptions,
    ping: (requestOptions) =>
      runner.request("ping", {}, { ...requestOptions, ...IDEMPOTENT_CALL, isBackground: true }),
    warn: (message) => events.warn(`Server "${server}": ${message}`),
  });
  const deps: RequestDependencies = { ...context, lifecycle, runner };
  const tasks = new TaskClient(deps);
  const tools = new ToolClient({ ...deps, tasks });
  const skills = new SkillClient(deps);
  return { ...deps, breakers, probe, tools, tasks, skills };
}
