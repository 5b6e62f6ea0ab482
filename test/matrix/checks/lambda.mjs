import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { respond } from "./support.mjs";

export const packages = ["langchain-mcp-runtime"];

/** A call of a Lambda function, with the invoke API of AWS on a loopback port. */
export async function check(modules) {
  const { McpClient } = modules["langchain-mcp-runtime"];
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" });
  const api = createServer(async (request, response) => {
    const result = respond(JSON.parse(await text(request)));
    response.writeHead(200, { "content-type": "application/json", "x-amz-executed-version": "$LATEST" });
    response.end(JSON.stringify(result ?? null));
  });
  await new Promise((resolve) => api.listen(0, "127.0.0.1", resolve));
  const endpoint = `http://127.0.0.1:${api.address().port}`;
  const client = new McpClient({ name: "sums", functionName: "sums", region: "eu-north-1", endpoint });
  try {
    return (await client.callTool({ name: "echo", args: { text: "works" } })).text();
  } finally {
    await client.close();
    api.closeAllConnections();
    api.close();
  }
}
