import type { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Limits } from "../../config/server-config.js";
import { loadPeer } from "../../errors/load-optional-dependency.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { AwsHttpHandler } from "./aws-http-handler.js";
import { toText } from "../http/body-readers.js";
import { type LambdaContext, toFunctionFailure, toInvokeFailure } from "./lambda-errors.js";

interface LambdaFunctionOptions extends LambdaContext {
  readonly qualifier: string | undefined;
  readonly region: string | undefined;
  readonly endpoint: URL | undefined;
  readonly limits: Limits;
  readonly connectMs: number;
}

interface AwsParts {
  readonly client: LambdaClient;
  readonly handler: AwsHttpHandler;
  readonly createCommand: (payload: string) => InvokeCommand;
}

/** A function on AWS Lambda, invoked through the official client: its credentials, its signatures. */
export class LambdaFunction {
  readonly #context: LambdaContext;
  readonly #aws: AwsParts;

  private constructor(context: LambdaContext, aws: AwsParts) {
    this.#context = context;
    this.#aws = aws;
  }

  static async load(options: LambdaFunctionOptions): Promise<LambdaFunction> {
    const { server, functionName, qualifier, region, endpoint, limits, connectMs, redactor } = options;
    const { LambdaClient, InvokeCommand } = await loadPeer("@aws-sdk/client-lambda", {
      neededBy: `Server "${server}"`,
      load: () => import("@aws-sdk/client-lambda"),
    });
    const { sockets, responseBytes: maxBytes } = limits;
    const handler = new AwsHttpHandler({ server, redactor, sockets, connectMs, maxBytes });
    const client = new LambdaClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint: endpoint.href }),
      requestHandler: handler,
      // Whether something may be repeated is decided above, where it is known what it was.
      maxAttempts: 1,
      retryMode: "standard",
    });
    await checkRegion(client, server);
    const createCommand = (payload: string) =>
      new InvokeCommand({
        FunctionName: functionName,
        ...(qualifier === undefined ? {} : { Qualifier: qualifier }),
        InvocationType: "RequestResponse",
        Payload: Buffer.from(payload),
      });
    return new LambdaFunction(options, { client, handler, createCommand });
  }

  /** What the function returned, as text. */
  async invoke(payload: string, signal: AbortSignal): Promise<string> {
    const { client, handler, createCommand } = this.#aws;
    const output = await client
      .send(createCommand(payload), { abortSignal: signal })
      .catch((error: unknown) => {
        throw toInvokeFailure(error, handler.flightOf(signal), this.#context);
      });
    const text = toText(Buffer.from(output.Payload ?? []));
    if (output.FunctionError !== undefined) throw toFunctionFailure(text, this.#context);
    return text;
  }

  /** Whether the function may have been started by the invocation with this signal. */
  wasSent(signal: AbortSignal): boolean {
    return this.#aws.handler.flightOf(signal)?.exchange.isStarted === true;
  }

  async close(): Promise<void> {
    this.#aws.client.destroy();
    await this.#aws.handler.close();
  }
}

/** Asked for at once: later the client's own error would not say what to do. */
async function checkRegion(client: LambdaClient, server: string): Promise<void> {
  try {
    await client.config.region();
  } catch (cause) {
    const text = `Server "${server}" has no AWS region. Give region in its definition, or set AWS_REGION.`;
    throw new McpRuntimeError("invalid-config", text, { server, cause });
  }
}
