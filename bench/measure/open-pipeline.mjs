import { CancelScope } from "../../build/async/cancel-scope.js";
import { systemClock as clock } from "../../build/async/clock.js";
import { ClientEvents } from "../../build/client/client-events.js";
import { createPipeline } from "../../build/client/pipeline.js";
import { CircuitBreaker } from "../../build/client/policies/circuit-breaker.js";
import { RetryTokensByIdentity } from "../../build/client/policies/retry-budgets.js";
import { RequestContext, RequestTrace } from "../../build/client/request-context.js";
import { RequestWatch } from "../../build/client/request-event-emitter.js";
import { parseServer } from "../../build/config/parse-server.js";
import { Redactor } from "../../build/errors/redaction.js";
import { Connection } from "../../build/session/connection.js";
import { RequestMetrics } from "../../build/telemetry/request-metrics.js";
import { open } from "../peers/langchain-mcp-runtime.mjs";

const server = "middleware";
const noop = () => undefined;

/** Replaces the request telemetry: no metrics, no events. */
const NO_TELEMETRY = { start: (context, next) => next(context), retried: noop, ended: noop };

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
  const { session } = await connection.pool.acquire("", undefined).keeper.hold(new CancelScope());
  const listenedEvents = createEvents();
  for (const name of ["requestStarted", "requestEnded"]) listenedEvents.on(name, noop);
  const createVariant = (watch) => createSend(createRequestPipeline(config, watch), config, connection);
  return {
    toolCall: ({ server: name, tool, args }) => toolset.call({ server: name, tool, args }),
    pipeline: createVariant(createWatch(config, createEvents())),
    withListeners: createVariant(createWatch(config, listenedEvents)),
    withoutTelemetry: createVariant(NO_TELEMETRY),
    session: ({ tool, args }) =>
      session.request({
        method: "tools/call",
        params: { name: tool, arguments: args },
        cancellation: new CancelScope(),
        onProgress: noop,
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
    clock,
    redactor: new Redactor(),
    cancellation: new CancelScope(),
    resolveSpec: async () => config,
    era: { isModern: false },
    watchHandshake: (_, initialize) => initialize(),
    onOpened: async () => undefined,
    onLost: noop,
    onSeatGone: noop,
    onNotification: noop,
    onWarning: noop,
    onError: noop,
  });
}

function createEvents() {
  const logger = { debug: noop, info: noop, warn: noop, error: noop };
  return new ClientEvents(server, logger, new Redactor());
}

function createWatch(config, events) {
  const metrics = new RequestMetrics();
  return new RequestWatch({ server, events, metrics, redactor: new Redactor(), config: () => config });
}

function createRequestPipeline(config, watch) {
  const breaker = new CircuitBreaker(config.circuitBreaker, { clock, onChange: noop });
  return createPipeline(
    {
      server,
      clock,
      random: Math.random,
      retry: () => config.retry,
      tokens: new RetryTokensByIdentity(clock),
      slotsFor: noop,
      breakerOf: () => breaker,
      onRetry: noop,
      onSessionLost: noop,
      watch,
      warn: noop,
    },
    config,
  );
}

/** Sends a tool call through a pipeline, as the client does. */
function createSend(handle, { timeouts: { requestMs, totalMs } }, connection) {
  return ({ tool, args }) => {
    const request = {
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
      connect: () => connection,
      headers: undefined,
      holdsInput: false,
      caller: undefined,
      recordedArgs: undefined,
      trace: new RequestTrace(),
    };
    return handle(new RequestContext({ request, cancellation: new CancelScope(), onProgress: undefined }));
  };
}
