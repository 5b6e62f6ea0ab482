import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import type { Cancellation } from "../concurrency/cancellation.js";
import type { Clock } from "../concurrency/clock.js";
import { within } from "../concurrency/within.js";
import { CLIENT_INFO } from "../definitions/client-info.js";
import { isJsonObject } from "../definitions/json.js";
import type { MessageTransport } from "../definitions/message-transport.js";
import type { ServerRequestHandlers } from "../definitions/server-requests.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import type { Redactor } from "../errors/redaction.js";
import { quoteServer } from "../errors/server-text.js";
import { toCapabilities } from "./client-capabilities.js";
import { GuardedTransport } from "./guarded-transport.js";
import { NO_SDK_TIMEOUT, SdkSession } from "./sdk-session.js";
import { ServerRequests } from "./server-requests.js";
import type { ServerFacts, ServerNotification, Session } from "./session.js";
import { fromTransport, toRuntimeError } from "./to-runtime-error.js";
import type { WireIds } from "./wire-ids.js";

export interface HandshakeOptions {
  readonly server: string;
  /** One that has a session id already needs no handshake. */
  readonly openTransport: () => Promise<MessageTransport>;
  /** What is known of the server beforehand. */
  readonly facts: ServerFacts | undefined;
  /** Where others use the same session. */
  readonly ids: WireIds | undefined;
  readonly connectMs: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  /** Ends the handshake when the client is closed; never one caller's signal. */
  readonly cancellation: Cancellation;
  /** Whose session it is; empty for everybody's. */
  readonly identity: string;
  /** Who answers what the server asks, and how many requests at a time. */
  readonly handlers: ServerRequestHandlers;
  readonly maxServerRequests: number;
  readonly onNotification: (notification: ServerNotification) => void;
  readonly onWarning: (message: string) => void;
  readonly onError: (error: Error) => void;
  /** The transport of the session went by itself. */
  readonly onLost: () => void;
}

/** How long the answer to a handshake is waited for when the client is closed in between. */
const LAST_ANSWER_MS = 500;

/**
 * Phase 2: a fresh SDK client over a fresh transport. Nothing of an earlier session goes in, so a
 * stale id cannot reach `initialize`, which servers reject. Whatever a failure leaves half-open is
 * closed before it is thrown.
 */
export async function openSdkSession(options: HandshakeOptions): Promise<Session> {
  const { server, connectMs, clock, redactor } = options;
  const attempt = options.cancellation.child();
  const stopTimer =
    connectMs === 0
      ? () => undefined
      : clock.after(connectMs, () => attempt.cancel(tooSlow(server, connectMs)));
  let transport: GuardedTransport | undefined;
  let greeting: Greeting | undefined;
  let connecting: Promise<void> | undefined;
  try {
    const inner = await openWithin(options, attempt);
    transport = guard(inner, options);
    const sdk = createSdkClient(options);
    greeting = hearGreeting(transport);
    connecting = sdk.connect(transport, NO_SDK_TIMEOUT);
    await attempt.race(connecting);
    const isResumed = !greeting.isHeard;
    const facts = isResumed ? options.facts : greeting.facts(sdk);
    // Servers drop what they ask while there is no channel for it, and then wait in vain.
    if (canBeAsked(options)) await attempt.race(transport.listen());
    // It may have gone while the last word of the handshake was on its way: the SDK does not say so.
    if (sdk.transport === undefined) throw endedEarly(server);
    const { onLost } = options;
    return new SdkSession({ server, sdk, transport, redactor, facts, isResumed, onLost });
  } catch (error) {
    const failure = toHandshakeError(error, options, greeting);
    // Nobody waits when the client is closed. An answer that is on its way tells which session to end.
    if (options.cancellation.isCancelled) await within(LAST_ANSWER_MS, clock, () => connecting);
    if (transport !== undefined) await discard(transport, greeting);
    throw failure;
  } finally {
    stopTimer();
    attempt.release();
  }
}

function tooSlow(server: string, connectMs: number): McpRuntimeError {
  return new McpRuntimeError(
    "timeout",
    `Server "${server}" did not finish the handshake within ${connectMs} ms (timeouts.connectMs).`,
    { server },
  );
}

