import type { IncomingMessage, ServerResponse } from "node:http";
import { printValue } from "../errors/sanitize-text.js";
import type { InProcessServer, MessageTransport } from "../config/message-transport.js";
import { assertOptions, option, optionKeys, type OptionsOf, parseOptions } from "../config/parse-options.js";
import {
  applyFault,
  type ArmedFault,
  assertFault,
  type Fault,
  type FaultTarget,
  takeFault,
} from "./fault.js";
import {
  UNKNOWN_SESSION_RESPONSES,
  type UnknownSessionResponse,
  type SessionMode,
  TestSessions,
} from "./test-sessions.js";
import {
  hasMethod,
  HttpListener,
  parseReceived,
  type ReceivedRequest,
  type InterceptedRequest,
} from "./http-listener.js";
import {
  type Pagination,
  createSdkServer,
  type Execution,
  type TestTool,
  type TestResource,
  type TestResourceTemplate,
  type TestPrompt,
} from "./create-sdk-server.js";

const SERVER_FIELDS = {
  /**
   * The tools of the server.
   * @default one tool `echo` that returns its `text` argument
   */
  tools: option.any<readonly TestTool[]>(),
  /**
   * Invalid tool definitions that are listed unchanged.
   *
   * @default []
   */
  malformedTools: option.any<readonly unknown[]>(),
  /**
   * If omitted, the server does not declare the resources capability.
   *
   * @default undefined
   */
  resources: option.any<readonly TestResource[]>(),
  /**
   * Listed together with `resources`.
   *
   * @default undefined
   */
  resourceTemplates: option.any<readonly TestResourceTemplate[]>(),
  /**
   * If omitted, the server does not declare the prompts capability.
   *
   * @default undefined
   */
  prompts: option.any<readonly TestPrompt[]>(),
  /**
   * How all lists are paginated.
   * @default { type: "none" }
   */
  pagination: option.any<Pagination>(),
  /**
   * Sent in the result of `initialize`.
   *
   * @default none
   */
  instructions: option.any<string>(),
  /**
   * The format of responses: one JSON document or an SSE stream.
   * @default "sse"
   */
  responseFormat: option.any<"json" | "sse">(),
  /**
   * How sessions are handled.
   * @default "per-client"
   */
  sessionMode: option.any<SessionMode>(),
  /**
   * Send event ids, so that a dropped stream can be resumed.
   * @default false
   */
  resumable: option.any<boolean>(),
  /**
   * The loopback port to listen on; 0 for a free one. Starting fails with `EADDRINUSE` if it is in use.
   * @default 0
   */
  port: option.any<number>(),
  /**
   * Called for every request after it is recorded and faults are applied. Return `true` if the function has
   * responded, `false` to let the server respond.
   *
   * @default none
   */
  intercept: option.any<(intercepted: InterceptedRequest) => Promise<boolean>>(),
};

/** Options of `McpTestServer` and `startMcpTestServer`. */
export interface McpTestServerOptions extends OptionsOf<typeof SERVER_FIELDS> {}

interface Waiter {
  readonly matches: (request: ReceivedRequest) => boolean;
  readonly resolve: (request: ReceivedRequest) => void;
}

const ECHO: TestTool = {
  name: "echo",
  description: "Returns its text argument.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  run: ({ text }) => printValue(text),
};

const SERVER_OPTIONS: ReadonlySet<string> = new Set(Object.keys(SERVER_FIELDS));
const TARGET_OPTIONS = optionKeys<FaultTarget>({ method: true, tool: true, times: true });

/**
 * A real MCP server in this process, over HTTP on a loopback port or connected in memory, with
 * injectable faults and a record of all requests.
 *
 * @example
 * ```ts
 * await using server = await startMcpTestServer({ tools: [{ name: "add", run: ({ a, b }) => String(Number(a) + Number(b)) }] });
 * server.addFault({ type: "status", status: 503 }, { method: "tools/call", times: 1 });
 * await using client = new McpClient({ name: "test", url: server.url });
 * await client.callTool({ name: "add", args: { a: 1, b: 2 } });
 * ```
 */
