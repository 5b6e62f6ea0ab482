import { CancelScope } from "../../build/async/cancel-scope.js";
import { systemClock as clock } from "../../build/async/clock.js";
import { ClientEvents } from "../../build/client/client-events.js";
import { createPipeline } from "../../build/client/pipeline.js";
import { CircuitBreaker } from "../../build/client/policies/circuit-breaker.js";
import { RetryBudgets } from "../../build/client/policies/retry-budget.js";
import { RequestContext } from "../../build/client/request-context.js";
import { RequestEventEmitter } from "../../build/client/request-event-emitter.js";
import { parseServer } from "../../build/config/parse-server.js";
import { Redactor } from "../../build/errors/redaction.js";
import { Connection } from "../../build/session/connection.js";
import { RequestMetrics } from "../../build/telemetry/request-metrics.js";
import { open } from "../peers/langchain-mcp-runtime.mjs";

const server = "middleware";
const noop = () => undefined;

/** Replaces the request telemetry: no metrics, no events. */
const NO_TELEMETRY = { hasStartListeners: false, onRetry: noop, onEnd: noop };

/**
 * Variants of a request over one session: with all middleware of a client in its default settings
 * (`pipeline`), with event listeners, without telemetry, and directly on the session. All send the same
 * bytes and request progress. `toolCall` is a whole tool call as a user makes it, on its own connection.
 */
export async function openPipeline(servers) {
  const [url] = Object.values(servers);
  const toolset = await open(servers);
  const config = parseServer(server, { url });
  const connection = await openConnection(config);
  const { session } = await connection.pool.acquire("", undefined).currentSession.acquire(new CancelScope());
  const listenedEvents = createEvents();
  for (const name of ["requestStarted", "requestEnded"]) listenedEvents.on(name, noop);
  const createVariant = (requestEvents) =>
    createSend(createRequestPipeline(config, requestEvents), config, connection);
  return {
    toolCall: ({ server: name, tool, args }) => toolset.call({ server: name, tool, args }),
    pipeline: createVariant(createRequestEvents(config, createEvents())),
    withListeners: createVariant(createRequestEvents(config, listenedEvents)),
    withoutTelemetry: createVariant(NO_TELEMETRY),
    session: ({ tool, args }) =>
      session.request({
        method: "tools/call",
        params: { name: tool, arguments: args },
        cancellation: new CancelScope(),
        tracker: { sendStatus: undefined, wireId: undefined, onProgress: noop },
      }),
    async close() {
      await connection.close();
      await toolset.close();
    },
  };
}

function openConnection(config) {
  return Connection.open({
    server,
    clientInfo: { name: "bench", version: "1" },
    clock,
    redactor: new Redactor(),
    cancellation: new CancelScope(),
    config,
    era: { isModern: false },
    observeHandshake: (_, initialize) => initialize(),
    onOpened: async () => undefined,
    onDisconnected: noop,
    onSlotEvicted: noop,
    onNotification: noop,
    onWarning: noop,
    onError: noop,
  });
}

function createEvents() {
  const logger = { debug: noop, info: noop, warn: noop, error: noop };
  return new ClientEvents(server, logger, new Redactor());
}

function createRequestEvents(config, events) {
  const metrics = new RequestMetrics();
  return new RequestEventEmitter({ server, events, metrics, redactor: new Redactor(), config: () => config });
}

function createRequestPipeline(config, requestEvents) {
  const breaker = new CircuitBreaker(config.circuitBreaker, { clock, onChange: noop });
  return createPipeline(
    {
      server,
      clock,
      random: Math.random,
      lifecycle: { config, sessionEvents: { lost: noop } },
      retryBudgets: new RetryBudgets(clock, () => 1),
      breakers: { get: () => breaker },
      requestEvents,
      events: { warn: noop },
    },
    config,
    undefined,
  );
}

/** Sends a tool call through a pipeline, as the client does. */
function createSend(handle, { timeouts: { requestMs, totalMs } }, connection) {
  return ({ tool, args }) => {
    const request = new RequestContext({
      requestId: undefined,
      method: "tools/call",
      params: { name: tool, arguments: args },
      tool,
      capability: undefined,
      identity: "",
      context: undefined,
      startedAt: clock.now(),
      requestMs,
      totalMs,
      isIdempotent: false,
      signal: undefined,
      cancellation: new CancelScope(),
      connect: () => connection,
      headers: undefined,
      deferInput: false,
      callerContext: undefined,
      loggableArgs: undefined,
      onProgress: undefined,
    });
    return handle(request);
  };
}
