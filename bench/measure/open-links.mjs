import { ClientEvents } from "../../build/client/client-events.js";
import { Exchange, ExchangeTrace } from "../../build/client/request-context.js";
import { createPipeline } from "../../build/client/pipeline.js";
import { RequestWatch } from "../../build/client/request-event-emitter.js";
import { RetryTokensByIdentity } from "../../build/client/policies/retry-budgets.js";
import { Cancellation } from "../../build/async/cancel-scope.js";
import { systemClock as clock } from "../../build/async/clock.js";
import { parseServer } from "../../build/config/parse-server.js";
import { Redactor } from "../../build/errors/redaction.js";
import { CircuitBreaker } from "../../build/client/policies/circuit-breaker.js";
import { Connection } from "../../build/session/connection.js";
import { RequestMetrics } from "../../build/telemetry/request-metrics.js";
import { open } from "../peers/langchain-mcp-runtime.mjs";

const server = "links";
const ignore = () => undefined;

/** Counts nothing, and tells nobody. */
const BLIND = { start: (exchange, next) => next(exchange), retried: ignore, ended: ignore };

/**
 * One session, and ways over it: with all the links that a client puts around a request, in their
 * default settings; with none; with links that count and tell nothing; and while somebody listens. The
 * bytes are the same: all ask for progress. Beside them the call of a tool as users make it, which has
 * all of this in it.
 */
export async function openLinks(servers) {
  const [url] = Object.values(servers);
  const whole = await open(servers);
  const spec = parseServer(server, { url });
  const connection = await Connection.open({
    server,
    clock,
    redactor: new Redactor(),
    cancellation: new Cancellation(),
    resolveSpec: async () => spec,
    era: { isModern: false },
    watchHandshake: (_, shakeHands) => shakeHands(),
    onOpened: async () => undefined,
    onSeatGone: ignore,
    onNotification: ignore,
    onWarning: ignore,
    onError: ignore,
  });
  const { keeper } = connection.seats.enter("", undefined);
  const { session } = await keeper.hold(new Cancellation());
  const breaker = new CircuitBreaker(spec.breaker, { clock, onChange: ignore });
  const redactor = new Redactor();
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const watchWith = (events) =>
    new RequestWatch({ server, events, metrics: new RequestMetrics(), redactor, spec: () => spec });
  const linksWith = (watch) =>
    createPipeline(
      {
        server,
        clock,
        random: Math.random,
        retry: () => spec.retry,
        tokens: new RetryTokensByIdentity(clock),
        slotsFor: ignore,
        breakerOf: () => breaker,
        onRetry: ignore,
        onSessionLost: ignore,
        watch,
        warn: ignore,
      },
      spec,
    );
  const heard = new ClientEvents(server, logger, redactor);
  for (const name of ["requestStarted", "requestEnded"]) heard.on(name, ignore);
  const { requestMs, totalMs } = spec.timeouts;
  const over =
    (run) =>
    ({ tool, args }) => {
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
        trace: new ExchangeTrace(),
      };
      return run(new Exchange({ request, cancellation: new Cancellation(), onProgress: undefined }));
    };
  return {
    call: ({ server: name, tool, args }) => whole.call({ server: name, tool, args }),
    with: over(linksWith(watchWith(new ClientEvents(server, logger, redactor)))),
    heard: over(linksWith(watchWith(heard))),
    blind: over(linksWith(BLIND)),
    without: ({ tool, args }) =>
      session.request({
        method: "tools/call",
        params: { name: tool, arguments: args },
        cancellation: new Cancellation(),
        onProgress: ignore,
      }),
    async close() {
      await connection.close();
      await whole.close();
    },
  };
}