export class McpTestServer implements InProcessServer, AsyncDisposable {
  /** The tools; may be replaced at any time. The same applies to the other lists and formats. */
  tools: readonly TestTool[];
  /** Invalid tool definitions that are listed unchanged after `tools`. */
  malformedTools: readonly unknown[];
  /** The resources. While `undefined`, new sessions do not declare the capability. */
  resources: readonly TestResource[] | undefined;
  /** The resource templates, which are listed only if `resources` is defined. */
  resourceTemplates: readonly TestResourceTemplate[];
  /** The prompts. While `undefined`, new sessions do not declare the capability. */
  prompts: readonly TestPrompt[] | undefined;
  /** How all lists are paginated. */
  pagination: Pagination;
  /** The format of responses. A change applies to new sessions. */
  responseFormat: "json" | "sse";
  /** The response to an unknown session id. */
  unknownSessionResponse: UnknownSessionResponse = "404 -32001";
  /** Every HTTP request that was received, in order. */
  readonly requests: ReceivedRequest[] = [];
  /** Every tool execution, in order. */
  readonly executions: Execution[] = [];
  readonly #intercept: McpTestServerOptions["intercept"];
  /** In the order they were added. The first match is applied. */
  readonly #faults = new Set<ArmedFault>();
  readonly #waiters = new Set<Waiter>();
  /** The resource URIs that each session is subscribed to. */
  readonly #subscribed = new WeakMap<object, Set<string>>();
  readonly #sessions: TestSessions;
  readonly #listener: HttpListener;

