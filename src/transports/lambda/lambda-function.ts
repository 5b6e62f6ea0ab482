import type { InvokeCommand, LambdaClient } from "@aws-sdk/client-lambda";
import type { Limits } from "../../config/server-config.js";
import { loadOptionalDependency } from "../../errors/load-optional-dependency.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import { toText, BufferedReader } from "../http/body-readers.js";
import { omitUndefined, toObject, tryParseJson } from "../../json/json.js";
import { type FailureKind, classifyFailure, isOutcomeUnknown } from "../../errors/failure-kinds.js";
import { describeThrown, printValue } from "../../errors/sanitize-text.js";
import { toRetryAt, fromConnectionError } from "../http/http-errors.js";
import { type ErrorContext, invalidResponseError, responseTooLargeError } from "../json-rpc.js";
import type { SecretLease } from "../../errors/redaction.js";
import { HttpRequestHandler, type HttpRequest, type ResponseHeaders } from "../../net/http-request.js";
import type { AddressCheck } from "../../net/address-guard.js";
import { type HttpPool, openHttpPool } from "../../net/http-pool.js";

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
    const { server, functionName, qualifier, region, endpoint, limits } = options;
    const { LambdaClient, InvokeCommand } = await loadOptionalDependency("@aws-sdk/client-lambda", {
      neededBy: `Server "${server}"`,
      load: () => import("@aws-sdk/client-lambda"),
    });
    const { sockets, responseBytes: maxBytes } = limits;
    const handler = new AwsHttpHandler({ ...options, sockets, maxBytes });
    const client = new LambdaClient({
      ...omitUndefined({ region, endpoint: endpoint?.href }),
      requestHandler: handler,
      // The client of this package decides whether a request may be retried.
      maxAttempts: 1,
      retryMode: "standard",
    });
    await assertRegion(client, server);
    const createCommand = (payload: string) =>
      new InvokeCommand({
        FunctionName: functionName,
        ...omitUndefined({ Qualifier: qualifier }),
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

interface LambdaErrorContext extends ErrorContext {
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
  // The SDK copies the fields of the response into the error: the message may be any JSON.
  const quote = (value: unknown) => redactor.excerpt(printValue(value));
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

interface AwsHttpOptions extends ErrorContext {
  readonly sockets: number;
  readonly connectMs: number;
  readonly maxBytes: number;
  /** Returns the check of an endpoint that does not come from the operator. */
  readonly checkFor: (url: URL) => AddressCheck | undefined;
}

/** A request of the AWS SDK. It is signed and must not be modified. */
interface AwsRequest {
  readonly method: HttpRequest["method"];
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

interface AwsResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** A request that was handed to the connection pool, and the head of its response. */
interface InFlightRequest {
  readonly handler: HttpRequestHandler;
  status: number | undefined;
  headers: ResponseHeaders;
}

/** Protects an error on its way through the AWS SDK, which adds properties to the errors it receives. */
class WrappedError extends Error {
  constructor(readonly failure: McpRuntimeError) {
    super(failure.message);
  }
}

/**
 * Sends the requests of the AWS SDK over our connection pools instead of the SDK's HTTP client: the size of
 * a response is limited, an abort ends exactly that request, and it is known whether a request was sent. The SDK also
 * gets credentials with it, for example from STS for a web identity.
 */
export class AwsHttpHandler {
  readonly metadata = { handlerProtocol: "http/1.1" };
  readonly #options: AwsHttpOptions;
  /** Keyed by the abort signal of the request: the SDK passes nothing else that identifies it. */
  readonly #inFlight = new WeakMap<AbortSignal, InFlightRequest>();
  /** By origin: of Lambda, the token service and the sign-in service. */
  readonly #pools = new Map<string, HttpPool>();
  #isClosed = false;
  /** Keeps the current token redacted. */
  tokenLease: SecretLease | undefined;

  constructor(options: AwsHttpOptions) {
    this.#options = options;
  }

  /** Returns `undefined` while the SDK is still preparing the request. */
  requestFor(signal: AbortSignal): InFlightRequest | undefined {
    return this.#inFlight.get(signal);
  }

  handle(
    request: AwsRequest,
    { abortSignal }: { readonly abortSignal?: object | undefined } = {},
  ): Promise<{ response: AwsResponse }> {
    this.#registerSecret(request);
    return new Promise((resolve, reject) => {
      const pool = this.#poolFor(request);
      // Only an invocation has a signal. Other requests get credentials for it: the function was not invoked.
      const isInvocation = abortSignal instanceof AbortSignal;
      const fail = (failure: McpRuntimeError) => {
        inFlight.handler.abort();
        reject(new WrappedError(failure));
      };
      const { server, maxBytes, redactor } = this.#options;
      const handler = new HttpRequestHandler({
        onError: (error) =>
          fail(
            fromConnectionError(
              error,
              { server, redactor, origin: pool.origin },
              { wasSent: isInvocation && handler.wasDispatched },
            ),
          ),
        onHeaders: (status, headers) => {
          pool.onResponseHeaders(headers);
          Object.assign(inFlight, { status, headers });
          return new BufferedReader({
            headers,
            maxBytes,
            onTooLarge: () => fail(responseTooLargeError(server, maxBytes)),
            onBytes: (bytes) => {
              const body = Buffer.from(bytes);
              resolve({ response: { statusCode: status, headers: toHeaderRecord(headers), body } });
            },
          });
        },
      });
      const inFlight: InFlightRequest = { handler, status: undefined, headers: {} };
      if (isInvocation) this.#track(abortSignal, inFlight, reject);
      pool.send("call", handler, toHttpRequest(request));
    });
  }

  /** Called by the AWS SDK, which does not wait for it. */
  destroy(): void {
    void this.close().catch(() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Part of the SDK's handler contract; this handler has no settings. */
  updateHttpClientConfig(): void {
    // Nothing to update.
  }

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }

  #track(signal: AbortSignal, request: InFlightRequest, reject: (reason: unknown) => void): void {
    this.#inFlight.set(signal, request);
    const abort = () => {
      request.handler.abort();
      reject(Object.assign(new Error("Request aborted"), { name: "AbortError" }));
    };
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  }

  #poolFor({ protocol, hostname, port }: AwsRequest): HttpPool {
    const url = new URL(`${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`);
    const known = this.#pools.get(url.origin);
    if (known !== undefined) return known;
    // Nothing would close its pool.
    if (this.#isClosed) throw new Error("The HTTP handler is closed.");
    const pool = openHttpPool({ url }, { ...this.#options, checkAddress: this.#options.checkFor(url) });
    this.#pools.set(url.origin, pool);
    return pool;
  }

  /** AWS returns the request headers in the error when it rejects the signature. */
  #registerSecret({ headers }: AwsRequest): void {
    const token = headers["x-amz-security-token"];
    if (token !== undefined) this.tokenLease = this.#options.redactor.addRotating(token, () => []);
  }
}

/** The bodies of invocations are JSON and those for credentials are forms, so the bytes can be converted to a string. */
function toHttpRequest(request: AwsRequest): HttpRequest {
  const { method, headers, body } = request;
  const text = body === undefined || typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  return { method, path: toPath(request), headers: { ...headers }, ...omitUndefined({ body: text }) };
}

function toPath({ path, query = {} }: AwsRequest): string {
  const pairs = Object.entries(query).map((pair) => pair.map(encodeQueryText).join("="));
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** Encodes as in the signature: `encodeURIComponent` does not encode five characters that AWS does. */
function encodeQueryText(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function toHeaderRecord(headers: ResponseHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(", ")]));
}
