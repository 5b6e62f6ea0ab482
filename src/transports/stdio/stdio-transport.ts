import type { Clock } from "../../async/clock.js";
import type { JsonRpcMessage, MessageTransport } from "../../config/message-transport.js";
import { McpRuntimeError } from "../../errors/mcp-runtime-error.js";
import type { Redactor } from "../../errors/redaction.js";
import { quoteServer } from "../../errors/sanitize-text.js";
import type { ServerLog } from "../../telemetry/server-log.js";
import {
  isRequest,
  malformedAnswer,
  parseMessages,
  type RequestId,
  sortReceived,
  toFailureAnswer,
  toJsonText,
  tooLargeAnswer,
} from "../json-rpc.js";
import { createLineCodec, type LineCodec } from "./line-codec.js";
import { LineReader, type LongLine } from "./line-reader.js";
import type { OutgoingLine } from "./line-writer.js";
import { OpenRequests } from "../pending-requests.js";
import { sortUnread } from "../truncated-message.js";
import type { ProcessEnd, ProcessUser, ServerProcess, StdioAddress } from "./child-process.js";
import { StderrLog } from "./stderr-log.js";
import {
  endedAtStart,
  endedBeforeAnswering,
  endedBeforeSending,
  toStartFailure,
  tellIdleEnd,
} from "./stdio-errors.js";

export interface StdioTransportOptions {
  readonly server: string;
  readonly address: StdioAddress;
  readonly maxBytes: number;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: ServerLog;
  readonly startProcess: (user: ProcessUser) => ServerProcess;
}

interface OpenRequest {
  readonly id: RequestId;
  readonly line: OutgoingLine;
}

/** How much of a line that is too long is read over in search of its end. */
const MAX_SKIPPED_BYTES = 1024 ** 3;
/** No request has it. */
const NO_ID = "";

/**
 * One session with a server that is a process of ours: a message a line, requests on its stdin, answers
 * on its stdout in whatever order.
 *
 * Every request that is sent ends in exactly one message to `onmessage`: the server's answer, or a
 * failure as soon as there can be none.
 */
