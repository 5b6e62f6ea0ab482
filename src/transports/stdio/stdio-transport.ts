import type { JsonRpcMessage } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { JsonObject } from "../../json/json.js";
import { LISTEN_METHOD } from "../http/modern-era.js";
import {
  classifyTruncated,
  decodeUtf8,
  INVALID_JSON,
  looksLikeMessage,
  NOT_A_MESSAGE,
  NOT_JSON_RPC,
  responseTooLargeError,
  type RpcRequest,
  toJsonText,
} from "../json-rpc.js";
import { BaseTransport, type PendingRequest, type WireRequest } from "../pending-requests.js";
import {
  type Transport,
  type TransportRequestOptions,
  type TransportFactory,
  clientClosedError,
  type TransportDependencies,
} from "../transport.js";
import { LineReader, type TruncatedLine } from "./line-reader.js";

import {
  type ExitStatus,
  type LineHandle,
  type ProcessListener,
  ServerProcess,
  type StdioAddress,
} from "./server-process.js";
import { StderrLog } from "./stderr-log.js";
import {
  createExitAtStartError,
  createExitBeforeResponseError,
  createExitBeforeSendError,
  describeStdout,
  formatStderr,
  NOT_A_SERVER,
  toStartError,
  logIdleExit,
} from "./stdio-errors.js";
import type { ServerConfig } from "../../config/server-config.js";

interface StdioTransportOptions extends Omit<TransportDependencies, "keys"> {
  readonly server: string;
  readonly address: StdioAddress;
  readonly maxBytes: number;
  readonly startProcess: (listener: ProcessListener) => ServerProcess;
}

/** The line of a request. */
class StdioRequest implements WireRequest {
  readonly line: LineHandle;

  constructor(line: LineHandle) {
    this.line = line;
  }

  get wasSent(): boolean {
    return this.line.isSent;
  }
}

/** What a line of other output costs: programs that print a log to stdout write many of them. */
const OUTPUT_LINE_COST = 1;
/** Why a line is not a message at all. */
const OUTPUT_REASONS: ReadonlySet<string> = new Set([NOT_A_MESSAGE, INVALID_JSON, NOT_JSON_RPC]);
/** How much of an oversized line is skipped before the connection is closed. */
const MAX_SKIPPED_BYTES = 1024 ** 3;

/**
 * One session with a server that runs as a child process: one message per line, requests on its stdin,
 * responses on its stdout in any order.
 */
class StdioTransport extends BaseTransport<StdioRequest> implements Transport {
  readonly canListenInBackground = true;
  readonly #options: StdioTransportOptions;
  readonly #codec: LineCodec;
  readonly #stderr: StderrLog;
  #process: ServerProcess | undefined;
  #isListening = false;
  /** Pending requests that last as long as the session, and do not keep this process alive. */
  #listenRequests = 0;
  /** Whether any valid message was received: then it is an MCP server. */
  #hasReceived = false;
  /** Whether the warning about a message that is too large was logged. */
  #hasOversized = false;
  /** An excerpt of the first line on stdout that is not a message. */
  #stdoutNoise: string | undefined;

  constructor(options: StdioTransportOptions) {
    super(options);
    this.#options = options;
    this.#codec = createLineCodec(options.address.encoding);
    this.#stderr = new StderrLog({ ...options, decode: (bytes) => this.#codec.decode(bytes) });
  }

