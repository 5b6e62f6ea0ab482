import type { Clock } from "../async/clock.js";
import type { ServerConfig } from "../config/server-config.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Session } from "../session/session.js";
import { breaker, type BreakerParts } from "./middleware/circuit-breaker.js";
import { type ConcurrencyParts, limitConcurrency } from "./middleware/concurrency.js";
import { attemptDeadline, totalDeadline } from "./middleware/deadlines.js";
import { compose, type Middleware, type Handler } from "./request-context.js";
import { fallback, type FallbackParts } from "./middleware/fallback.js";
import { observe } from "./middleware/observe.js";
import { recoverSession, type RecoverParts } from "./middleware/session-recovery.js";
import type { RequestWatch } from "./request-event-emitter.js";
import { retry, type RetryParts } from "./middleware/retry.js";

interface LinkParts extends RecoverParts, RetryParts, BreakerParts, FallbackParts, ConcurrencyParts {
  readonly server: string;
  readonly clock: Clock;
  readonly watch: RequestWatch;
}

/** What of a server's settings decides which links there are. */
type PipelineSpec = Pick<ServerConfig, "fallback" | "limits">;

/**
 * What surrounds every request to a server, from the outside in. The order is the design: everything
 * lies within the total deadline, and what is repeated gets a deadline of its own each time. What the
 * server is not configured to have is left out.
 */
export function createPipeline(parts: LinkParts, { fallback: option, limits }: PipelineSpec): Handler {
  const { concurrentCalls } = limits;
  const links: readonly (Middleware | undefined)[] = [
    observe(parts),
    option === undefined ? undefined : fallback(parts, option),
    totalDeadline,
    retry(parts),
    concurrentCalls === undefined ? undefined : limitConcurrency(parts, concurrentCalls),
    breaker(parts),
    attemptDeadline(parts),
    recoverSession(parts),
  ];
  return compose(
    links.filter((link) => link !== undefined),
    send(parts.server),
  );
}

function send(server: string): Handler {
  return ({ request, session, cancellation, onProgress }) => {
    const { method, params, headers, holdsInput, context, trace, capability } = request;
    if (session === undefined)
      return Promise.reject(new McpRuntimeError("not-sent", `No session was opened for ${method}.`));
    if (capability !== undefined && isLacking(session, capability)) {
      const text = `Server "${server}" offers no ${capability}: ${method} was not sent.`;
      return Promise.reject(new McpRuntimeError("not-found", text, { server }));
    }
    return session.request({
      method,
      params,
      cancellation,
      headers,
      holdsInput,
      context,
      onProgress,
      delivery: trace,
    });
  };
}

function isLacking({ facts }: Session, capability: string): boolean {
  return facts !== undefined && facts.capabilities[capability] === undefined;
}
