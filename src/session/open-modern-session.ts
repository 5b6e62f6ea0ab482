import type { Cancellation } from "../concurrency/cancellation.js";
import { isJsonObject } from "../definitions/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { fromTransport } from "./from-transport.js";
import { GuardedTransport, type HandedOn } from "./guarded-transport.js";
import { ModernExchange } from "./modern-exchange.js";
import { DISCOVER_METHOD, toEnvelope } from "./modern-greeting.js";
import { ModernSession } from "./modern-session.js";
import { endedEarly, type OpeningOptions, openWithin, startAttempt } from "./opening.js";
import { ServerRequests } from "./server-requests.js";
import type { ServerFacts, Session } from "./session.js";
import { toServerFacts } from "./to-server-facts.js";

/** Phase 2 with a server that knows no sessions: there is nothing to agree on, but it says what it is. */
export async function openModernSession(options: OpeningOptions): Promise<Session> {
  const { server, redactor, handlers, onNotification } = options;
  const { cancellation: attempt, end } = startAttempt(options);
  let transport: GuardedTransport | undefined;
  try {
    const inner = options.started?.transport ?? (await openWithin(options, attempt));
    const requests = createRequests(options);
    transport = new GuardedTransport(inner, {
      clock: options.clock,
      requests: { take: isRequest, close: () => requests.close() },
      ids: undefined,
      toFailure: (error, phase) => fromTransport(error, phase, { server, redactor, hasSession: false }),
    });
    const exchange = new ModernExchange({
      server,
      redactor,
      transport,
      envelope: toEnvelope(handlers),
      onNotification,
    });
    transport.onclose = () => exchange.breakOff(endedEarly(server));
    transport.onerror = options.onError;
    attempt.throwIfCancelled();
    if (options.started === undefined) await attempt.race(transport.start());
    else takeOver(transport, options.started, server);
    const facts = await discover(exchange, attempt, options).catch((error: unknown) => {
      // Who refuses the version names others, and is to be asked once more: ours may be among them.
      if (!isRefusedVersion(error)) throw error;
      return discover(exchange, attempt, options);
    });
    return new ModernSession({ ...options, transport, exchange, facts, requests });
  } catch (error) {
    await transport?.close();
    throw error instanceof McpRuntimeError ? error.with({ outcomeUnknown: false }) : error;
  } finally {
    end();
  }
}

function takeOver(transport: GuardedTransport, { isGone }: HandedOn, server: string): void {
  transport.takeOver();
  if (isGone()) throw endedEarly(server);
}

function createRequests(options: OpeningOptions): ServerRequests {
  const { server, identity, handlers, maxServerRequests: limit, onWarning } = options;
  return new ServerRequests({ server, identity, handlers, limit, onWarning });
}

/** Servers of this revision ask in their results. One that asks in a message gets no answer. */
function isRequest(message: unknown): boolean {
  return isJsonObject(message) && "method" in message && "id" in message;
}

function isRefusedVersion(error: unknown): boolean {
  return (
    error instanceof McpRuntimeError && error.kind === "unsupported-protocol" && error.code !== undefined
  );
}

async function discover(
  exchange: ModernExchange,
  cancellation: Cancellation,
  options: OpeningOptions,
): Promise<ServerFacts> {
  const params = { _meta: options.greetingMeta };
  return toServerFacts(await exchange.request({ method: DISCOVER_METHOD, params, cancellation }), options);
}
