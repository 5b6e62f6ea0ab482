import type { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Limits } from "../../config/server-config.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { AwsHttpHandler } from "./aws-http-handler.js";
import { toText } from "../http/body-readers.js";
import { type LambdaErrorContext, fromFunctionError, fromInvokeError } from "./lambda-errors.js";

interface LambdaFunctionOptions extends LambdaErrorContext {
  readonly qualifier: string | undefined;
  readonly region: string | undefined;
  readonly endpoint: URL | undefined;
  readonly limits: Limits;
  readonly connectMs: number;
}

interface AwsInvoker {
  readonly client: LambdaClient;
  readonly handler: AwsHttpHandler;
  readonly createCommand: (payload: string) => InvokeCommand;
}

/** An AWS Lambda function, invoked through the official client, which handles credentials and signatures. */
export class LambdaFunction {
  readonly #context: LambdaErrorContext;
  readonly #aws: AwsInvoker;

  private constructor(context: LambdaErrorContext, aws: AwsInvoker) {
    this.#context = context;
    this.#aws = aws;
  }

  static async load(options: LambdaFunctionOptions): Promise<LambdaFunction> {
    const { server, functionName, qualifier, region, endpoint, limits, connectMs, redactor } = options;
    const { LambdaClient, InvokeCommand } = await loadOptionalDependency("@aws-sdk/client-lambda", {
      neededBy: `Server "${server}"`,
      load: () => import("@aws-sdk/client-lambda"),
    });
    const { sockets, responseBytes: maxBytes } = limits;
    const handler = new AwsHttpHandler({ server, redactor, sockets, connectMs, maxBytes });
    const client = new LambdaClient({
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint: endpoint.href }),
      requestHandler: handler,
      // The client of this package decides whether a request may be retried.
      maxAttempts: 1,
      retryMode: "standard",
    });
    await assertRegion(client, server);
    const createCommand = (payload: string) =>
      new InvokeCommand({
        FunctionName: functionName,
        ...(qualifier === undefined ? {} : { Qualifier: qualifier }),
        InvocationType: "RequestResponse",
        Payload: Buffer.from(payload),
      });
    return new LambdaFunction(options, { client, handler, createCommand });
  }

  /** Returns the payload of the function as a string. */
  async invoke(payload: string, signal: AbortSignal): Promise<string> {
    const { client, handler, createCommand } = this.#aws;
    const output = await client
      .send(createCommand(payload), { abortSignal: signal })
      .catch((error: unknown) => {
        throw fromInvokeError(error, handler.requestFor(signal), this.#context);
      });
    const text = toText(Buffer.from(output.Payload ?? []));
    if (output.FunctionError !== undefined) throw fromFunctionError(text, this.#context);
    return text;
  }

  /** Whether the invocation with this signal may have started the function. */
  wasSent(signal: AbortSignal): boolean {
    return this.#aws.handler.requestFor(signal)?.handler.wasDispatched === true;
  }

  async close(): Promise<void> {
    this.#aws.client.destroy();
    await this.#aws.handler.close();
  }
}

/** Checked in advance: the SDK's own error does not explain how to set a region. */
async function assertRegion(client: LambdaClient, server: string): Promise<void> {
  try {
    await client.config.region();
  } catch (cause) {
    const text = `Server "${server}" has no AWS region. Set region in its definition, or the environment variable AWS_REGION.`;
    throw new McpRuntimeError("invalid-config", text, { server, cause });
  }
}
