import { isPlainObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { discoverServer } from "./discover-server.js";
import { fromTransport } from "./from-transport-error.js";
import { GuardedTransport, type HandedOn } from "./safe-transport.js";
import { ModernRpc } from "./modern-rpc.js";
import { toEnvelope } from "./era-detection.js";
import { ModernSession } from "./modern-session.js";
import { endedEarly, type OpeningOptions, openWithin, startAttempt } from "./session-options.js";
import { ServerRequests } from "./server-requests/server-requests.js";
import type { Session } from "./session.js";

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
    const exchange = new ModernRpc({
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
    const facts = await discoverServer(exchange, attempt, options);
    // It may have answered and gone in one breath.
    if (transport.isClosed) throw endedEarly(server);
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
  return isPlainObject(message) && typeof message["method"] === "string" && message["id"] != null;
}
