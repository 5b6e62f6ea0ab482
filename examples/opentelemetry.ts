// The trace of an agent run: its tool calls, a retry, and a session that the server lost.
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { createMcpTools } from "langchain-mcp-runtime";
import { instrumentMcp } from "langchain-mcp-runtime/opentelemetry";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

// The usual OpenTelemetry setup of an application; here the spans stay in memory.
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const instrumentation = await instrumentMcp({ tracerProvider });

const forecast = { name: "forecast", annotations: { readOnlyHint: true }, run: () => "rain" };
await using server = await startMcpTestServer({ tools: [forecast, { name: "book", run: () => "booked" }] });
await using mcp = await createMcpTools({ travel: { url: server.url, trustAnnotations: true } });
exporter.reset();

const llm = fakeModel()
  .respondWithTools([{ name: "travel__forecast", args: {} }])
  .respondWithTools([{ name: "travel__book", args: {} }])
  .respond(new AIMessage("Your trip is booked for Sunday."));
const agent = createReactAgent({ llm, tools: mcp.tools });
server.addFault({ type: "status", status: 503 }, { method: "tools/call", times: 1 });
server.dropSessions();
await tracerProvider.getTracer("example").startActiveSpan("invoke_agent travel", async (span) => {
  await agent.invoke({ messages: "Book a trip without rain." });
  span.end();
});
print(exporter.getFinishedSpans());
instrumentation.disable();

function print(spans: readonly ReadableSpan[], parent?: string, indent = ""): void {
  const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === parent);
  for (const span of children.toSorted((a, b) => ms(a.startTime) - ms(b.startTime))) {
    const attempts = span.attributes["langchain_mcp.attempts"];
    console.log(`${indent}${span.name}${attempts === undefined ? "" : `  attempts: ${String(attempts)}`}`);
    for (const { name, attributes = {} } of span.events)
      console.log(
        `${indent}  * ${[name, attributes["langchain_mcp.failure.kind"]].filter(Boolean).join(": ")}`,
      );
    print(spans, span.spanContext().spanId, `${indent}  `);
  }
}

function ms([seconds, nanos]: ReadableSpan["startTime"]): number {
  return seconds * 1_000 + nanos / 1_000_000;
}
