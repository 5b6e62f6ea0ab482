import { omitUndefined } from "../../json/json.js";
import type { Attributes, Context, Span, TextMapPropagator, Tracer } from "@opentelemetry/api";
import type { RequestStarted } from "../../client/client-events.js";
import type { McpEvents } from "../../manager/mcp-events.js";
import { errorAttributes, requestAttributes, transportAttributes, runAttributes } from "./attributes.js";
import type { OtelApi } from "./instrumentation-options.js";

/** Longer arguments and results are truncated. */
const MAX_CONTENT_LENGTH = 32_768;

export interface SpanRecorderOptions {
  readonly api: OtelApi;
  readonly tracer: Tracer;
  readonly propagator: Pick<TextMapPropagator, "inject">;
  readonly recordContent: boolean;
  readonly propagateTo: (server: string) => boolean;
  readonly getParent: (request: RequestStarted) => Context | undefined;
}

/** Creates a span for each request and each handshake. */
export class SpanRecorder {
  readonly #options: SpanRecorderOptions;
  /** By the token of the request or the handshake. */
  readonly #openSpans = new Map<object, Span>();

  constructor(options: SpanRecorderOptions) {
    this.#options = options;
  }

  onRequestStarted(event: McpEvents["requestStarted"]): void {
    const { api, getParent } = this.#options;
    const { method, token, resource } = event;
    const target = event.tool ?? event.prompt;
    const name = target === undefined ? method : `${method} ${target}`;
    const attributes = {
      ...requestAttributes(event),
      ...omitUndefined({ "mcp.resource.uri": resource }),
      ...runAttributes(event.context()),
    };
    const parent = getParent(event) ?? api.context.active();
    const { span, context } = this.#start(name, attributes, parent);
    this.#openSpans.set(token, span);
    event.wrap((run) => api.context.with(context, run));
    this.#propagate(event, context);
    if (this.#shouldRecordContent(span))
      span.setAttributes(omitUndefined({ "gen_ai.tool.call.arguments": toContentText(event.args()) }));
  }

  onRequestRetried({ token, attempts, kind, waitMs }: McpEvents["requestRetried"]): void {
    this.#openSpans.get(token)?.addEvent("langchain_mcp.retry", {
      "langchain_mcp.attempts": attempts,
      "langchain_mcp.failure.kind": kind,
      "langchain_mcp.wait_ms": waitMs,
    });
  }

  onSessionLost({ token }: McpEvents["sessionLost"]): void {
    this.#openSpans.get(token)?.addEvent("langchain_mcp.session_lost");
  }

  onRequestEnded(event: McpEvents["requestEnded"]): void {
    const { attempts, kind, tool, token, wireId } = event;
    const span = this.#openSpans.get(token);
    if (span === undefined) return;
    const hasResult = tool !== undefined && kind === undefined && this.#shouldRecordContent(span);
    const attributes = omitUndefined({
      "jsonrpc.request.id": wireId === undefined ? undefined : String(wireId),
      "langchain_mcp.attempts": attempts,
      "gen_ai.tool.call.result": hasResult ? toContentText(event.result()) : undefined,
    });
    this.#end(event, span, attributes);
  }

  onHandshakeStarted(event: McpEvents["handshakeStarted"]): void {
    const { api } = this.#options;
    const { server, token, wrap } = event;
    const attributes = requestAttributes({ server, method: "initialize" });
    const { span, context } = this.#start("initialize", attributes, api.context.active());
    this.#openSpans.set(token, span);
    wrap((run) => api.context.with(context, run));
    this.#propagate(event, context);
  }

  onHandshakeEnded(event: McpEvents["handshakeEnded"]): void {
    const { token, method } = event;
    const span = this.#openSpans.get(token)?.updateName(method);
    if (span !== undefined) this.#end(event, span, { "mcp.method.name": method });
  }

  /** Ends all open spans. */
  close(): void {
    for (const span of this.#openSpans.values()) span.end();
    this.#openSpans.clear();
  }

  #start(name: string, attributes: Attributes, parent: Context) {
    const { api, tracer } = this.#options;
    const span = tracer.startSpan(name, { kind: api.SpanKind.CLIENT, attributes }, parent);
    return { span, context: api.trace.setSpan(parent, span) };
  }

  #propagate(event: McpEvents["requestStarted"] | McpEvents["handshakeStarted"], context: Context): void {
    const { propagator, propagateTo } = this.#options;
    if (propagateTo(event.server))
      propagator.inject(context, event, { set: ({ addMeta }, key, value) => addMeta(key, value) });
  }

  #end(
    event: McpEvents["requestEnded"] | McpEvents["handshakeEnded"],
    span: Span,
    extraAttributes: Attributes,
  ): void {
    const { api } = this.#options;
    const { token, kind, error, sessionId } = event;
    this.#openSpans.delete(token);
    span.setAttributes({
      ...transportAttributes(event),
      ...errorAttributes(event),
      ...omitUndefined({ "mcp.session.id": sessionId }),
      ...extraAttributes,
    });
    if (kind !== undefined) {
      const { ERROR: code } = api.SpanStatusCode;
      span.setStatus(error === undefined ? { code } : { code, message: error.message });
    }
    span.end();
  }

  #shouldRecordContent(span: Span): boolean {
    return this.#options.recordContent && span.isRecording();
  }
}

function toContentText(content: unknown): string | undefined {
  return content === undefined ? undefined : JSON.stringify(content).slice(0, MAX_CONTENT_LENGTH);
}
