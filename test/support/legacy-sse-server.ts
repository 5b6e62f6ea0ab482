import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { FORGOTTEN_SESSION_ANSWERS, type ForgottenSessionAnswer } from "../../src/testing/index.js";
import { HttpHost, readBody } from "../../src/testing/http-host.js";
import { SessionTable } from "../../src/testing/session-table.js";
import { createSdkServer, type Execution, type TestTool } from "../../src/testing/test-tool.js";

const ECHO: TestTool = { name: "echo", run: ({ text }) => String(text) };

interface SeenRequest {
  readonly httpMethod: string;
  /** With its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** JSON-RPC method. */
  readonly method: string | undefined;
}

interface PlainAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * A server on the SDK's legacy SSE transport that can die and come back on its port, that may speak
 * Streamable HTTP at the same address, too, and that may be upgraded to speak nothing else.
 */
export class LegacySseServer implements AsyncDisposable {
  speaks: "sse" | "http" | "both" = "sse";
  /** What it says to a POST at the address of its stream. */
  refusal: PlainAnswer = { status: 405 };
  forgottenAnswer: PlainAnswer = { status: 404, body: "Session not found" };
  readonly requests: SeenRequest[] = [];
  readonly executions: Execution[] = [];
  readonly #tools: readonly TestTool[];
  readonly #faults: { readonly on: string; readonly answer: PlainAnswer }[] = [];
  readonly #streams = new Map<string, { transport: SSEServerTransport; server: Server }>();
  readonly #sessions = new SessionTable({
    mode: "many",
    answers: () => "json",
    resumable: false,
    createServer: () => this.#createServer(),
  });
  readonly #host = new HttpHost((request, response) => this.#handle(request, response));

  constructor({ tools = [ECHO] }: { readonly tools?: readonly TestTool[] } = {}) {
    this.#tools = tools;
  }

  static async start(options: { readonly tools?: readonly TestTool[] } = {}): Promise<LegacySseServer> {
    const server = new LegacySseServer(options);
    await server.start();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#host.port}/mcp`;
  }

  get openSockets(): number {
    return this.#host.openSockets;
  }

  get openSessions(): string[] {
    return [...this.#streams.keys(), ...this.#sessions.ids];
  }

  /** The servers of its open streams. */
  get servers(): Server[] {
    return [...this.#streams.values()].map(({ server }) => server);
  }

  /** What came with this JSON-RPC or HTTP method. */
  received(method: string): SeenRequest[] {
    return this.requests.filter((request) => request.method === method || request.httpMethod === method);
  }

  /** The next request with this JSON-RPC or HTTP method gets this answer, and nothing else. */
  answerNext(on: string, answer: PlainAnswer): void {
    this.#faults.push({ on, answer });
  }

  /** Takes no more messages for the streams that are open, and says so in this way; they stay open. */
  forgetSessions(answer?: ForgottenSessionAnswer): void {
    if (answer !== undefined) this.forgottenAnswer = FORGOTTEN_SESSION_ANSWERS[answer];
    this.#streams.clear();
    this.#sessions.forget();
  }

  async notifyToolsChanged(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.sendToolListChanged()));
  }

  /** Ends every stream in good order, as a proxy does that has waited long enough. */
  endStreams(): Promise<unknown> {
    return Promise.all([...this.#streams.values()].map(({ transport }) => transport.close()));
  }

  async start(): Promise<void> {
    await this.#host.start();
  }

  async stop(): Promise<void> {
    await this.#host.stop();
    this.#streams.clear();
    await this.#sessions.clear();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async close(): Promise<void> {
    await this.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #createServer(): Server {
    const behaviour = () => ({
      tools: this.#tools,
      malformedTools: [],
      listing: { type: "whole" } as const,
      instructions: undefined,
    });
    return createSdkServer(behaviour, (execution) => this.executions.push(execution));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readBody(request);
    const body = text === "" ? undefined : (JSON.parse(text) as { method?: string });
    const { method: httpMethod = "", url: path = "", headers } = request;
    this.requests.push({ httpMethod, path, headers, method: body?.method });
    const fault = this.#faults.findIndex(({ on }) => on === httpMethod || on === body?.method);
    if (fault !== -1) return answerWith(response, this.#faults.splice(fault, 1)[0]?.answer);
    if (path.startsWith("/messages")) return this.#handleMessage(request, response, body);
    if (httpMethod === "GET" && this.speaks !== "http") return this.#openStream(response);
    if (this.speaks === "sse") return answerWith(response, this.refusal);
    const isKnown = await this.#sessions.handle(request, response, body, body?.method === "initialize");
    if (!isKnown) answerWith(response, { status: httpMethod === "GET" ? 405 : 404 });
  }

  async #openStream(response: ServerResponse): Promise<void> {
    const transport = new SSEServerTransport("/messages", response);
    const server = this.#createServer();
    this.#streams.set(transport.sessionId, { transport, server });
    response.once("close", () => this.#streams.delete(transport.sessionId));
    await server.connect(transport);
  }

  async #handleMessage(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const id = new URL(request.url ?? "", "http://localhost").searchParams.get("sessionId") ?? "";
    const stream = this.#streams.get(id);
    if (stream === undefined) return answerWith(response, this.forgottenAnswer);
    return stream.transport.handlePostMessage(request, response, body);
  }
}

function answerWith(
  response: ServerResponse,
  { status, headers, body }: PlainAnswer = { status: 500 },
): void {
  response.writeHead(status, headers).end(body);
}
