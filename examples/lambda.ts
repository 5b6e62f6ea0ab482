// An MCP server in an AWS Lambda function, called through the real AWS client. The Lambda API is emulated on
// a loopback port, so no account and no network are needed.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpClient } from "langchain-mcp-runtime";

// The function to deploy: the event is one JSON-RPC message, the return value is its response.
async function handler(event: {
  id?: number;
  method: string;
  params?: { arguments?: Record<string, unknown> };
}) {
  const respond = (result: object) => ({ jsonrpc: "2.0", id: event.id, result });
  switch (event.method) {
    case "initialize":
      return respond({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "reports", version: "1.0.0" },
      });
    case "tools/list":
      return respond({ tools: [{ name: "report", inputSchema: { type: "object" } }] });
    case "tools/call": {
      const city = String(event.params?.arguments?.["city"]);
      if (city === "Atlantis") throw new TypeError("unknown city");
      if (city === "Utopia") await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      return respond({ content: [{ type: "text", text: `${city}: 7 °C, light rain` }] });
    }
    default:
      return null; // a notification
  }
}

// A minimal invoke API: runs the handler and marks errors as AWS does.
let calls = 0;
const aws = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const event = JSON.parse(Buffer.concat(chunks).toString()) as Parameters<typeof handler>[0];
  if (event.method === "tools/call") aws.emit("started", (calls += 1));
  try {
    response.end(JSON.stringify(await handler(event)));
  } catch (error) {
    response.setHeader("x-amz-function-error", "Unhandled");
    response.end(
      JSON.stringify({ errorType: (error as Error).name, errorMessage: (error as Error).message }),
    );
  }
});
await new Promise<void>((resolve) => aws.listen(0, "127.0.0.1", resolve));
Object.assign(process.env, {
  AWS_ACCESS_KEY_ID: "example",
  AWS_SECRET_ACCESS_KEY: "example",
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true", // it would recommend Node 22
});

{
  await using client = new McpClient({
    name: "reports",
    functionName: "reports",
    region: "eu-north-1",
    endpoint: `http://127.0.0.1:${(aws.address() as AddressInfo).port}`, // omit it to use AWS
  });

  const tools = await client.listTools();
  console.log(`1. tools: ${tools.map(({ name }) => name).join()}`);

  const result = await client.callTool({ name: "report", args: { city: "Oslo" } });
  console.log(`2. ${result.text()}`);

  const outcome = await client.tryCallTool({ name: "report", args: { city: "Atlantis" } });
  if (!outcome.ok) console.log(`3. ${outcome.error.kind}: ${outcome.error.message}`);

  const started = once(aws, "started");
  const controller = new AbortController();
  const slow = client.callTool({ name: "report", args: { city: "Utopia" } }, { signal: controller.signal });
  const reason = slow.then(
    (slowResult) => slowResult.text(),
    (error: unknown) => String(error),
  );
  await started;
  controller.abort("no longer needed");
  console.log(`4. cancelled: ${await reason}. The function was invoked ${calls} times for 3 tool calls.`);
}
aws.close();