/** A transport that opens too late is closed: nobody else knows of it. */
async function openWithin(options: HandshakeOptions, attempt: Cancellation): Promise<MessageTransport> {
  const { server, redactor } = options;
  const opening = options.openTransport();
  try {
    return await attempt.race(opening);
  } catch (error) {
    if (attempt.isCancelled) opening.then((late) => late.close()).catch(() => undefined);
    if (attempt.isCancelled || error instanceof McpRuntimeError) throw error;
    const said = redactor.text(error instanceof Error ? error.message : String(error));
    throw new McpRuntimeError("not-sent", `The transport of server "${server}" did not open: ${said}`, {
      server,
      cause: redactor.cause(error),
    });
  }
}

function canBeAsked({ handlers }: HandshakeOptions): boolean {
  return Object.keys(toCapabilities(handlers)).length > 0;
}

function guard(inner: MessageTransport, options: HandshakeOptions): GuardedTransport {
  const { server, redactor, clock, identity, handlers, maxServerRequests: limit, onWarning, ids } = options;
  const requests = new ServerRequests({ server, identity, handlers, limit, onWarning });
  const toFailure = (error: unknown, phase: "start" | "send") =>
    fromTransport(error, phase, { server, redactor, hasSession: inner.sessionId !== undefined });
  return new GuardedTransport(inner, { clock, requests, ids, toFailure });
}

function createSdkClient({ handlers, onNotification, onError }: HandshakeOptions): Client {
  // The SDK's validator compiles schemas with ajv, 2 ms each; results are checked in other rooms.
  const acceptEverything = {
    getValidator: () => (input: unknown) => ({ valid: true, data: input }) as never,
  };
  const capabilities = toCapabilities(handlers);
  const sdk = new Client(CLIENT_INFO, { capabilities, jsonSchemaValidator: acceptEverything });
  sdk.fallbackNotificationHandler = async ({ method, params }) =>
    onNotification({ method, params: params ?? {} });
  sdk.onerror = onError;
  return sdk;
}

interface Greeting {
  readonly isHeard: boolean;
  /** The protocol version that the server named, when it named one. */
  readonly version: string | undefined;
  facts(sdk: Client): ServerFacts | undefined;
}

/** Listens to the answer of `initialize`: the SDK keeps neither the version nor the reason it refused it. */
function hearGreeting(transport: GuardedTransport): Greeting {
  let version: string | undefined;
  let isHeard = false;
  transport.onmessage = (message) => {
    if (isHeard || message.method !== undefined) return;
    isHeard = true;
    const named = isJsonObject(message.result) ? message.result["protocolVersion"] : undefined;
    if (typeof named === "string") version = named;
  };
  return {
    get isHeard() {
      return isHeard;
    },
    get version() {
      return version;
    },
    facts(sdk) {
      const serverInfo = sdk.getServerVersion();
      if (serverInfo === undefined || version === undefined) return undefined;
      const { name, version: release, title } = serverInfo;
      return {
        serverInfo: { name, version: release, title },
        capabilities: sdk.getServerCapabilities() ?? {},
        instructions: sdk.getInstructions(),
        protocolVersion: version,
      };
    },
  };
}

function toHandshakeError(
  error: unknown,
  { server, redactor }: HandshakeOptions,
  greeting: Greeting | undefined,
): unknown {
  const version = greeting?.version;
  if (version !== undefined && !SUPPORTED_PROTOCOL_VERSIONS.includes(version)) {
    return new McpRuntimeError(
      "unsupported-protocol",
      `Server "${server}" speaks MCP ${quoteServer(redactor.text(version))}; this client speaks ${SUPPORTED_PROTOCOL_VERSIONS.join(", ")}.`,
      { server, cause: redactor.cause(error) },
    );
  }
  if (error instanceof z.core.$ZodError) {
    return new McpRuntimeError(
      "malformed",
      `Server "${server}" answered initialize with something that is no greeting.`,
      {
        server,
        cause: redactor.cause(error),
      },
    );
  }
  const failure = toRuntimeError(error, endedEarly(server), { server, redactor });
  // Whatever became of the handshake: the call it was for has not been sent.
  return failure instanceof McpRuntimeError ? failure.with({ outcomeUnknown: false }) : failure;
}

function endedEarly(server: string): McpRuntimeError {
  return new McpRuntimeError(
    "connection-lost",
    `Server "${server}" ended the connection during the handshake.`,
    { server },
  );
}

/** Half-open is closed; a session that the server has just opened for us is ended there, too. */
async function discard(transport: GuardedTransport, greeting: Greeting | undefined): Promise<void> {
  if (greeting?.isHeard === true) await transport.terminateSession();
  await transport.close();
}
