import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  StreamableHTTPServerTransport,
  type EventStore,
} from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { toObject } from "../json/json.js";
import type { MessageTransport } from "../config/message-transport.js";

/**
 * How the test server handles sessions:
 * - `per-client`: one session per client, as most servers do
 * - `single`: a single SDK transport, which accepts one session in its lifetime
 * - `stateless`: a new server for each request, without session ids
 */
export type SessionMode = "per-client" | "single" | "stateless";

interface TestSessionsOptions {
  readonly mode: SessionMode;
  readonly responseFormat: () => "json" | "sse";
  readonly resumable: boolean;
  readonly createServer: () => Server;
}

interface TestSession {
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
}

/** The MCP sessions of one HTTP endpoint, each with a transport of the official SDK. */
export class TestSessions {
  readonly #options: TestSessionsOptions;
  readonly #sessions = new Map<string, TestSession>();
  readonly #inProcess = new Set<Server>();
  readonly #events = new MemoryEventStore();
  #single: Promise<TestSession> | undefined;

  constructor(options: TestSessionsOptions) {
    this.#options = options;
  }

  get ids(): string[] {
    return [...this.#sessions.keys()];
  }

  get servers(): Server[] {
    return [...[...this.#sessions.values()].map(({ server }) => server), ...this.#inProcess];
  }

  /** Opens an in-process session that lasts as long as its transport is open. */
  async connect(transport: MessageTransport): Promise<void> {
    const server = this.#options.createServer();
    this.#inProcess.add(server);
    server.onclose = () => this.#inProcess.delete(server);
    await server.connect(transport);
  }

  /** Returns false without responding if the request names an unknown session. */
  async handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<boolean> {
    const session = await this.#find(request.headers["mcp-session-id"], body);
    if (session === undefined) return false;
    if (this.#options.mode === "stateless") response.once("close", () => void session.server.close());
    await session.transport.handleRequest(request, response, body);
    return true;
  }

  /** Closes all sessions, as a restart does. */
  async clear(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    this.#single = undefined;
    await Promise.all(sessions.map(({ server }) => server.close()));
  }

  /** Removes all session ids; running requests finish. */
  drop(): void {
    this.#sessions.clear();
    this.#single = undefined;
  }

  async #find(id: string | string[] | undefined, body: unknown): Promise<TestSession | undefined> {
    switch (this.#options.mode) {
      case "stateless":
        return this.#open();
      case "single":
        return (this.#single ??= this.#open());
      case "per-client":
        if (typeof id === "string") return this.#sessions.get(id);
        return toObject(body)["method"] === "initialize" ? this.#open() : undefined;
    }
  }

  async #open(): Promise<TestSession> {
    const { mode, resumable, responseFormat, createServer } = this.#options;
    const server = createServer();
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      ...(mode === "stateless" ? {} : { sessionIdGenerator: () => randomUUID() }),
      enableJsonResponse: responseFormat() === "json",
      ...(resumable ? { eventStore: this.#events } : {}),
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { server, transport });
      },
      onsessionclosed: (id) => {
        this.#sessions.delete(id);
      },
    });
    await server.connect(transport);
    return { server, transport };
  }
}

type StoredMessage = Parameters<EventStore["storeEvent"]>[1];

/** Stores sent events with ids, so that a dropped stream can be resumed. */
class MemoryEventStore implements EventStore {
  readonly #events: { readonly streamId: string; readonly message: StoredMessage }[] = [];

  async storeEvent(streamId: string, message: StoredMessage): Promise<string> {
    this.#events.push({ streamId, message });
    return `event-${this.#events.length}`;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#events[toPosition(eventId)]?.streamId;
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: StoredMessage) => Promise<void> },
  ): Promise<string> {
    const last = toPosition(lastEventId);
    const streamId = this.#events[last]?.streamId ?? "";
    for (const [position, event] of this.#events.entries()) {
      // Priming events have no message and are not replayed.
      const isMissed = position > last && event.streamId === streamId && "jsonrpc" in event.message;
      if (isMissed) await send(`event-${position + 1}`, event.message);
    }
    return streamId;
  }
}

function toPosition(eventId: string): number {
  return Number(eventId.replace("event-", "")) - 1;
}

/** Responses of real servers to an unknown session id, by name. */
export const UNKNOWN_SESSION_RESPONSES = {
  /** SDK 1.32 examples, fastmcp, supergateway, the C# SDK. */
  "404 -32001": rpcErrorResponse(404, -32_001, "Session not found"),
  /** The Python SDK. */
  "404 -32600": rpcErrorResponse(404, -32_600, "Session not found"),
  /** The Go SDK, Rust rmcp. */
  "404 text": { status: 404, contentType: "text/plain", body: "session not found\n" },
  /** SDK examples up to 1.31, `@modelcontextprotocol/server-everything`. */
  "400 no valid id": rpcErrorResponse(400, -32_000, "Bad Request: No valid session ID provided"),
  /** A single SDK transport after a restart. */
  "400 not initialized": rpcErrorResponse(400, -32_000, "Bad Request: Server not initialized"),
  "400 header required": rpcErrorResponse(400, -32_000, "Bad Request: Mcp-Session-Id header is required"),
} as const satisfies Record<string, CannedResponse>;

/** The name of a response in `UNKNOWN_SESSION_RESPONSES`. */
export type UnknownSessionResponse = keyof typeof UNKNOWN_SESSION_RESPONSES;

interface CannedResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

function rpcErrorResponse(status: number, code: number, message: string): CannedResponse {
  const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
  return { status, contentType: "application/json", body };
}
