import type { CallContext } from "./call-context.js";
import type { JsonObject } from "../json/json.js";

/** A JSON-RPC message on the wire. */
export interface JsonRpcMessage {
  /** The version of JSON-RPC. */
  jsonrpc: "2.0";
  /** Identifies a request, and is repeated in its response; `undefined` for notifications. */
  id?: string | number | undefined;
  /** What is requested or notified: `tools/call`; `undefined` for responses. */
  method?: string | undefined;
  /** The arguments of a request or notification. */
  params?: JsonObject | undefined;
  /** The result of a request that succeeded. */
  result?: JsonObject | undefined;
  /** Why a request failed. */
  error?: { code: number; message: string; data?: unknown } | undefined;
}

/**
 * Declared as a method for bivariance, so that transports with a narrower message type fit, such as the
 * SDK's.
 */
type MessageListener = { listen(message: JsonRpcMessage): void }["listen"];

/** Options of `MessageTransport.send`. */
export interface SendOptions {
  /** The server request that this message belongs to. */
  readonly relatedRequestId?: string | number | undefined;
  /** HTTP headers for this message only, on transports with headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The caller, when credentials depend on it. */
  readonly context?: CallContext | undefined;
}

/** Sends and receives JSON-RPC messages: the contract of every transport. */
export interface MessageTransport {
  /** Opens the connection. Called once, before any message is sent. */
  start(): Promise<void>;
  /** Sends a message. Responses arrive through `onmessage`. */
  send(message: JsonRpcMessage, options?: SendOptions): Promise<void>;
  /** Closes the connection and calls `onclose`. Idempotent. */
  close(): Promise<void>;
  /** Called for every message from the server. */
  onmessage?: MessageListener | undefined;
  /** Called once when the connection is closed, by either side. */
  onclose?: (() => void) | undefined;
  /** Called for errors that belong to no request. They are informational. */
  onerror?: ((error: Error) => void) | undefined;
  /** The session id assigned by the server; `undefined` for servers without sessions. */
  readonly sessionId?: string | undefined;
  /**
   * `false` when only responses come back, so that the server cannot send notifications or requests of
   * its own. They are not subscribed to then.
   *
   * @default true
   */
  readonly canReceiveUnsolicited?: boolean | undefined;
  /** Called with the negotiated protocol version after initialize. */
  setProtocolVersion?: ((version: string) => void) | undefined;
  /**
   * Whether a pending request may have reached the server. Requests that provably were not sent can be
   * retried safely. Without this method, every request may have been sent.
   */
  mayHaveBeenSent?: ((id: string | number) => boolean) | undefined;
  /** Terminates the session at the server. */
  terminateSession?: (() => Promise<void>) | undefined;
  /**
   * Opens the stream for messages that the server sends unsolicited, on transports that need a separate
   * stream for them. A promise settles when the stream is open or cannot be opened.
   */
  openServerStream?: (() => void | Promise<void>) | undefined;
}

/**
 * What `openTransport` may return: a `MessageTransport`, or any transport of the official SDK. The message
 * type is `never` so that the SDK's own message type is assignable.
 */
export type TransportLike = Omit<MessageTransport, "send"> & {
  /** Sends a message. Responses arrive through `onmessage`. */
  send(message: never): Promise<void>;
};

/** A server in this process, such as the SDK's `McpServer`. */
export interface InProcessServer {
  /** Attaches the server to its end of a transport. Called once for each session. */
  connect(transport: MessageTransport): Promise<void>;
}

/** How a client introduces itself to servers. */
export interface ClientInfo {
  /** The name of the application. */
  readonly name: string;
  /** The version of the application. */
  readonly version: string;
  /** The name for people. */
  readonly title?: string | undefined;
}

/** The `clientInfo` that is sent to servers unless the option is set. */
export const CLIENT_INFO = { name: "langchain-mcp-runtime", version: "0.1.0" } as const;