  constructor(options: McpTestServerOptions = {}) {
    assertOptions(options, SERVER_OPTIONS, { subject: "The test server" });
    this.tools = options.tools ?? [ECHO];
    this.malformedTools = options.malformedTools ?? [];
    this.resources = options.resources;
    this.resourceTemplates = options.resourceTemplates ?? [];
    this.prompts = options.prompts;
    this.pagination = options.pagination ?? { type: "none" };
    this.responseFormat = options.responseFormat ?? "sse";
    this.#intercept = options.intercept;
    this.#listener = new HttpListener((request, response) => this.#handle(request, response), options.port);
    this.#sessions = new TestSessions({
      mode: options.sessionMode ?? "per-client",
      responseFormat: () => this.responseFormat,
      resumable: options.resumable ?? false,
      createServer: () => {
        const subscribed = new Set<string>();
        const server = createSdkServer(this, options.instructions, subscribed);
        this.#subscribed.set(server, subscribed);
        return server;
      },
    });
  }

  /** The URL of the MCP endpoint. Valid after `start()`. */
  get url(): string {
    return `http://127.0.0.1:${this.#listener.port}/mcp`;
  }

  /** The ids of the open sessions. */
  get openSessions(): string[] {
    return this.#sessions.ids;
  }

  /** The number of open connections. */
  get openSockets(): number {
    return this.#listener.openSockets;
  }

  /** The number of connections that were ever opened. */
  get socketsOpened(): number {
    return this.#listener.socketsOpened;
  }

  /** Returns the received requests with this JSON-RPC or HTTP method. */
  received(method: string): ReceivedRequest[] {
    return this.requests.filter((request) => hasMethod(request, method));
  }

  /** Resolves to the first matching request, waiting for it if none was received yet. */
  waitFor(matches: string | ((request: ReceivedRequest) => boolean)): Promise<ReceivedRequest> {
    const test =
      typeof matches === "string" ? (request: ReceivedRequest) => hasMethod(request, matches) : matches;
    const existing = this.requests.find(test);
    if (existing !== undefined) return Promise.resolve(existing);
    return new Promise((resolve) => this.#waiters.add({ matches: test, resolve }));
  }

  /**
   * Applies a fault to matching requests. Returns a function that removes it.
   * @throws McpRuntimeError kind `invalid-config` for an invalid fault, or an unknown option of `target`.
   */
  addFault(fault: Fault, target: FaultTarget = {}): () => void {
    assertFault(fault);
    assertOptions(target, TARGET_OPTIONS, { subject: "The fault", path: "target" });
    const armed: ArmedFault = { fault, target, remaining: target.times ?? Number.POSITIVE_INFINITY };
    this.#faults.add(armed);
    return () => this.#faults.delete(armed);
  }

  /** Removes all faults. */
  clearFaults(): void {
    this.#faults.clear();
  }

  /**
   * Drops all sessions: later requests with their ids get `answer`. Running requests finish.
   * @throws McpRuntimeError kind `invalid-config` for a name that `UNKNOWN_SESSION_RESPONSES` does not have.
   */
  dropSessions(answer: UnknownSessionResponse = this.unknownSessionResponse): void {
    const answers = option.oneOf(...Object.keys(UNKNOWN_SESSION_RESPONSES));
    parseOptions(answers, answer, { subject: "The call to dropSessions", path: "answer" });
    this.unknownSessionResponse = answer;
    this.#sessions.drop();
  }

  /** Sends `notifications/tools/list_changed` to every session. */
  async notifyToolsChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendToolListChanged()));
  }

  /** Sends `notifications/resources/list_changed` to every session. */
  async notifyResourcesChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendResourceListChanged()));
  }

  /** Sends `notifications/prompts/list_changed` to every session. */
  async notifyPromptsChanged(): Promise<void> {
    await Promise.all(this.#sessions.servers.map((server) => server.sendPromptListChanged()));
  }

  /** Sends `notifications/resources/updated` to every subscribed session. */
  async notifyResourceUpdated(uri: string): Promise<void> {
    const subscribers = this.#sessions.servers.filter((server) => this.#subscribed.get(server)?.has(uri));
    await Promise.all(subscribers.map((server) => server.sendResourceUpdated({ uri })));
  }

  /**
   * Listens on the port of the options, on a free loopback port, or on the same port as before.
   * @throws Error with the code `EADDRINUSE` if the port is in use.
   */
  async start(): Promise<void> {
    await this.#listener.start();
  }

  /** Stops like a killed process: connections break, sessions are lost, new connections are refused. */
  async stop(): Promise<void> {
    await this.#listener.stop();
    await this.#sessions.clear();
  }

  /**
   * Stops and starts on the same port; all sessions are lost.
   * @throws Error with the code `EADDRINUSE` if the port is in use.
   */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Connects a client in this process: `new McpClient({ name, server })`. */
  async connect(transport: MessageTransport): Promise<void> {
    await this.#sessions.connect(transport);
  }

  /** Removes all faults and stops. */
  async close(): Promise<void> {
    this.clearFaults();
    await this.stop();
  }

  /** Calls `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const received = await parseReceived(request);
    this.#record(received);
    const fault = takeFault(this.#faults, received);
    if (fault !== undefined && (await applyFault(fault, response))) return;
    if ((await this.#intercept?.({ request, response, body: received.body })) === true) return;
    if (await this.#sessions.handle(request, response, received.body)) return;
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
}

/**
 * Creates an `McpTestServer` and starts it on a loopback port: a free one, or that of the options.
 *
 * @throws McpRuntimeError kind `invalid-config` for invalid options; `EADDRINUSE` if the port is in use.
 *
 * @example
 * ```ts
 * await using server = await startMcpTestServer();
 * await using client = new McpClient({ name: "test", url: server.url });
 * const result = await client.callTool({ name: "echo", args: { text: "hello" } });
 * ```
 */
export async function startMcpTestServer(options: McpTestServerOptions = {}): Promise<McpTestServer> {
  const server = new McpTestServer(options);
  await server.start();
  return server;
}
