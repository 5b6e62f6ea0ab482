import { type Attributes, context, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  instrumentMcp,
  type McpInstrumentation,
  type McpInstrumentationOptions,
} from "../../src/opentelemetry/index.js";

interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Attributes;
  readonly value: Histogram;
}

interface Providers {
  readonly tracerProvider: BasicTracerProvider;
  readonly meterProvider: MeterProvider;
}

/** OpenTelemetry as it is, with exporters that keep what they are given. */
export class Tracing implements AsyncDisposable {
  readonly tracer: Tracer;
  readonly providers: Providers;
  readonly instrumentation: McpInstrumentation;
  readonly #spans: InMemorySpanExporter;
  readonly #metrics: InMemoryMetricExporter;

  private constructor(
    instrumentation: McpInstrumentation,
    exporters: readonly [InMemorySpanExporter, InMemoryMetricExporter],
    providers: Providers,
  ) {
    this.instrumentation = instrumentation;
    [this.#spans, this.#metrics] = exporters;
    this.providers = providers;
    this.tracer = providers.tracerProvider.getTracer("test");
  }

  static async start(options: McpInstrumentationOptions = {}): Promise<Tracing> {
    const spans = new InMemorySpanExporter();
    const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
    const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 2 ** 30 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const instrumentation = await instrumentMcp({ tracerProvider, meterProvider, ...options });
    return new Tracing(instrumentation, [spans, metrics], { tracerProvider, meterProvider });
  }

  /** In the order they ended. */
  get spans(): ReadableSpan[] {
    return this.#spans.getFinishedSpans();
  }

  span(name: string): ReadableSpan {
    const found = this.spans.find((span) => span.name === name);
    if (found === undefined)
      throw new Error(`There is no span "${name}": ${this.spans.map((span) => span.name).join(", ")}`);
    return found;
  }

  async measured(): Promise<Measured[]> {
    await this.providers.meterProvider.forceFlush();
    const [latest] = this.#metrics.getMetrics().slice(-1);
    return (latest?.scopeMetrics ?? []).flatMap((scope) =>
      scope.metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({ name, unit, attributes, value: value as Histogram })),
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.instrumentation.disable();
    context.disable();
    for (const provider of Object.values(this.providers)) await provider.shutdown();
  }
}
