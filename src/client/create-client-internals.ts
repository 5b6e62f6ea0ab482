import type { CancelScope } from "../async/cancel-scope.js";
import { systemClock } from "../async/clock.js";
import type { ServerConfig } from "../config/server-config.js";
import { Redactor } from "../errors/redaction.js";
import { createConsoleLogger } from "../telemetry/logger.js";
import { RequestMetrics } from "../telemetry/request-metrics.js";
import { Breakers } from "./policies/circuit-breakers.js";
import { ClientEvents } from "./client-events.js";
import { ClientLife } from "./client-lifecycle.js";
import { checkClientOptions, type McpClientOptions } from "./client-options.js";
import { Requester } from "./request-runner.js";
import { RequestWatch } from "./request-event-emitter.js";
import { RetryTokensByIdentity } from "./policies/retry-budgets.js";
import { ServerLists } from "./lists.js";
import { ServerPrompts } from "./prompts.js";
import { ServerResources } from "./resources.js";
import { SubscriptionRevival } from "./subscription-recovery.js";
import { ToolCalls } from "./tool-client.js";

export interface ClientParts {
  readonly events: ClientEvents;
  readonly life: ClientLife;
  readonly breakers: Breakers;
  readonly metrics: RequestMetrics;
  readonly requester: Requester;
  readonly tools: ToolCalls;
  readonly lists: ServerLists;
  readonly resources: ServerResources;
  readonly prompts: ServerPrompts;
}

/** What a client consists of, put together. Opens nothing. */
export function assembleClient(config: ServerConfig, options: McpClientOptions): ClientParts {
  const { name: server } = config;
  const {
    clock = systemClock,
    random = Math.random,
    logger = createConsoleLogger(),
  } = checkClientOptions(server, options);
  const redactor = new Redactor(config.secrets);
  const events = new ClientEvents(server, logger, redactor);
  const metrics = new RequestMetrics();
  const retryTokens = new RetryTokensByIdentity(clock);
  const breakers = new Breakers({
    clock,
    settings: () => life.config.circuitBreaker,
    onChange: (identity, state) => events.emit("breakerChanged", { server, identity, state }),
  });
  const onSeatGone = (identity: string, cancellation: CancelScope) => {
    breakers.forget(identity);
    retryTokens.forget(identity);
    revival.forget(identity, cancellation);
  };
  const onForgotten = (identity: string, cancellation: CancelScope) =>
    void revival.afterForgetting(identity, cancellation);
  const onDisconnected = (identity: string, cancellation: CancelScope) =>
    void revival.afterLoss(identity, cancellation);
  const told = { onSeatGone, onForgotten, onDisconnected };
  const life = new ClientLife({ config, clock, events, metrics, redactor, ...told });
  const watch = new RequestWatch({ server, events, metrics, redactor, config: () => life.config });
  const policies = { random, retryTokens, breakers };
  const requester = new Requester({ server, clock, events, life, redactor, watch, ...policies });
  const revival = new SubscriptionRevival({
    clock,
    subscriptions: life.wishes.resources,
    ping: (asked) => requester.request("ping", {}, { ...asked, isIdempotent: true, purpose: "call" }),
    warn: (message) => events.warn(`Server "${server}": ${message}`),
  });
  const tools = new ToolCalls({ server, clock, requester });
  const lists = new ServerLists({ server, clock, events, life, requester });
  const resources = new ServerResources({ server, life, requester, lists });
  const prompts = new ServerPrompts({ server, requester, lists });
  return { events, life, breakers, metrics, requester, tools, lists, resources, prompts };
}
