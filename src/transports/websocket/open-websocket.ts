import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../async/clock.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { PrefixReader } from "../http/body-readers.js";
import type { RequestAuth, RequestCredentials } from "../../auth/credentials.js";
import type { ResponseHead } from "../../net/http-request.js";
import { type HttpErrorContext, fromConnectionError, fromHttpStatus } from "../http/http-errors.js";
import { ChallengeTracker } from "../../auth/oauth-flow.js";

export const SUBPROTOCOL = "mcp";
/** How long the server has to complete the closing handshake before the connection is terminated. */
export const CLOSE_TIMEOUT_MS = 500;

export interface OpenWebSocketOptions extends HttpErrorContext {
  readonly clock: Clock;
  readonly credentials: RequestCredentials | undefined;
  /** Starts to open a WebSocket with these credentials. */
  readonly connect: (auth: RequestAuth | undefined) => WebSocket;
}

/** Keeps the credentials of a connection redacted for as long as it is open. */
const authBySocket = new WeakMap<WebSocket, RequestAuth>();

/** An upgrade request ends with the underlying connection or with an HTTP response. */
type UpgradeResult =
  | { readonly connection: Socket }
  | { readonly response: ResponseHead; readonly failure: McpRuntimeError };

/**
 * Opens a WebSocket and returns the underlying connection. After a rejection it is tried once more if
 * other credentials can be obtained. `onSocket` receives every socket before it is open.
 */
export async function openWebSocket(
  options: OpenWebSocketOptions,
  onSocket: (socket: WebSocket) => void,
): Promise<Socket> {
  const { credentials, connect } = options;
  const challenges = new ChallengeTracker();
  let auth = await credentials?.getAuth();
  for (;;) {
    const socket = connect(auth);
    if (auth !== undefined) authBySocket.set(socket, auth);
    onSocket(socket);
    const upgrade = await waitForUpgrade(socket, options);
    if ("connection" in upgrade) return upgrade.connection;
    const { response, failure } = upgrade;
    credentials?.onResponseHeaders(response.headers);
    const reason = auth && challenges.nextReason(response, auth);
    if (auth === undefined || reason === undefined) throw failure;
    auth = await credentials?.renewAfter(auth, { response, reason });
    if (auth === undefined) throw failure;
  }
}

function waitForUpgrade(socket: WebSocket, options: OpenWebSocketOptions): Promise<UpgradeResult> {
  return new Promise((resolve, reject) => {
    let connection: Socket | undefined;
    socket.once("upgrade", (response: IncomingMessage) => {
      connection = response.socket;
      if (response.headers["sec-websocket-protocol"] === SUBPROTOCOL) return;
      reject(subprotocolError(options));
      socket.terminate();
    });
    socket.once("open", () => {
      if (connection !== undefined) resolve({ connection });
    });
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      const { statusCode: status = 0, headers } = response;
      const reader = new PrefixReader(options.clock, (body) => {
        const head = { status, headers };
        resolve({ response: head, failure: fromUpgradeResponse(head, body, options) });
        socket.terminate();
      });
      response.on("data", (chunk: Buffer) => reader.data(chunk));
      response.once("end", () => reader.end());
      response.once("close", () => reader.end());
    });
    socket.once("error", (error) => {
      const isUpgraded = connection !== undefined;
      reject(isUpgraded ? upgradeError(error.message, options, error) : fromUpgradeError(error, options));
    });
  });
}

function fromUpgradeResponse(
  response: ResponseHead,
  body: string,
  context: HttpErrorContext,
): McpRuntimeError {
  if (response.status >= 300) return fromHttpStatus({ ...response, body, hadSession: false }, context);
  return upgradeError(`HTTP ${response.status}`, context);
}

/** An HTTP parse error or an invalid handshake means that the server does not support WebSocket. */
function fromUpgradeError(error: Error, context: HttpErrorContext): McpRuntimeError {
  const code = String(Reflect.get(error, "code"));
  if (code.startsWith("HPE_")) return upgradeError(error.message, context, error);
  return fromConnectionError(error, context, { wasSent: false });
}

function upgradeError(detail: string, context: HttpErrorContext, error?: Error): McpRuntimeError {
  const { server, origin, redactor } = context;
  const text = `Server "${server}" at ${origin} did not open a WebSocket: ${redactor.excerpt(detail)}. Is the URL correct?`;
  return new McpRuntimeError("invalid-response", text, { server, cause: redactor.redactCause(error) });
}

function subprotocolError({ server, origin }: HttpErrorContext): McpRuntimeError {
  const text = `Server "${server}" at ${origin} opened a WebSocket without the subprotocol "${SUBPROTOCOL}". Does it support MCP?`;
  return new McpRuntimeError("unsupported-protocol", text, { server });
}