  async start(): Promise<void> {
    if (this.isClosed) throw this.#createClosedError();
    const { maxBytes, startProcess } = this.#options;
    const stdout = new LineReader(
      { maxBytes, maxSkippedBytes: MAX_SKIPPED_BYTES },
      {
        onLine: (line) => this.#onLine(line),
        onTruncatedLine: (line) => this.#onTruncatedLine(line),
        onUnboundedLine: () => this.#closeOversized(),
      },
    );
    try {
      this.#process = startProcess({
        stdout,
        stderr: this.#stderr,
        onExit: (status) => this.#onExit(status),
      });
      await this.#process.started;
    } catch (error) {
      void this.#process?.stop();
      throw toStartError(error, this.#options);
    }
  }

  request(message: RpcRequest, options: TransportRequestOptions): Promise<JsonObject> {
    const text = this.#encode(message);
    if (this.#process === undefined || this.isClosed) return Promise.reject(this.#createClosedError());
    const pending = this.pending.add(message, options);
    pending.wire = new StdioRequest(this.#process.input.write(text));
    if (message.method === LISTEN_METHOD) this.#countListenRequest(pending.response);
    else this.#process.ref();
    pending.attach();
    return pending.response;
  }

  async notify(message: JsonRpcMessage): Promise<void> {
    const text = this.#encode(message);
    if (this.#process === undefined || this.isClosed) throw this.#createClosedError();
    const { input } = this.#process;
    await new Promise<void>((resolve) => input.write(text, resolve));
  }

  #countListenRequest(response: Promise<unknown>): void {
    const onEnd = () => (this.#listenRequests -= 1);
    this.#listenRequests += 1;
    response.then(onEnd, onEnd);
  }

  /** The server may send messages at any time on stdout. A listener keeps this process alive. */
  holdServerStream(): void {
    this.#isListening = true;
    if (!this.isClosed) this.#process?.ref();
  }

  /** Resolves when the whole process group has been stopped. */
  async close(reason: McpRuntimeError): Promise<void> {
    this.end(() => reason);
    await this.#process?.stop();
  }

  #encode(message: JsonRpcMessage): string {
    return this.#codec.encode(toJsonText(message, this.#options.server));
  }

  #createClosedError(): McpRuntimeError {
    const { server } = this.#options;
    return new McpRuntimeError("not-sent", `The process of server "${server}" is not running.`, { server });
  }

  /** A request that was not written yet is removed from the queue instead of being cancelled on the server. */
  override onCancelled(request: PendingRequest<StdioRequest>): void {
    const { wire } = request;
    if (wire === undefined || this.isClosed) return;
    if (wire.wasSent) this.oncancel?.(request.toCancelNotification());
    else this.#process?.input.cancel(wire.line);
  }

  override onSettled(): void {
    if (this.pending.size <= this.#listenRequests && !this.#isListening) this.#process?.unref();
  }

  override onFailure(cause: McpRuntimeError): void {
    const hint = `${NOT_A_SERVER} ${describeStdout(this.#stdoutNoise)}`;
    const failure = this.#hasReceived ? cause : cause.with({ message: `${cause.message} ${hint}` });
    this.#closeWith(() => failure, failure);
    void this.#process?.stop();
  }

  /** A line is one JSON message or a batch of them. */
  #onLine(line: Buffer): void {
    if (this.isClosed) return;
    const text = this.#codec.decode(line).trim();
    if (text === "") return;
    if (!looksLikeMessage(text)) this.ignore(text, NOT_A_MESSAGE, OUTPUT_LINE_COST);
    else if (this.pending.receive(text) && !this.#hasReceived) this.#onFirstMessage();
  }

  #onTruncatedLine({ head, tail }: TruncatedLine): void {
    if (this.isClosed) return;
    const { server, maxBytes, log } = this.#options;
    const prefix = this.#codec.decode(head);
    const message = classifyTruncated(prefix, this.#codec.decode(tail));
    if (message.type === "invalid") return this.ignore(prefix, NOT_A_MESSAGE);
    if (message.type === "server-message") {
      const size = `more than ${maxBytes} bytes`;
      if (this.#hasOversized) return this.ignore(prefix, `it has ${size}`);
      this.#hasOversized = true;
      return log.warn(`Server "${server}" sent a message of ${size} (ignored).`);
    }
    const requests = message.type === "response" ? [this.pending.get(message.id)] : this.pending.values();
    for (const request of requests) request?.reject(this.#createTooLargeError());
  }

  #onFirstMessage(): void {
    this.#hasReceived = true;
    if (this.#stdoutNoise !== undefined) this.#warnStdoutNoise(this.#stdoutNoise);
  }

  /** Only the first output is a warning, because a server that logs to stdout would cause endless warnings. */
  override onIgnored(text: string, reason: string): void {
    if (!OUTPUT_REASONS.has(reason)) return super.onIgnored(text, reason);
    const excerpt = this.#options.redactor.excerpt(text);
    if (this.#stdoutNoise !== undefined) this.onerror?.(new Error(describeNoise(excerpt)));
    else if (this.#hasReceived) this.#warnStdoutNoise(excerpt);
    this.#stdoutNoise ??= excerpt;
  }

  /** Not before the first message: the output of a program that is not an MCP server is part of its error. */
  #warnStdoutNoise(excerpt: string): void {
    const { server, log } = this.#options;
    const hint = "stdout is for MCP messages only; the server should log to stderr.";
    log.warn(`Server "${server}" ${describeNoise(excerpt)}\n${hint}`, "stdout-noise");
  }

  /** What the process wrote, for the error of a handshake that it does not complete. */
  describeOutput(): string {
    const noise = this.#stdoutNoise;
    const hasOtherMessages = noise === undefined && this.#hasReceived;
    const stdout = hasOtherMessages ? "It sent only other messages." : describeStdout(noise);
    return ` Its process is still running. ${NOT_A_SERVER} ${stdout}${formatStderr(this.#stderr.summary)}`;
  }

  #createTooLargeError(): McpRuntimeError {
    return responseTooLargeError(this.#options.server, this.#options.maxBytes);
  }

  /** No further message can be read after a line that never ends. */
  #closeOversized(): void {
    this.#closeWith(() => this.#createTooLargeError());
    void this.#process?.stop();
  }

  #onExit(exitStatus: ExitStatus): void {
    const exited = { server: this.#options.server, exitStatus, stderr: this.#stderr.summary };
    if (this.#hasReceived && this.pending.size === 0 && !this.isClosed)
      logIdleExit(exited, this.#options.log);
    this.#closeWith(({ wire }) => {
      if (!this.#hasReceived) return createExitAtStartError(exited, this.#stdoutNoise);
      return wire?.wasSent === true
        ? createExitBeforeResponseError(exited)
        : createExitBeforeSendError(exited);
    });
  }

  #closeWith(
    createError: (request: PendingRequest<StdioRequest>) => McpRuntimeError,
    failure?: McpRuntimeError,
  ): void {
    if (this.end(createError)) this.onclose?.(failure);
  }
}

function describeNoise(excerpt: string): string {
  return `wrote non-protocol output to stdout (ignored): ${excerpt}`;
}

/** Decodes and encodes lines in the encoding of a server. */
interface LineCodec {
  decode(bytes: Buffer): string;
  /** For JSON only. */
  encode(json: string): string;
}

const NON_ASCII = /[\u0080-\uffff]/g;

function createLineCodec(encoding = "utf-8"): LineCodec {
  const decoder = new TextDecoder(encoding);
  if (decoder.encoding === "utf-8") return { decode: decodeUtf8, encode: (json) => json };
  // JSON escaped to ASCII is the same in every encoding.
  return { decode: (bytes) => decoder.decode(bytes), encode: (json) => json.replace(NON_ASCII, escapeUnit) };
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Starts one process per session, and tracks all running processes, including those whose session has ended. */
export function createStdioFactory(
  { name: server, limits }: ServerConfig,
  address: StdioAddress,
  dependencies: TransportDependencies,
): TransportFactory {
  const processes = new Set<ServerProcess>();
  const onStopped = (stopped: ServerProcess) => processes.delete(stopped);
  let isClosed = false;
  const startProcess = (listener: ProcessListener) => {
    if (isClosed) throw clientClosedError(server);
    const started = new ServerProcess({ address, clock: dependencies.clock, onStopped }, listener);
    processes.add(started);
    return started;
  };
  const options = { server, address, maxBytes: limits.responseBytes, startProcess, ...dependencies };
  return {
    openTransport: async () => new StdioTransport(options),
    close: async () => {
      isClosed = true;
      await Promise.all([...processes].map((process) => process.stop()));
    },
  };
}
