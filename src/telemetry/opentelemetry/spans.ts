import type { Attributes, Context, Span, TextMapPropagator, Tracer } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/request-events.js";
import type { McpEvents } from "../../manager/mcp-events.js";
import { attributesOfFailure, attributesOfRequest, attributesOfWay, withoutUnknown } from "./attributes.js";
import { attributesOfRun } from "./run-attributes.js";
import type { OtelApi } from "./otel-api.js";

/** Longer texts of arguments and results are cut. */
const LONGEST_CONTENT = 32_768;

export interface SpansParts {
  readonly api: OtelApi;
  readonly tracer: Tracer;
  readonly propagator: Pick<TextMapPropagator, "inject">;
  readonly recordsContent: boolean;
  readonly propagatesTo: (server: string) => boolean;
  readonly parentOf: (request: RequestStarted) => Context | undefined;
}

/** A span for each request and each handshake, from its start to its end. */
export class Spans {
  readonly #parts: SpansParts;
  /** By the token of the request or handshake. */
  readonly #open = new Map<object, Span>();

  constructor(parts: SpansParts) {
    this.#parts = parts;
  }

  requestStarted(event: McpEvents["requestStarted"]): void {
    const { api, parentOf } = this.#parts;
    const { method, token, resource } = event;
    const target = event.tool ?? event.prompt;
    const name = target === undefined ? method : `${method} ${target}`;
    const attributes = {
      ...attributesOfRequest(event),
      ...withoutUnknown({ "mcp.resource.uri": resource }),
      ...attributesOfRun(event.context()),
    };
    const parent = parentOf(event) ?? api.context.active();
    const { span, within } = this.#start(name, attributes, parent);
    this.#open.set(token, span);
    event.around((run) => api.context.with(within, run));
    this.#propagate(event, within);
    if (this.#records(span))
      span.setAttributes(withoutUnknown({ "gen_ai.tool.call.arguments": toText(event.args()) }));
  }

  requestRetried({ token, attempts, kind, waitMs }: McpEvents["requestRetried"]): void {
    this.#open.get(token)?.addEvent("langchain_mcp.retry", {
      "langchain_mcp.attempts": attempts,
      "langchain_mcp.failure.kind": kind,
      "langchain_mcp.wait_ms": waitMs,
    });
  }

  sessionLost({ token }: McpEvents["sessionLost"]): void {
    this.#open.get(token)?.addEvent("langchain_mcp.session_lost");
  }

  requestEnded(event: McpEvents["requestEnded"]): void {
    const { attempts, kind, tool, token, wireId } = event;
    const span = this.#open.get(token);
    if (span === undefined) return;
    const hasResult = tool !== undefined && kind === undefined && this.#records(span);
    const attributes = withoutUnknown({
      "jsonrpc.request.id": wireId === undefined ? undefined : String(wireId),
      "langchain_mcp.attempts": attempts,
      "gen_ai.tool.call.result": hasResult ? toText(event.result()) : undefined,
    });
    this.#end(event, span, attributes);
  }

  handshakeStarted(event: McpEvents["handshakeStarted"]): void {
    const { api } = this.#parts;
    const { server, token, around } = event;
    const attributes = attributesOfRequest({ server, method: "initialize" });
    const { span, within } = this.#start("initialize", attributes, api.context.active());
    this.#open.set(token, span);
    around((run) => api.context.with(within, run));
    this.#propagate(event, within);
  }

  handshakeEnded(event: McpEvents["handshakeEnded"]): void {
    const { token, method } = event;
    const span = this.#open.get(token)?.updateName(method);
    if (span !== undefined) this.#end(event, span, { "mcp.method.name": method });
  }

  /** What is under way is ended as it stands. */
  close(): void {
    for (const span of this.#open.values()) span.end();
    this.#open.clear();
  }

  #start(name: string, attributes: Attributes, parent: Context) {
    const { api, tracer } = this.#parts;
    const span = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes }, parent);
    return { span, within: api.trace.setSpan(parent, span) };
  }

  #propagate(event: McpEvents["requestStarted"] | McpEvents["handshakeStarted"], within: Context): void {
    const { propagator, propagatesTo } = this.#parts;
    if (propagatesTo(event.server))
      propagator.inject(within, event, { set: ({ addMeta }, key, value) => addMeta(key, value) });
  }

  #end(event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"], span: Span, more: Attributes): void {
    const { api } = this.#parts;
    const { token, kind, error, sessionId } = event;
    this.#open.delete(token);
    span.setAttributes({
      ...attributesOfWay(event),
      ...attributesOfFailure(event),
      ...withoutUnknown({ "mcp.session.id": sessionId }),
      ...more,
    });
    if (kind !== undefined) {
      const { ERROR: code } = api.SpanStatusCode;
      span.setStatus(error === undefined ? { code } : { code, message: error.message });
    }
    span.end();
  }

  #records(span: Span): boolean {
    return this.#parts.recordsContent && span.isRecording();
  }
}

function toText(content: unknown): string | undefined {
  return content === undefined ? undefined : JSON.stringify(content).slice(0, LONGEST_CONTENT);
}