export class StdioTransport implements MessageTransport {
  onmessage: MessageTransport["onmessage"];
  onclose: MessageTransport["onclose"];
  onerror: MessageTransport["onerror"];
  readonly #options: StdioTransportOptions;
  readonly #codec: LineCodec;
  readonly #stderr: StderrLog;
  readonly #open = new OpenRequests<OpenRequest>();
  #process: ServerProcess | undefined;
  #isClosed = false;
  #isListening = false;
  /** Since when it is known to be an MCP server. */
  #hasSpoken = false;
  #hasToldGarbage = false;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#codec = createLineCodec(options.address.encoding);
    this.#stderr = new StderrLog({ ...options, decode: (bytes) => this.#codec.decode(bytes) });
  }

  async start(): Promise<void> {
    if (this.#isClosed) throw this.#gone();
    const { maxBytes, startProcess } = this.#options;
    const stdout = new LineReader(
      { maxBytes, maxSkippedBytes: MAX_SKIPPED_BYTES },
      {
        onLine: (line) => this.#takeLine(line),
        onLongLine: (line) => this.#takeLongLine(line),
        onEndlessLine: () => this.#endTooLarge(),
      },
    );
    try {
      this.#process = startProcess({ stdout, stderr: this.#stderr, onEnd: (end) => this.#onEnd(end) });
      await this.#process.started;
    } catch (error) {
      void this.#process?.stop();
      throw toStartFailure(error, this.#options);
    }
  }

  send(message: JsonRpcMessage): Promise<void> {
    const text = this.#codec.encode(toJsonText(message, this.#options.server));
    if (this.#process === undefined || this.#isClosed) return Promise.reject(this.#gone());
    if (message.method === "notifications/cancelled") return this.#cancel(message, text);
    if (!isRequest(message)) return this.#write(text);
    const { id } = message;
    this.#open.add({ id, line: this.#process.input.write(text) });
    this.#process.setBusy();
    return Promise.resolve();
  }

  wasSent(id: RequestId): boolean {
    return this.#open.get(id)?.line.isSent ?? true;
  }

  /** A server of ours may always speak. Whoever listens to it goes on listening when nothing else is to be done. */
  listen(): void {
    this.#isListening = true;
    if (!this.#isClosed) this.#process?.setBusy();
  }

  /** Over when nothing of the process is left. */
  async close(): Promise<void> {
    this.#end(() => undefined);
    await this.#process?.stop();
  }

  #gone(): McpRuntimeError {
    const { server } = this.#options;
    return new McpRuntimeError("not-sent", `The process of server "${server}" is gone.`, { server });
  }

  #write(text: string): Promise<void> {
    return new Promise((resolve) => this.#process?.input.write(text, resolve));
  }

  /** What the server has never seen needs no cancellation there. */
  #cancel(message: JsonRpcMessage, text: string): Promise<void> {
    const request = this.#open.get(message.params?.["requestId"]);
    if (request === undefined) return Promise.resolve();
    this.#forget(request);
    if (request.line.isSent) return this.#write(text);
    this.#process?.input.takeBack(request.line);
    return Promise.resolve();
  }

  /** One JSON text: a message, or several in a list. */
  #takeLine(line: Buffer): void {
    const text = this.#codec.decode(line).trim();
    if (text === "" || this.#isClosed) return;
    const values = parseMessages(text);
    if (values === undefined) this.#takeBroken(text);
    else for (const value of values) this.#take(value, text);
  }

  #take(value: unknown, text: string): void {
    const request = this.#open.answeredBy(value);
    const received = sortReceived(value, request?.id ?? NO_ID);
    if (received.is === "garbage" && request === undefined) return this.#tellGarbage(text);
    this.#hasSpoken = true;
    if (received.is === "call") this.onmessage?.(received.message);
    else if (request === undefined) this.onerror?.(new Error("answered a request that nobody waits for"));
    else if (received.is === "answer") this.#answer(request, received.message);
    else this.#fail(request, malformedAnswer(this.#options, received.why));
  }

  /** What a program prints by the way harms nobody. An answer that cannot be read is waited for in vain. */
  #takeBroken(text: string): void {
    const message = sortUnread(text, text);
    const request = message.is === "answer" ? this.#open.get(message.id) : undefined;
    if (request === undefined) this.#tellGarbage(text);
    else this.#fail(request, malformedAnswer(this.#options, "it is broken JSON"));
  }

  #takeLongLine({ head, tail }: LongLine): void {
    if (this.#isClosed) return;
    const { server, maxBytes, log } = this.#options;
    const beginning = this.#codec.decode(head);
    const message = sortUnread(beginning, this.#codec.decode(tail));
    if (message.is === "garbage") return this.#tellGarbage(beginning);
    if (message.is === "call")
      return log.warn(
        `Server "${server}" sent a message of more than ${maxBytes} bytes, which was not read.`,
      );
    const requests = message.is === "answer" ? [this.#open.get(message.id)] : [...this.#open];
    for (const request of requests) if (request !== undefined) this.#fail(request, this.#tooLarge());
  }

  /** The first is worth a warning; a server that logs to stdout would be worth one for ever. */
  #tellGarbage(text: string): void {
    const { server, redactor, log } = this.#options;
    const said = `printed something on stdout that is no message: ${quoteServer(redactor.text(text))}`;
    if (this.#hasToldGarbage) this.onerror?.(new Error(said));
    else
      log.warn(
        `Server "${server}" ${said}\nOnly messages belong there, logs belong on stderr. It is used all the same.`,
        "stdout-noise",
      );
    this.#hasToldGarbage = true;
  }

  #tooLarge(): McpRuntimeError {
    return tooLargeAnswer(this.#options.server, this.#options.maxBytes);
  }

  #answer(request: OpenRequest, message: JsonRpcMessage): void {
    this.#forget(request);
    this.onmessage?.(message);
  }

  #fail(request: OpenRequest, failure: McpRuntimeError): void {
    this.#answer(request, toFailureAnswer(request.id, failure));
  }

  #forget(request: OpenRequest): void {
    this.#open.delete(request);
    if (this.#open.size === 0 && !this.#isListening) this.#process?.setIdle();
  }

  /** A line without end: whatever is in it, nothing else will come. */
  #endTooLarge(): void {
    this.#end(() => this.#tooLarge());
    void this.#process?.stop();
  }

  #onEnd(end: ProcessEnd): void {
    const ended = { server: this.#options.server, end, lastLines: this.#stderr.lastLines };
    if (this.#hasSpoken && this.#open.size === 0 && !this.#isClosed) tellIdleEnd(ended, this.#options.log);
    this.#end(({ line }) => {
      if (!this.#hasSpoken) return endedAtStart(ended);
      return line.isSent ? endedBeforeAnswering(ended) : endedBeforeSending(ended);
    });
  }

  #end(failureOf: (request: OpenRequest) => McpRuntimeError | undefined): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const request of this.#open) {
      const failure = failureOf(request);
      if (failure === undefined) this.#forget(request);
      else this.#fail(request, failure);
    }
    this.onclose?.();
  }
}
