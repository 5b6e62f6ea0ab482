import type { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Limits } from "../../config/server-config.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import {
  AwsHttpHandler,
  type AwsHttpOptions,
  type InFlightRequest,
  WrappedError,
} from "./aws-http-handler.js";
import { toText } from "../http/body-readers.js";
import { toObject, tryParseJson } from "../../json/json.js";
import { type FailureKind, classifyFailure, isOutcomeUnknown } from "../../errors/failure-kinds.js";
import { describeThrown, printValue } from "../../errors/sanitize-text.js";
import { toRetryAt } from "../http/http-errors.js";
import { type ErrorContext, invalidResponseError } from "../json-rpc.js";

interface LambdaFunctionOptions extends LambdaErrorContext, Pick<AwsHttpOptions, "checkFor"> {
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
    const { checkFor } = options;
    const { LambdaClient, InvokeCommand } = await loadOptionalDependency("@aws-sdk/client-lambda", {
      neededBy: `Server "${server}"`,
      load: () => import("@aws-sdk/client-lambda"),
    });
    const { sockets, responseBytes: maxBytes } = limits;
    const handler = new AwsHttpHandler({ server, redactor, sockets, connectMs, maxBytes, checkFor });
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

export interface LambdaErrorContext extends ErrorContext {
  readonly functionName: string;
}

/** Errors of the AWS SDK when it finds no credentials to sign the request with. Nothing was sent. */
const NO_CREDENTIALS_ERRORS: ReadonlySet<string> = new Set([
  "CredentialsProviderError",
  "TokenProviderError",
]);

/** Converts the error of an invocation that the AWS SDK could not complete. */
function fromInvokeError(
  error: unknown,
  inFlight: InFlightRequest | undefined,
  context: LambdaErrorContext,
): McpRuntimeError {
  if (error instanceof WrappedError) return error.failure;
  if (inFlight === undefined) return setupError(error, context);
  if (inFlight.status !== undefined && inFlight.status >= 300) return rejectedError(error, inFlight, context);
  return invalidResponseError(context, printValue(error));
}

function setupError(error: unknown, { server, redactor }: LambdaErrorContext): McpRuntimeError {
  const hasNoCredentials = error instanceof Error && NO_CREDENTIALS_ERRORS.has(error.name);
  const quoted = redactor.excerpt(describeThrown(error));
  const text = hasNoCredentials
    ? `No AWS credentials were found for server "${server}": ${quoted}`
    : `The request to server "${server}" could not be created: ${quoted}`;
  const details = { server, cause: redactor.redactCause(error) };
  return new McpRuntimeError(hasNoCredentials ? "unauthorized" : "not-sent", text, details);
}

/** AWS rejected the invocation; the response is not from the function. */
function rejectedError(
  error: unknown,
  { status = 0, headers }: InFlightRequest,
  context: LambdaErrorContext,
): McpRuntimeError {
  const { server, functionName, redactor } = context;
  const retryAt = toRetryAt(headers["retry-after"]);
  const kind = classifyFailure({ status, hasRetryAfter: retryAt !== undefined });
  const quote = (text: string) => redactor.excerpt(text);
  const isServiceError = error instanceof Error && "$fault" in error;
  const detail = isServiceError ? ` (${quote(error.name)}): ${quote(error.message)}` : ".";
  const hint = hintFor(kind, status);
  const text = `AWS returned HTTP ${status} for function "${functionName}" of server "${server}"${detail}${hint}`;
  return new McpRuntimeError(kind, text, {
    server,
    status,
    retryAt: kind === "rate-limited" ? retryAt : undefined,
    outcomeUnknown: isOutcomeUnknown(kind),
    cause: redactor.redactCause(error),
  });
}

function hintFor(kind: FailureKind, status: number): string {
  if (kind === "unauthorized")
    return " Check the AWS credentials and their permission lambda:InvokeFunction.";
  return status === 404 ? " Are functionName, qualifier and region correct?" : "";
}

/**
 * Converts the report of a function that was started and did not complete: it threw, exceeded its time or
 * memory, or its process exited. It may have done part of its work.
 */
function fromFunctionError(payload: string, context: LambdaErrorContext): McpRuntimeError {
  const { server, functionName, redactor } = context;
  const { errorType, errorMessage } = toObject(tryParseJson(payload));
  const type = typeof errorType === "string" ? ` (${redactor.excerpt(errorType)})` : "";
  const detail = typeof errorMessage === "string" ? `: ${redactor.excerpt(errorMessage)}` : ".";
  const text = `Function "${functionName}" of server "${server}" failed while running${type}${detail}`;
  return new McpRuntimeError("server-error", text, { server, outcomeUnknown: true });
}
