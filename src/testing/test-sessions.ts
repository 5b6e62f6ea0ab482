import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { MessageTransport } from "../config/message-transport.js";
import { MemoryEventStore } from "./memory-event-store.js";

/**
 * - `many`: a session for each client, as most servers keep them
 * - `one`: one bare SDK transport, which knows a single session for all its life
 * - `none`: a new server for each request, no ids
 */
export type SessionMode = "per-client" | "single" | "stateless";

interface SessionTableOptions {
  readonly mode: SessionMode;
  readonly responseFormat: () => "json" | "sse";
  readonly resumable: boolean;
  readonly createServer: () => Server;
}

interface TestSession {
  readonly server: Server;
  readonly transport: StreamableHTTPServerTransport;
}

/** The MCP sessions behind one HTTP endpoint, each on the official SDK's own transport. */
export class TestSessions {
  readonly #options: SessionTableOptions;
  readonly #sessions = new Map<string, TestSession>();
  readonly #inProcess = new Set<Server>();
  readonly #events = new MemoryEventStore();
  #single: Promise<TestSession> | undefined;

  constructor(options: SessionTableOptions) {
    this.#options = options;
  }

  get ids(): string[] {
    return [...this.#sessions.keys()];
  }

  get servers(): Server[] {
    return [...[...this.#sessions.values()].map(({ server }) => server), ...this.#inProcess];
  }

  /** A session without HTTP, for as long as its transport is open. */
  async connect(transport: MessageTransport): Promise<void> {
    const server = this.#options.createServer();
    this.#inProcess.add(server);
    server.onclose = () => this.#inProcess.delete(server);
    await server.connect(transport);
  }

  /** False when the request names a session that is not known here: somebody else has to answer. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
    isInitialize: boolean,
  ): Promise<boolean> {
    const session = await this.#find(request.headers["mcp-session-id"], isInitialize);
    if (session === undefined) return false;
    if (this.#options.mode === "stateless") response.once("close", () => void session.server.close());
    await session.transport.handleRequest(request, response, body);
    return true;
  }

  /** Forgets everything at once, as a restart does. */
  async clear(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    this.#single = undefined;
    await Promise.all(sessions.map(({ server }) => server.close()));
  }

  /** Forgets the ids and lets what is running on them finish. */
  forget(): void {
    this.#sessions.clear();
    this.#single = undefined;
  }

  async #find(id: string | string[] | undefined, isInitialize: boolean): Promise<TestSession | undefined> {
    switch (this.#options.mode) {
      case "stateless":
        return this.#open(false);
      case "single":
        this.#single ??= this.#open(true);
        return this.#single;
      case "per-client":
        if (typeof id === "string") return this.#sessions.get(id);
        return isInitialize ? this.#open(true) : undefined;
    }
  }

  async #open(hasId: boolean): Promise<TestSession> {
    const server = this.#options.createServer();
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      ...(hasId ? { sessionIdGenerator: () => randomUUID() } : {}),
      enableJsonResponse: this.#options.responseFormat() === "json",
      ...(this.#options.resumable ? { eventStore: this.#events } : {}),
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
