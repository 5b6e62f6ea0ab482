import type { IncomingMessage, ServerResponse } from "node:http";
import type { InProcessServer, MessageTransport } from "../config/message-transport.js";
import { type Fault, FaultQueue, type FaultTarget } from "./fault.js";
import { UNKNOWN_SESSION_RESPONSES, type UnknownSessionResponse } from "./unknown-session.js";
import { HttpListener } from "./http-listener.js";
import type { Pagination } from "./paginate.js";
import { parseReceived, type ReceivedRequest } from "./received-request.js";
import type { InterceptedRequest } from "./intercepted-request.js";
import { type SessionMode, TestSessions } from "./test-sessions.js";
import { isResponseFault, applyResponseFault } from "./response-faults.js";
import type { TestPrompt } from "./test-prompt.js";
import type { TestResource, TestResourceTemplate } from "./test-resource.js";
import { createSdkServer, type Execution, type TestTool } from "./test-tool.js";

export interface McpTestServerOptions {
  /** A tool `echo` that gives back its `text`, when left out. */
  readonly tools?: readonly TestTool[];
  readonly malformedTools?: readonly unknown[];
  /** Without them the server says that it has no resources, or no prompts. */
  readonly resources?: readonly TestResource[];
  readonly resourceTemplates?: readonly TestResourceTemplate[];
  readonly prompts?: readonly TestPrompt[];
  /** Of all lists. */
  readonly pagination?: Pagination;
  readonly instructions?: string;
  /** How requests are answered: as one JSON document or as a stream of events. */
  readonly responseFormat?: "json" | "sse";
  readonly sessionMode?: SessionMode;
  /** Number the events, so that a broken stream can be resumed. */
  readonly resumable?: boolean;
  /** Answers a request in place of the server, after recording and faults; `false` leaves it to the server. */
  readonly intercept?: (exchange: InterceptedRequest) => Promise<boolean>;
}

interface Waiter {
  readonly matches: (request: ReceivedRequest) => boolean;
  readonly resolve: (request: ReceivedRequest) => void;
}

const ECHO: TestTool = {
  name: "echo",
  description: "Gives back what it is given.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  run: ({ text }) => String(text),
};

/**
 * A real MCP server in this process, over HTTP on a loopback port or linked in memory, with faults
 * to switch on and a record of everything it received.
 */
export class McpTestServer implements InProcessServer, AsyncDisposable {
  tools: readonly TestTool[];
  malformedTools: readonly unknown[];
  resources: readonly TestResource[] | undefined;
  resourceTemplates: readonly TestResourceTemplate[];
  prompts: readonly TestPrompt[] | undefined;
  pagination: Pagination;
  responseFormat: "json" | "sse";
  /** How a session id is answered that this server does not know. */
  unknownSessionResponse: UnknownSessionResponse = "404 -32001";
  /** Every HTTP request since the start, in order. */
  readonly requests: ReceivedRequest[] = [];
  /** Every run of a tool since the start, in order. */
  readonly executions: Execution[] = [];
  readonly #instructions: string | undefined;
  readonly #intercept: McpTestServerOptions["intercept"];
  readonly #faults = new FaultQueue();
  readonly #waiters = new Set<Waiter>();
  /** What each session has subscribed to. */
  readonly #subscribed = new WeakMap<object, Set<string>>();
  readonly #sessions: TestSessions;
  readonly #listener = new HttpListener((request, response) => this.#handle(request, response));

