// An MCP server in an AWS Lambda function, called through the real AWS client. AWS itself is a few lines on
// a loopback port here: no account and no network are needed.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpClient } from "langchain-mcp-runtime";

// What would be deployed: the event is one JSON-RPC message, and what is returned is its answer.
async function handler(event: {
  id?: number;
  method: string;
  params?: { arguments?: Record<string, unknown> };
}) {
  const answer = (result: object) => ({ jsonrpc: "2.0", id: event.id, result });
  switch (event.method) {
    case "initialize":
      return answer({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "reports", version: "1.0.0" },
      });
    case "tools/list":
      return answer({ tools: [{ name: "report", inputSchema: { type: "object" } }] });
    case "tools/call": {
      const city = String(event.params?.arguments?.["city"]);
      if (city === "Atlantis") throw new TypeError("no such city");
      if (city === "Utopia") await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      return answer({ content: [{ type: "text", text: `${city}: 7 °C, light rain` }] });
    }
    default:
      return null; // a notification
  }
}

// AWS in a few lines: the invoke API, which runs the handler and marks what it throws.
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
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true", // it would advise Node 22
});

{
  await using client = new McpClient({
    name: "reports",
    functionName: "reports",
    region: "eu-north-1",
    endpoint: `http://127.0.0.1:${(aws.address() as AddressInfo).port}`, // leave it out, and it is AWS
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
    (answer) => answer.text(),
    (error: unknown) => String(error),
  );
  await started;
  controller.abort("enough");
  console.log(`4. cancelled: ${await reason}. The function was started ${calls} times, for 3 calls.`);
}
aws.close();
