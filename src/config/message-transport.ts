import type { CallContext } from "./call-context.js";
import type { JsonObject } from "../json/json.js";

/** One JSON-RPC message, as it travels. */
export interface JsonRpcMessage {
  jsonrpc: "2.0";
  id?: string | number | undefined;
  method?: string | undefined;
  params?: JsonObject | undefined;
  result?: JsonObject | undefined;
  error?: { code: number; message: string; data?: unknown } | undefined;
}

/** Written as a method, so that a transport with a narrower type of message fits, such as the SDK's. */
type MessageListener = { listen(message: JsonRpcMessage): void }["listen"];

export interface SendOptions {
  /** The server's request that this message belongs to. */
  readonly relatedRequestId?: string | number | undefined;
  /** HTTP headers for this message only, where messages have headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Who asks, where credentials depend on it. */
  readonly context?: CallContext | undefined;
}

/** How messages travel: the contract of every transport. */
export interface MessageTransport {
  start(): Promise<void>;
  send(message: JsonRpcMessage, options?: SendOptions): Promise<void>;
  /** Ends it and calls `onclose`. Calling it again does nothing. */
  close(): Promise<void>;
  onmessage?: MessageListener | undefined;
  onclose?: (() => void) | undefined;
  /** For what belongs to no request; nothing has to be done about it. */
  onerror?: ((error: Error) => void) | undefined;
  /** The id that the server gave this conversation; `undefined` for servers without sessions. */
  readonly sessionId?: string | undefined;
  /** A server brings nothing but answers: what it would tell by itself is not asked for. */
  readonly isOneWay?: boolean | undefined;
  setProtocolVersion?: ((version: string) => void) | undefined;
  /** Whether the server may have seen a request that is still waiting; where nobody can tell, it may. */
  wasSent?: ((id: string | number) => boolean) | undefined;
  /** Tells the server that the session is over. */
  terminateSession?: (() => Promise<void>) | undefined;
  /**
   * Opens the channel on which a server speaks unasked, where that needs a channel of its own. A
   * promise says when it is open, or will not be.
   */
  listen?: (() => void | Promise<void>) | undefined;
}

/**
 * What `openTransport` may return: a `MessageTransport`, or any transport of the official SDK. It
 * asks for no particular type of message, so that the SDK's, which has one of its own, fits too.
 */
export type TransportLike = Omit<MessageTransport, "send"> & { send(message: never): Promise<void> };

/** A server in this process, such as the SDK's `McpServer`. */
export interface InProcessServer {
  connect(transport: MessageTransport): Promise<void>;
}