  constructor(options: McpTestServerOptions = {}) {
    this.tools = options.tools ?? [ECHO];
    this.malformedTools = options.malformedTools ?? [];
    this.resources = options.resources;
    this.resourceTemplates = options.resourceTemplates ?? [];
    this.prompts = options.prompts;
    this.pagination = options.pagination ?? { type: "none" };
    this.responseFormat = options.responseFormat ?? "sse";
    this.#instructions = options.instructions;
    this.#intercept = options.intercept;
    this.#sessions = new TestSessions({
      mode: options.sessionMode ?? "per-client",
      responseFormat: () => this.responseFormat,
      resumable: options.resumable ?? false,
      createServer: () => this.#createSdkServer(),
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.port}/mcp`;
  }

  get openSessions(): string[] {
    return this.#sessions.ids;
  }

  get openSockets(): number {
    return this.#listener.openSockets;
  }

  get socketsOpened(): number {
    return this.#listener.socketsOpened;
  }

  /** What came with this JSON-RPC or HTTP method. */
  received(method: string): ReceivedRequest[] {
    return this.requests.filter((request) => request.method === method || request.httpMethod === method);
  }

  /** The next request that matches, or the first that has already come. */
  waitFor(matches: string | ((request: ReceivedRequest) => boolean)): Promise<ReceivedRequest> {
    const test =
      typeof matches === "string"
        ? ({ method, httpMethod }: ReceivedRequest) => method === matches || httpMethod === matches
        : matches;
    const known = this.requests.find(test);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => this.#waiters.add({ matches: test, resolve }));
  }

  /** Lets requests go wrong; the function that comes back ends it. */
  addFault(fault: Fault, target: FaultTarget = {}): () => void {
    return this.#faults.add(fault, target);
  }

  clearFaults(): void {
    this.#faults.clear();
  }

  /** Knows no session any more, and says so in this way. What is running finishes. */
  dropSessions(answer: UnknownSessionResponse = this.unknownSessionResponse): void {
    this.unknownSessionResponse = answer;
    this.#sessions.forget();
  }

  /** Tells every session that the list of tools has changed. */
  async notifyToolsChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendToolListChanged()));
  }

  async notifyResourcesChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendResourceListChanged()));
  }

  async notifyPromptsChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendPromptListChanged()));
  }

  /** Tells every session that has subscribed to it. */
  async notifyResourceUpdated(uri: string): Promise<void> {
    const wanting = this.#sessions.servers.filter((server) => this.#subscribed.get(server)?.has(uri));
    await Promise.all(wanting.map((server) => server.sendResourceUpdated({ uri })));
  }

  async start(): Promise<void> {
    await this.#listener.start();
  }

  /** As a killed process: connections break, sessions are gone, the port refuses. */
  async stop(): Promise<void> {
    await this.#listener.stop();
    await this.#sessions.clear();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Links a client in this process: `new McpClient({ name, server })`. */
  async connect(transport: MessageTransport): Promise<void> {
    await this.#sessions.connect(transport);
  }

  async close(): Promise<void> {
    this.clearFaults();
    await this.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #createSdkServer() {
    const subscribed = new Set<string>();
    const behaviour = () => {
      const { tools, malformedTools, resources, resourceTemplates, prompts, pagination } = this;
      const instructions = this.#instructions;
      return {
        tools,
        malformedTools,
        resources,
        resourceTemplates,
        prompts,
        listing: pagination,
        instructions,
      };
    };
    const server = createSdkServer(behaviour, (execution) => this.executions.push(execution), subscribed);
    this.#subscribed.set(server, subscribed);
    return server;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await parseReceived(request);
    this.#record(received);
    const fault = this.#faults.next({ ...received });
    if (fault !== undefined && (await this.#answerWith(fault, response))) return;
    if ((await this.#intercept?.({ request, response, body: received.body })) === true) return;
    const isInitialize = received.method === "initialize";
    if (await this.#sessions.handle(request, response, received.body, isInitialize)) return;
    const { status, contentType, body } = UNKNOWN_SESSION_RESPONSES[this.unknownSessionResponse];
    response.writeHead(status, { "content-type": contentType }).end(body);
  }

  #record(received: ReceivedRequest): void {
    this.requests.push(received);
    for (const waiter of this.#waiters) {
      if (!waiter.matches(received)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(received);
    }
  }

  /** True when the fault is all the answer there is. */
  async #answerWith(fault: Fault, response: ServerResponse): Promise<boolean> {
    if (isResponseFault(fault)) {
      applyResponseFault(response, fault);
      return false;
    }
    switch (fault.type) {
      case "delay":
        await new Promise((resolve) => setTimeout(resolve, fault.ms));
        return false;
      case "hang":
        return true;
      case "status":
        response.writeHead(fault.status, fault.headers ?? {}).end(fault.body ?? "");
        return true;
      case "html":
        response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
        return true;
      default:
        response.socket?.destroy();
        return true;
    }
  }
}

/** Starts a test server on a free loopback port. */
export async function startMcpTestServer(options: McpTestServerOptions = {}): Promise<McpTestServer> {
  const server = new McpTestServer(options);
  await server.start();
  return server;
}
