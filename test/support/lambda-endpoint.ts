import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { HttpHost, readBody } from "../../src/testing/http-host.js";
import type { McpTestServer } from "../../src/testing/index.js";

/** One request of the invoke API, as it came. */
export interface Invocation {
  readonly functionName: string;
  readonly qualifier: string | null;
  readonly headers: IncomingHttpHeaders;
  readonly message: { readonly id?: number; readonly method: string; readonly params?: object };
  /** Who answers by it gives back `ANSWERED`. */
  readonly response: ServerResponse;
}

/** Returns what a Lambda handler returns, or throws as one does. */
type LambdaHandler = (invocation: Invocation) => unknown;

export const ANSWERED = Symbol("answered");

const INVOKE_PATH = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

/** Speaks the invoke API of AWS Lambda on a loopback port, and runs a handler for each invocation. */
export class LambdaEndpoint implements AsyncDisposable {
  readonly #handler: LambdaHandler;
  readonly #host = new HttpHost(async (request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    const functionName = decodeURIComponent(INVOKE_PATH.exec(url.pathname)?.[1] ?? "");
    const message = JSON.parse(await readBody(request)) as Invocation["message"];
    const { headers } = request;
    const qualifier = url.searchParams.get("Qualifier");
    await this.#invoke({ functionName, qualifier, headers, message, response });
  });
  /** Every invocation, in order. */
  readonly invocations: Invocation[] = [];

  private constructor(handler: LambdaHandler) {
    this.#handler = handler;
  }

  static async start(handler: LambdaHandler): Promise<LambdaEndpoint> {
    const endpoint = new LambdaEndpoint(handler);
    await endpoint.start();
    return endpoint;
  }

  /** With a real MCP server that is made anew for each invocation. */
  static serve(server: McpTestServer): Promise<LambdaEndpoint> {
    return LambdaEndpoint.start(({ message }) => ask(server, message as JSONRPCMessage));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#host.port}`;
  }

  get openSockets(): number {
    return this.#host.openSockets;
  }

  received(method: string): Invocation[] {
    return this.invocations.filter(({ message }) => message.method === method);
  }

  async start(): Promise<void> {
    await this.#host.start();
  }

  async stop(): Promise<void> {
    await this.#host.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #invoke(invocation: Invocation): Promise<void> {
    this.invocations.push(invocation);
    const { response } = invocation;
    try {
      const returned = await this.#handler(invocation);
      if (returned === ANSWERED) return;
      response.writeHead(200, { "content-type": "application/json", "x-amz-executed-version": "$LATEST" });
      response.end(JSON.stringify(returned ?? null));
    } catch (error) {
      const { name: errorType, message: errorMessage } = error as Error;
      response.writeHead(200, { "content-type": "application/json", "x-amz-function-error": "Unhandled" });
      response.end(JSON.stringify({ errorType, errorMessage, trace: ["at handler (/var/task/index.mjs)"] }));
    }
  }
}

/** An error of AWS itself, before any function runs. */
export function refuse(
  { response }: Invocation,
  status: number,
  type: string,
  headers: Record<string, string> = {},
): typeof ANSWERED {
  response.writeHead(status, { "content-type": "application/json", "x-amzn-errortype": type, ...headers });
  response.end(JSON.stringify({ Type: "User", message: `${type}, said AWS.` }));
  return ANSWERED;
}

/** Credentials for clients in this process; the real chain of the AWS SDK finds them there. */
export const AWS_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "example-secret-access-key",
  AWS_SESSION_TOKEN: "example-session-token-7f3a91",
  // The SDK looks for files and machine metadata no further, and keeps its advice on Node to itself.
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
} as const;

async function ask(server: McpTestServer, message: JSONRPCMessage): Promise<unknown> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  try {
    return await new Promise((resolve, reject) => {
      const said: unknown[] = [];
      ours.onmessage = (answer) => {
        said.push(answer);
        if (!("method" in answer)) resolve(said.length === 1 ? answer : said);
      };
      ours.send(message).catch(reject);
      if (!("id" in message)) resolve(null);
    });
  } finally {
    await ours.close();
  }
}
