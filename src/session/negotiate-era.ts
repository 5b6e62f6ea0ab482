import type { ProtocolOption } from "../config/server-definition.js";
import type { FailureKind } from "../errors/failure-kinds.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { withSentence } from "../errors/sanitize-text.js";
import { MODERN_VERSION } from "../transports/http/modern-era.js";
import type { HandedOn } from "./safe-transport.js";
import { refusesModern, toEnvelope } from "./era-detection.js";
import type { OpeningOptions } from "./session-options.js";
import type { Session } from "./session.js";

/** What was found out about a server, for the sessions to come. */
export interface EraFinding {
  /** It knows no sessions. */
  isModern: boolean;
  /** It shakes hands, but only with who does not say that there is another way. */
  isPlain?: boolean;
}

/** It says itself that the greeting is in no protocol of its own. */
const STRANGE: ReadonlySet<unknown> = new Set([-32_601, -32_022]);
/** How a server that shakes no hands answers `initialize`: it knows no such method, or no such version. */
const NO_HANDSHAKE: ReadonlySet<unknown> = new Set([-32_601, -32_602, -32_020, -32_021, -32_022]);
const HUNG_UP: ReadonlySet<FailureKind> = new Set(["connection-lost", "not-sent"]);

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
  if (finding.isPlain === true) {
    finding.isPlain = false;
    try {
      return await greetPlainly(finding, options);
    } catch (error) {
      if (!refusesModern(error)) throw error;
    }
  }
  return greet(finding, options);
}

async function greet(finding: EraFinding, options: OpeningOptions): Promise<Session> {
  let started: HandedOn | undefined;
  try {
    return await shakeHands({
      ...options,
      greetingMeta: { ...options.greetingMeta, ...toEnvelope(options.handlers) },
      onRefused: (code, handOn) => {
        if (NO_HANDSHAKE.has(code)) started = handOn();
      },
    });
  } catch (refusal) {
    if (started === undefined && !NO_HANDSHAKE.has(codeOf(refusal)) && !isUnread(refusal, options))
      throw refusal;
    const session = await discoverOver(started, options).catch((error: unknown) => {
      if (!refusesModern(error)) throw error;
      return isUnread(refusal, options) ? greetPlainly(finding, options) : tellRefusal(refusal, error);
    });
    finding.isModern = session.facts?.protocolVersion === MODERN_VERSION;
    return session;
  }
}

/** Who has refused to shake hands is asked over the same line: a program need not be started again. */
async function discoverOver(started: HandedOn | undefined, options: OpeningOptions): Promise<Session> {
  if (started === undefined) return discover(options);
  try {
    return await discover({ ...options, started });
  } catch (error) {
    // It may have hung up when it refused.
    if (!(error instanceof McpRuntimeError) || !HUNG_UP.has(error.kind)) throw error;
    return discover(options);
  }
}

/**
 * A transport that is not ours tells a refusal by its status alone. The greeting itself may be what is
 * refused: servers compare it with headers that such a transport need not send.
 */
function isUnread(refusal: unknown, { isForeign }: OpeningOptions): boolean {
  return isForeign && codeOf(refusal) === undefined && refusesModern(refusal);
}

async function greetPlainly(finding: EraFinding, options: OpeningOptions): Promise<Session> {
  const session = await shakeHands(options).catch((error) => rethrow(error, headless));
  finding.isPlain = true;
  return session;
}

async function shakeHands(options: OpeningOptions): Promise<Session> {
  const { openLegacySession } = await import("./handshake.js");
  return openLegacySession(options);
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

function codeOf(error: unknown): number | undefined {
  return error instanceof McpRuntimeError ? error.code : undefined;
}

function headless(failure: McpRuntimeError): McpRuntimeError {
  const advice = `MCP ${MODERN_VERSION} was tried as well. Over HTTP it needs headers that not every transport sends: give the server's definition a url instead of openTransport.`;
  return refusesModern(failure) ? failure.with({ message: withSentence(failure.message, advice) }) : failure;
}

function tellRefusal(refusal: unknown, second: McpRuntimeError): never {
  throw refusal instanceof McpRuntimeError && STRANGE.has(refusal.code) ? neither(refusal, second) : refusal;
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
