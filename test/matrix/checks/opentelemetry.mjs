export const packages = [
  "@opentelemetry/api",
  "langchain-mcp-runtime",
  "langchain-mcp-runtime/opentelemetry",
  "langchain-mcp-runtime/testing",
];

/** A call is traced by the tracer provider that is passed; only the API package is used. */
export async function check(modules) {
  const { McpClient } = modules["langchain-mcp-runtime"];
  const { instrumentMcp } = modules["langchain-mcp-runtime/opentelemetry"];
  const { startMcpTestServer } = modules["langchain-mcp-runtime/testing"];
  const { trace } = modules["@opentelemetry/api"];
  const spans = [];
  const noop = trace.getTracerProvider().getTracer("noop");
  const tracer = {
    startSpan: (name, ...rest) => {
      spans.push(name);
      return noop.startSpan(name, ...rest);
    },
  };
  const instrumentation = await instrumentMcp({ tracerProvider: { getTracer: () => tracer } });
  const server = await startMcpTestServer();
  const client = new McpClient({ name: "traced", url: server.url });
  try {
    const result = await client.callTool({ name: "echo", args: { text: "works" } });
    if (!spans.includes("tools/call echo")) throw new Error(`No span for the call: ${spans.join(", ")}`);
    return result.text();
  } finally {
    await client.close();
    await server.close();
    instrumentation.disable();
  }
}
