import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { within } from "../async/settle-within.js";
import { CLIENT_INFO } from "../config/client-info.js";
import { isPlainObject } from "../json/json.js";
import type { MessageTransport } from "../config/message-transport.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { failureIn } from "../transports/json-rpc.js";
import { toCapabilities } from "./client-capabilities.js";
import { fromTransport } from "./from-transport-error.js";
import { GuardedTransport } from "./safe-transport.js";
import { endedEarly, type OpeningOptions, openWithin, startAttempt } from "./session-options.js";
import { LegacySession } from "./legacy-session.js";
import { ServerRequests } from "./server-requests/server-requests.js";
import type { ServerMetadata, Session } from "./session.js";
import { toRuntimeError } from "./to-runtime-error.js";

/** Our deadlines rule; the SDK's own are set out of reach. */
const NO_SDK_TIMEOUT = { timeout: 2 ** 31 - 1 } as const;
/** How long the answer to a handshake is waited for when the client is closed in between. */
const LAST_ANSWER_MS = 500;

/**
 * Phase 2: a fresh SDK client shakes hands over a fresh transport, and leaves it to the session. Nothing
 * of an earlier session goes in, so a stale id cannot reach `initialize`, which servers reject. Whatever
 * a failure leaves half-open is closed before it is thrown.
 */
export async function openLegacySession(options: OpeningOptions): Promise<Session> {
  const { server, clock } = options;
  const { cancellation: attempt, end } = startAttempt(options);
  let transport: GuardedTransport | undefined;
  let greeting: Greeting | undefined;
  let connecting: Promise<void> | undefined;
  try {
    const inner = await openWithin(options, attempt);
    transport = guard(inner, options);
    const sdk = createSdkClient(options);
    greeting = hearGreeting(transport, options);
    connecting = sdk.connect(transport, NO_SDK_TIMEOUT);
    await attempt.race(connecting);
    const isResumed = !greeting.isHeard;
    const facts = isResumed ? options.facts : greeting.facts(sdk);
    // Servers drop what they ask while there is no channel for it, and then wait in vain.
    if (canBeAsked(options)) await attempt.race(transport.listen());
    // It may have gone while the last word of the handshake was on its way: the SDK does not say so.
    if (sdk.transport === undefined) throw endedEarly(server);
    return new LegacySession({ ...options, transport, facts, isResumed });
  } catch (error) {
    const failure = toHandshakeError(error, options, greeting);
    // Nobody waits when the client is closed. An answer that is on its way tells which session to end.
    if (options.cancellation.isCancelled) await within(LAST_ANSWER_MS, clock, () => connecting);
    if (transport !== undefined) await discard(transport, greeting);
    throw failure;
  } finally {
    end();
  }
}

function canBeAsked({ handlers }: OpeningOptions): boolean {
  return Object.keys(toCapabilities(handlers)).length > 0;
}

function guard(inner: MessageTransport, options: OpeningOptions): GuardedTransport {
  const { server, redactor, clock, identity, handlers, maxServerRequests: limit, onWarning, ids } = options;
  const requests = new ServerRequests({ server, identity, handlers, limit, onWarning });
  const toFailure = (error: unknown, phase: "start" | "send") =>
    fromTransport(error, phase, { server, redactor, hasSession: inner.sessionId !== undefined });
  return new GuardedTransport(inner, { clock, requests, ids, toFailure, greetingMeta: options.greetingMeta });
}

function createSdkClient({ handlers, onNotification, onError }: OpeningOptions): Client {
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
  facts(sdk: Client): ServerMetadata | undefined;
}

/** The SDK counts its requests from here. */
const GREETING_ID = 0;

/** Listens to the answer of `initialize`: the SDK keeps neither the version nor the reason it refused it. */
function hearGreeting(transport: GuardedTransport, { onRefused }: OpeningOptions): Greeting {
  let version: string | undefined;
  let isHeard = false;
  transport.onmessage = (message) => {
    if (isHeard || !isGreetingAnswer(message)) return;
    isHeard = true;
    const named = isPlainObject(message.result) ? message.result["protocolVersion"] : undefined;
    if (typeof named === "string") version = named;
    const { error } = message;
    const isRefused = isPlainObject(error) && failureIn(error.data) === undefined;
    if (isRefused && transport.sessionId === undefined) onRefused?.(error.code, () => transport.handOn());
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

/** What has no id, or another one, answers something else. Some servers send numbers back as texts. */
function isGreetingAnswer(message: unknown): boolean {
  return (
    isPlainObject(message) && message["method"] === undefined && String(message["id"]) === `${GREETING_ID}`
  );
}

function toHandshakeError(
  error: unknown,
  { server, redactor }: OpeningOptions,
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
      "invalid-response",
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

/** Half-open is closed; a session that the server has just opened for us is ended there, too. */
async function discard(transport: GuardedTransport, greeting: Greeting | undefined): Promise<void> {
  if (greeting?.isHeard === true) await transport.terminateSession();
  await transport.close();
}
