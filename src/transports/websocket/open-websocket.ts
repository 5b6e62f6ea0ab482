import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { WebSocket } from "ws";
import type { Clock } from "../../async/clock.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { BeginningReader } from "../http/body-readers.js";
import type { Credentials, Proof } from "../../auth/credentials.js";
import type { ResponseHead } from "../../net/http-request.js";
import { type FailureContext, toConnectionFailure, toStatusFailure } from "../http/http-errors.js";
import { Refusals } from "../../auth/auth-challenge.js";

/** The subprotocol by which both sides say that they mean MCP. */
export const SUBPROTOCOL = "mcp";
/** How long the other side has to say goodbye; the connection is cut after that. */
export const GOODBYE_MS = 500;

export interface OpeningOptions extends FailureContext {
  readonly clock: Clock;
  readonly credentials: Credentials | undefined;
  /** Begins to open a WebSocket, with headers that prove who asks. */
  readonly connect: (proof: Proof | undefined) => WebSocket;
}

/** How the request to open a WebSocket ended: with the connection below it, or with an HTTP response. */
type Upgrade =
  | { readonly connection: Socket }
  | { readonly refusal: ResponseHead; readonly failure: McpRuntimeError };

/**
 * Opens a WebSocket and gives the connection below it. Where other credentials can be had after a
 * refusal, it is tried once more with those. Every socket is shown before it is open.
 */
export async function openWebSocket(
  options: OpeningOptions,
  onSocket: (socket: WebSocket) => void,
): Promise<Socket> {
  const { credentials, connect } = options;
  const refusals = new Refusals();
  let proof = await credentials?.proof();
  for (;;) {
    const socket = connect(proof);
    onSocket(socket);
    const upgrade = await untilAnswered(socket, options);
    if ("connection" in upgrade) return upgrade.connection;
    const { refusal, failure } = upgrade;
    credentials?.heard(refusal.headers);
    const reason = proof && refusals.reasonOf(refusal, proof);
    if (proof === undefined || reason === undefined) throw failure;
    proof = await credentials?.renewed(proof, { refusal, reason });
    if (proof === undefined) throw failure;
  }
}

/** Nothing of ours has been sent by then, so what the server does instead is told by kind alone. */
function untilAnswered(socket: WebSocket, options: OpeningOptions): Promise<Upgrade> {
  return new Promise((resolve, reject) => {
    let connection: Socket | undefined;
    socket.once("upgrade", (response: IncomingMessage) => {
      connection = response.socket;
      if (response.headers["sec-websocket-protocol"] === SUBPROTOCOL) return;
      reject(otherProtocol(options));
      socket.terminate();
    });
    socket.once("open", () => {
      if (connection !== undefined) resolve({ connection });
    });
    socket.once("unexpected-response", (_request, response: IncomingMessage) => {
      const { statusCode: status = 0, headers } = response;
      const reader = new BeginningReader(options.clock, (body) => {
        const refusal = { status, headers };
        resolve({ refusal, failure: toRefusal(refusal, body, options) });
        socket.terminate();
      });
      response.on("data", (chunk: Buffer) => reader.data(chunk));
      response.once("end", () => reader.end());
      response.once("close", () => reader.end());
    });
    socket.once("error", (error) => reject(toUpgradeFailure(error, connection !== undefined, options)));
  });
}

/** It answered with an HTTP response of the ordinary kind. */
function toRefusal(refusal: ResponseHead, body: string, context: FailureContext): McpRuntimeError {
  if (refusal.status >= 300) return toStatusFailure({ ...refusal, body, hadSession: false }, context);
  return noWebSocket(`HTTP ${refusal.status}`, context);
}

/** What is no HTTP at all, or a handshake done wrong, comes from somebody who does not speak WebSocket. */
function toUpgradeFailure(error: Error, isUpgraded: boolean, context: FailureContext): McpRuntimeError {
  const code = String(Reflect.get(error, "code"));
  if (isUpgraded || code.startsWith("HPE_")) return noWebSocket(error.message, context, error);
  return toConnectionFailure(error, false, context);
}

function noWebSocket(found: string, context: FailureContext, error?: Error): McpRuntimeError {
  const { server, origin, redactor } = context;
  const text = `Server "${server}" at ${origin} did not open a WebSocket: ${found}. Is the address right?`;
  return new McpRuntimeError("invalid-response", text, { server, cause: redactor.cause(error) });
}

function otherProtocol({ server, origin }: FailureContext): McpRuntimeError {
  const text = `Server "${server}" at ${origin} opened a WebSocket without the subprotocol "${SUBPROTOCOL}". Does it speak MCP?`;
  return new McpRuntimeError("unsupported-protocol", text, { server });
}
