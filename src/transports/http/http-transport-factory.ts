import type { CancelScope } from "../../async/cancel-scope.js";
import { withDeadline } from "../../async/clock.js";
import { createCredentialsProvider, type RequestCredentials } from "../../auth/credentials.js";
import type { HttpAddress, ServerConfig } from "../../config/server-config.js";
import type { FailureKind } from "../../errors/failure-kinds.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { AddressGuard } from "../../net/address-guard.js";
import { openHttpPool } from "../../net/http-pool.js";
import type { Transport, TransportDependencies, TransportFactory } from "../transport.js";
import type { McpHttpClientOptions } from "./mcp-http-client.js";
import { AUTH_AND_RATE_STATUSES, PROTOCOL_CODES } from "./modern-era.js";
import { SseTransport } from "./sse-transport.js";
import { StreamableHttpTransport } from "./streamable-http-transport.js";

/** An SSE server sends its endpoint at once: a server that takes longer is not one. */
const MAX_ENDPOINT_TIMEOUT_MS = 5_000;

const SSE_HINT = 'If it supports Streamable HTTP, use the type "http", which detects the transport.';

/** All sessions of all identities share one connection pool and the detected transport. */
export function createHttpFactory(
  config: ServerConfig,
  address: HttpAddress,
  dependencies: TransportDependencies,
): TransportFactory {
  const { name: server, limits, timeouts } = config;
  const { kind, url, headers } = address;
  const { redactor } = dependencies;
  const { connectMs } = timeouts;
  const guard = new AddressGuard(config, url);
  const pool = openHttpPool(address, {
    sockets: limits.sockets,
    connectMs,
    redactor,
    checkAddress: guard.checkFor(url, "server"),
    onConnected: (ip) => guard.onConnected(ip),
  });
  const credentialsProvider = createCredentialsProvider(config, address, { ...dependencies, guard });
  const clientOptions = { server, url, headers, pool, ...dependencies, maxBytes: limits.responseBytes };
  const endpointTimeoutMs =
    connectMs === 0 ? MAX_ENDPOINT_TIMEOUT_MS : Math.min(connectMs / 2, MAX_ENDPOINT_TIMEOUT_MS);
  const detector = new TransportDetector(clientOptions, endpointTimeoutMs);
  return {
    createCredentials: credentialsProvider.createCredentials,
    openTransport: async (credentials, resumed, cancellation) =>
      kind === "sse"
        ? new SseTransport({ ...clientOptions, credentials, hint: SSE_HINT })
        : detector.open(
            { credentials, sessionId: resumed?.id, protocolVersion: resumed?.protocolVersion },
            cancellation,
          ),
    close: async () => {
      await Promise.all([pool.close(), credentialsProvider.close()]);
    },
  };
}

interface SessionOptions extends Pick<McpHttpClientOptions, "sessionId" | "protocolVersion"> {
  readonly credentials: RequestCredentials | undefined;
}

const METHOD_NOT_ALLOWED = 405;

/**
 * A GET that fails with one of these did not reach an SSE server. Other failures are inconclusive: the
 * server may be down, slow or require authorization.
 */
const NOT_SSE_KINDS: ReadonlySet<FailureKind> = new Set([
  "invalid-request",
  "not-found",
  "invalid-response",
  "too-large",
  "server-error",
]);

/**
 * Opens Streamable HTTP with a fallback to SSE at the same URL for older servers. An SSE server is detected during
 * `initialize`: it rejects the POST, and its GET opens an event stream. The result is kept for later sessions until the
 * GET no longer opens a stream. When both fail, the first failure is reported and the second is appended as a hint.
 */
class TransportDetector {
  readonly #options: Omit<McpHttpClientOptions, keyof SessionOptions>;
  readonly #endpointTimeoutMs: number;
  /** The server supports only SSE at this URL. */
  #isSse = false;

  constructor(options: Omit<McpHttpClientOptions, keyof SessionOptions>, endpointTimeoutMs: number) {
    this.#options = options;
    this.#endpointTimeoutMs = endpointTimeoutMs;
  }

  async open(session: SessionOptions, cancellation: CancelScope): Promise<Transport> {
    const sseFailure = this.#isSse ? await this.#trySse(session, cancellation) : undefined;
    if (sseFailure instanceof SseTransport) return sseFailure;
    return new StreamableHttpTransport({
      ...this.#options,
      ...session,
      openFallback: async (rejection, scope) => {
        if (!mayBeSse(rejection)) return undefined;
        if (sseFailure !== undefined) throw withHint(sseFailure, "POST", rejection);
        const sse = await this.#trySse(session, scope);
        if (sse instanceof McpRuntimeError) throw withHint(rejection, "GET", sse);
        this.#isSse = true;
        return sse;
      },
    });
  }

  /** Returns the started transport, or the failure that shows that the server does not support SSE. */
  async #trySse(session: SessionOptions, cancellation: CancelScope): Promise<SseTransport | McpRuntimeError> {
    const { server, clock } = this.#options;
    const ms = this.#endpointTimeoutMs;
    const sse = new SseTransport({ ...this.#options, credentials: session.credentials });
    const createError = () => {
      const problem = sse.isStreaming ? "did not send an endpoint event" : "did not respond to the GET";
      const text = `Server "${server}" ${problem} within ${ms} ms.`;
      return new McpRuntimeError(sse.isStreaming ? "invalid-response" : "timeout", text, { server });
    };
    try {
      await withDeadline({ ms, clock, cancellation, createError }, (limited) => limited.race(sse.start()));
      return sse;
    } catch (error) {
      await sse.close();
      if (!(error instanceof McpRuntimeError) || !NOT_SSE_KINDS.has(error.kind)) throw error;
      this.#isSse = false;
      return error;
    }
  }
}

/**
 * An SSE server rejects a POST to this URL with almost any 4xx status, and some with a JSON-RPC error. A server that
 * responds with an error of the protocol has parsed the message, so it is not one.
 */
function mayBeSse({ kind, status, code }: McpRuntimeError): boolean {
  if (status === undefined || kind === "session-lost") return false;
  if (status === METHOD_NOT_ALLOWED) return true;
  const isRejection = status >= 400 && status < 500 && !AUTH_AND_RATE_STATUSES.has(status);
  return isRejection && !PROTOCOL_CODES.has(code);
}

function withHint(first: McpRuntimeError, method: "GET" | "POST", second: McpRuntimeError): McpRuntimeError {
  const transport = method === "GET" ? "The older SSE transport" : "Streamable HTTP";
  const outcome = second.status === undefined ? second.message : `${method} returned HTTP ${second.status}.`;
  const message = `${first.message} ${transport} was also tried: ${outcome}`;
  return first.with({ message, cause: first.cause ?? second });
}
