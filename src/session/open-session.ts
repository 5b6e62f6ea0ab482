import type { ProtocolOption } from "../definitions/server-definition.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { withSentence } from "../errors/server-text.js";
import { MODERN_VERSION } from "../transports/request-envelope.js";
import { refusesModern, toEnvelope } from "./modern-greeting.js";
import type { OpeningOptions } from "./opening.js";
import type { Session } from "./session.js";

/** What was found out about a server, for the sessions to come. */
export interface EraFinding {
  /** It knows no sessions. */
  isModern: boolean;
}

/** It says itself that the greeting is in no protocol of its own. */
const STRANGE: ReadonlySet<unknown> = new Set([-32_601, -32_022]);
/** How a server that shakes no hands answers `initialize`: it knows no such method, or no such version. */
const NO_HANDSHAKE: ReadonlySet<unknown> = new Set([-32_601, -32_602, -32_020, -32_021, -32_022]);

/**
 * Opens a session with a server of either kind: one that shakes hands, or one that knows no sessions.
 *
 * Who is not known is greeted in a way that both understand: with `initialize`, which also says that
 * we can do without. A server with sessions overlooks that and shakes hands, so it costs nothing. One
 * without refuses, and is then asked what it is. That it is one is remembered.
 */
export async function openSession(
  protocol: ProtocolOption,
  finding: EraFinding,
  options: OpeningOptions,
): Promise<Session> {
  if (protocol === "legacy") return shakeHands(options).catch((error) => rethrow(error, legacyOnly));
  if (protocol === MODERN_VERSION) return discover(options).catch((error) => rethrow(error, modernOnly));
  if (finding.isModern) {
    try {
      return await discover(options);
    } catch (error) {
      // Whatever it was: the next attempt takes nothing for granted.
      finding.isModern = false;
      if (!refusesModern(error)) throw error;
    }
  }
  return greet(finding, options);
}

async function greet(finding: EraFinding, options: OpeningOptions): Promise<Session> {
  try {
    return await shakeHands({
      ...options,
      greetingMeta: { ...options.greetingMeta, ...toEnvelope(options.handlers) },
    });
  } catch (refusal) {
    if (!(refusal instanceof McpRuntimeError) || !NO_HANDSHAKE.has(refusal.code)) throw refusal;
    const session = await discover(options).catch((error: unknown) => {
      if (!refusesModern(error)) throw error;
      throw STRANGE.has(refusal.code) ? neither(refusal, error) : refusal;
    });
    finding.isModern = true;
    return session;
  }
}

async function shakeHands(options: OpeningOptions): Promise<Session> {
  const { openSdkSession } = await import("./handshake.js");
  return openSdkSession(options);
}

async function discover(options: OpeningOptions): Promise<Session> {
  const { openModernSession } = await import("./open-modern-session.js");
  return openModernSession(options);
}

function rethrow(error: unknown, explain: (failure: McpRuntimeError) => McpRuntimeError): never {
  throw error instanceof McpRuntimeError ? explain(error) : error;
}

function legacyOnly(failure: McpRuntimeError): McpRuntimeError {
  return failure.kind === "unsupported-protocol"
    ? explained(
        failure,
        'Its definition says protocol: "legacy"; without that, the newer protocol is found by itself.',
      )
    : failure;
}

function modernOnly(failure: McpRuntimeError): McpRuntimeError {
  return refusesModern(failure)
    ? explained(
        failure,
        `Its definition says protocol: "${MODERN_VERSION}"; without that, an older protocol is found by itself.`,
      )
    : failure;
}

function neither(refusal: McpRuntimeError, second: McpRuntimeError): McpRuntimeError {
  return explained(
    refusal,
    withSentence(
      `server/discover was tried as well: ${second.message}`,
      "Is there an MCP server at this address?",
    ),
  );
}

function explained(failure: McpRuntimeError, advice: string): McpRuntimeError {
  return failure.with({ kind: "unsupported-protocol", message: withSentence(failure.message, advice) });
}
