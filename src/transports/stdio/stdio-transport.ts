import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { excerpt } from "../../errors/sanitize-text.js";
import type { ServerLog } from "../../telemetry/logger.js";
import {
  isRequest,
  invalidResponseError,
  type RequestId,
  toLocalErrorResponse,
  toJsonText,
  responseTooLargeError,
  classifyTruncated,
} from "../json-rpc.js";
import { LineReader, type TruncatedLine } from "./line-reader.js";
import type { LineHandle } from "./line-writer.js";
import { PendingRequests, type ReceiveHandlers } from "../pending-requests.js";
import type { ExitStatus, ProcessListener, ServerProcess, StdioAddress } from "./server-process.js";
import { StderrLog } from "./stderr-log.js";
import {
  createExitAtStartError,
  createExitBeforeResponseError,
  createExitBeforeSendError,
  toStartError,
  logIdleExit,
} from "./stdio-errors.js";

export interface StdioTransportOptions {
  readonly server: string;
  readonly address: StdioAddress;
  readonly maxBytes: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly startProcess: (listener: ProcessListener) => ServerProcess;
}

interface StdioRequest {
  readonly id: RequestId;
  readonly line: LineHandle;
}

/** How much of an oversized line is skipped before the connection is closed. */
const MAX_SKIPPED_BYTES = 1024 ** 3;
/**
 * One session with a server that runs as a child process: one message per line, requests on its stdin,
 * responses on its stdout in any order.
 *
 * Every request results in exactly one message to `onmessage`: the server's response, or a local error
 * response as soon as the server can no longer respond.
 */
