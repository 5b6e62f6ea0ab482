// MCP Apps: a tool has a page, and the artifact of the ToolMessage names it. This program is the host: a small web
// server that shows the page in a sandbox and sends it the result. It serves two requests of its own and exits.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createMcpTools, type ToolArtifact } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

const MIME_TYPE = "text/html;profile=mcp-app";
const PAGE = `<!doctype html><h1>Forecast</h1><p id="out"></p><script>
  addEventListener("message", ({ data }) => {
    if (data.method === "ui/notifications/tool-result")
      out.textContent = data.params.structuredContent.celsius + " °C";
  });
</script>`;
await using server = await startMcpTestServer({
  tools: [
    {
      name: "forecast",
      _meta: { ui: { resourceUri: "ui://weather/forecast" } },
      run: () => ({ content: [{ type: "text", text: "7 °C" }], structuredContent: { celsius: 7 } }),
    },
    { name: "refresh", _meta: { ui: { visibility: ["app"] } }, run: () => "8 °C" },
  ],
  resources: [{ uri: "ui://weather/forecast", mimeType: MIME_TYPE, read: () => PAGE }],
});
await using mcp = await createMcpTools({
  weather: { url: server.url, extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [MIME_TYPE] } } },
});
console.log(`1. tools for the model: ${mcp.tools.map(({ name }) => name).join()}`);

const llm = fakeModel() // or any chat model
  .respondWithTools([{ name: "weather__forecast", args: {} }])
  .respond(new AIMessage("It is 7 °C."));
const agent = createReactAgent({ llm, tools: mcp.tools });
const { messages } = await agent.invoke({ messages: [{ role: "user", content: "How warm is it?" }] });
const message = messages.find((item) => ToolMessage.isInstance(item));
const artifact = message?.artifact as ToolArtifact;
console.log(`2. the model sees: ${message?.text}; the artifact has: ${JSON.stringify(artifact.ui)}`);

const [page] = await mcp.clients.weather.readResource(String(artifact.ui?.["resourceUri"]));
if (page?.text === undefined || page.mimeType !== MIME_TYPE) throw new Error("The tool has no page.");
const html = page.text;
// The server wrote the page: it gets no network (add the domains of page.meta.ui.csp) and, in its sandbox, no origin.
const CSP =
  "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";
const result = { content: artifact.content, structuredContent: artifact.structuredContent };
const notification = { jsonrpc: "2.0", method: "ui/notifications/tool-result", params: result };
const HOST = `<!doctype html><iframe sandbox="allow-scripts" src="/page"></iframe><script>
  const frame = document.querySelector("iframe");
  frame.onload = () => frame.contentWindow.postMessage(${JSON.stringify(notification).replaceAll("<", "\\u003c")}, "*");
</script>`;
const host = createServer(({ url }, response) => {
  const isPage = url === "/page";
  response.setHeader("content-type", "text/html; charset=utf-8");
  if (isPage) response.setHeader("content-security-policy", CSP);
  response.end(isPage ? html : HOST);
});
await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`; // open it in a browser
const shown = await fetch(`${origin}/page`);
console.log(
  `3. the host serves: ${(await shown.text()).split("<p")[0]}, ${shown.headers.get("content-type")}`,
);
const wrapper = await (await fetch(origin)).text();
console.log(`4. and sends it: ${/\{"jsonrpc.*\}\}(?=, "\*")/.exec(wrapper)?.[0]}`);
host.close();
host.closeAllConnections();
