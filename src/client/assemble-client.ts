import { type Clock, systemClock } from "../concurrency/clock.js";
import type { ServerSpec } from "../definitions/server-spec.js";
import { Redactor } from "../errors/redaction.js";
import { createConsoleLogger, type Logger } from "../telemetry/logger.js";
import { Breakers } from "./breakers.js";
import { ClientEvents } from "./client-events.js";
import { ClientLife } from "./client-life.js";
import { Requester } from "./requester.js";
import { RetryTokensByIdentity } from "./retry-tokens-by-identity.js";

export interface McpClientOptions {
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** The dice for waits between repetitions, from 0 to 1. */
  readonly random?: (() => number) | undefined;
}

export interface ClientParts {
  readonly clock: Clock;
  readonly events: ClientEvents;
  readonly life: ClientLife;
  readonly breakers: Breakers;
  readonly requester: Requester;
}

/** What a client consists of, put together. Opens nothing. */
export function assembleClient(spec: ServerSpec, options: McpClientOptions): ClientParts {
  const { name: server } = spec;
  const { clock = systemClock, random = Math.random, logger = createConsoleLogger() } = options;
  const redactor = new Redactor(spec.secrets);
  const events = new ClientEvents(server, logger, redactor);
  const retryTokens = new RetryTokensByIdentity(clock);
  const breakers = new Breakers({
    clock,
    settings: () => life.spec.breaker,
    onChange: (identity, state) => events.emit("breakerChanged", { identity, state }),
  });
  const onSeatGone = (identity: string) => {
    breakers.forget(identity);
    retryTokens.forget(identity);
  };
  const life = new ClientLife({ spec, clock, events, redactor, onSeatGone });
  const requester = new Requester({ server, clock, random, events, life, redactor, retryTokens, breakers });
  return { clock, events, life, breakers, requester };
}
