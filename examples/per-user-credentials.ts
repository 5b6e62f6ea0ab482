// A web application in which every user calls the server with a token of their own. One toolset serves all users: the
// run config says who calls, the token is added to the request, and users never share a session.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { createAgent } from "langchain";
import { type CallContext, createMcpTools } from "langchain-mcp-runtime";
import { startMcpTestServer } from "langchain-mcp-runtime/testing";

await using mail = await startMcpTestServer({
  tools: [{ name: "unread", run: (_, { headers }) => `7 messages, ${String(headers["authorization"])}` }],
});

// In an application: a token store or an identity provider. The token of `app` lists the tools at the start.
const tokens = new Map(Object.entries({ app: "token-app", alice: "token-a", bob: "token-b" }));
const getUser = ({ purpose, configurable }: CallContext) =>
  String(configurable["user"] ?? (purpose === "discovery" ? "app" : ""));

await using mcp = await createMcpTools({
  mail: {
    url: mail.url,
    identity: getUser,
    headers: (context) => ({ authorization: `Bearer ${tokens.get(getUser(context))}` }),
  },
});

// The signature of a request handler, also of Express: app.post("/ask", ask).
async function ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const user = String(request.headers["x-user"]); // in an application: from the login
  if (user === "app" || !tokens.has(user)) {
    response.writeHead(401).end("Log in first.");
    return;
  }
  const model = fakeModel() // a scripted model
    .respondWithTools([{ name: "mail__unread", args: {} }])
    .respond(new AIMessage("You have seven unread messages."));
  const agent = createAgent({ model, tools: mcp.tools });
  const { messages } = await agent.invoke({ messages: "Do I have mail?" }, { configurable: { user } });
  const [result, answer] = messages.slice(-2);
  response.end(`${result?.text}\n${answer?.text}`);
}

const app = createServer((request, response) => {
  ask(request, response).catch(() => response.writeHead(500).end("The request failed."));
});
await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/ask`;
const post = async (user: string) => {
  const response = await fetch(url, { method: "POST", headers: { "x-user": user } });
  return `${user}: ${response.status} ${await response.text()}`;
};
const responses = await Promise.all([post("alice"), post("bob"), post("mallory")]);
console.log(responses.join("\n"));
console.log(`sessions: ${mail.openSessions.length} (of the application, alice and bob)`);

// On SIGTERM: no new requests, then the sessions are closed (here by `await using`).
app.close();
app.closeAllConnections();