export class StdioTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: StdioTransportOptions;
  readonly #codec: LineCodec;
  readonly #stderr: StderrLog;
  readonly #pending = new PendingRequests<StdioRequest>();
  readonly #handlers: ReceiveHandlers<StdioRequest> = {
    onServerMessage: (message) => {
      this.#hasReceived = true;
      this.onmessage?.(message);
    },
    onResponse: (request, message) => {
      this.#hasReceived = true;
      this.#deliverResponse(request, message);
    },
    onInvalidResponse: (request, reason, value) => {
      if (value !== undefined) this.#hasReceived = true;
      this.#fail(request, invalidResponseError(this.#options, reason));
    },
    onUnmatchedResponse: () => {
      this.#hasReceived = true;
      this.onerror?.(new Error("sent a response to an unknown request"));
    },
    onInvalidMessage: (text) => this.#warnStdoutNoise(text),
  };
  #process: ServerProcess | undefined;
  #isClosed = false;
  #isListening = false;
  /** Whether any valid message was received: then it is an MCP server. */
  #hasReceived = false;
  #hasWarnedNoise = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#codec = createLineCodec(options.address.encoding);
    this.#stderr = new StderrLog({ ...options, decode: (bytes) => this.#codec.decode(bytes) });
  }

  async start(): Promise<void> {
    if (this.#isClosed) throw this.#createClosedError();
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

  send(message: JsonRpcMessage): Promise<void> {
    const text = this.#codec.encode(toJsonText(message, this.#options.server));
    if (this.#process === undefined || this.#isClosed) return Promise.reject(this.#createClosedError());
    if (message.method === "notifications/cancelled") return this.#cancel(message, text);
    if (!isRequest(message)) return this.#write(text);
    const { id } = message;
    this.#pending.add({ id, line: this.#process.input.write(text) });
    this.#process.ref();
    return Promise.resolve();
  }

  mayHaveBeenSent(id: RequestId): boolean {
    return this.#pending.get(id)?.line.isSent ?? true;
  }

  /** The server may send messages at any time on stdout. A listener keeps this process alive. */
  openServerStream(): void {
    this.#isListening = true;
    if (!this.#isClosed) this.#process?.ref();
  }

  /** Resolves when the whole process group has been stopped. */
  async close(): Promise<void> {
    this.#closeWith(() => undefined);
    await this.#process?.stop();
  }

  #createClosedError(): McpRuntimeError {
    const { server } = this.#options;
    return new McpRuntimeError("not-sent", `The process of server "${server}" is not running.`, { server });
  }

  #write(text: string): Promise<void> {
    return new Promise((resolve) => this.#process?.input.write(text, resolve));
  }

  /**
   * A request that was not written yet is removed from the queue instead of being cancelled on the server.
   */
  #cancel(message: JsonRpcMessage, text: string): Promise<void> {
    const request = this.#pending.get(message.params?.["requestId"]);
    if (request === undefined) return Promise.resolve();
    this.#removeRequest(request);
    if (request.line.isSent) return this.#write(text);
    this.#process?.input.cancel(request.line);
    return Promise.resolve();
  }

  /** A line is one JSON message or a batch of them. */
  #onLine(line: Buffer): void {
    const text = this.#codec.decode(line).trim();
    if (text === "" || this.#isClosed) return;
    this.#pending.receive(text, this.#handlers);
  }

  #onTruncatedLine({ head, tail }: TruncatedLine): void {
    if (this.#isClosed) return;
    const { server, maxBytes, log } = this.#options;
    const prefix = this.#codec.decode(head);
    const message = classifyTruncated(prefix, this.#codec.decode(tail));
    if (message.type === "invalid") return this.#warnStdoutNoise(prefix);
    if (message.type === "server-message")
      return log.warn(`Server "${server}" sent a message of more than ${maxBytes} bytes (ignored).`);
    const requests = message.type === "response" ? [this.#pending.get(message.id)] : [...this.#pending];
    for (const request of requests)
      if (request !== undefined) this.#fail(request, this.#createTooLargeError());
  }

  /** Warns only once, because a server that logs to stdout would cause endless warnings. */
  #warnStdoutNoise(text: string): void {
    const { server, redactor, log } = this.#options;
    const detail = `wrote non-protocol output to stdout (ignored): ${excerpt(redactor.redact(text))}`;
    if (this.#hasWarnedNoise) this.onerror?.(new Error(detail));
    else
      log.warn(
        `Server "${server}" ${detail}\nstdout is for MCP messages only; the server should log to stderr.`,
        "stdout-noise",
      );
    this.#hasWarnedNoise = true;
  }

  #createTooLargeError(): McpRuntimeError {
    return responseTooLargeError(this.#options.server, this.#options.maxBytes);
  }

  #deliverResponse(request: StdioRequest, message: JsonRpcMessage): void {
    this.#removeRequest(request);
    this.onmessage?.(message);
  }

  #fail(request: StdioRequest, error: McpRuntimeError): void {
    this.#deliverResponse(request, toLocalErrorResponse(request.id, error));
  }

  #removeRequest(request: StdioRequest): void {
    this.#pending.delete(request);
    if (this.#pending.size === 0 && !this.#isListening) this.#process?.unref();
  }

  /** No further message can be read after a line that never ends. */
  #closeOversized(): void {
    this.#closeWith(() => this.#createTooLargeError());
    void this.#process?.stop();
  }

  #onExit(exitStatus: ExitStatus): void {
    const exited = { server: this.#options.server, exitStatus, lastLines: this.#stderr.lastLines };
    if (this.#hasReceived && this.#pending.size === 0 && !this.#isClosed)
      logIdleExit(exited, this.#options.log);
    this.#closeWith(({ line }) => {
      if (!this.#hasReceived) return createExitAtStartError(exited);
      return line.isSent ? createExitBeforeResponseError(exited) : createExitBeforeSendError(exited);
    });
  }

  #closeWith(createError: (request: StdioRequest) => McpRuntimeError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const request of this.#pending) {
      const error = createError(request);
      if (error === undefined) this.#removeRequest(request);
      else this.#fail(request, error);
    }
    this.onclose?.();
  }
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
  if (decoder.encoding === "utf-8")
    return { decode: (bytes) => bytes.toString("utf8"), encode: (json) => json };
  // JSON escaped to ASCII is the same in every encoding.
  return { decode: (bytes) => decoder.decode(bytes), encode: (json) => json.replace(NON_ASCII, escapeUnit) };
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
