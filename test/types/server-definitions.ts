// Type tests, compiled but never run: which server definitions are valid.
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Agent, fetch as undiciFetch, MockAgent, ProxyAgent } from "undici";
import {
  type AgentToolsOptions,
  createMcpTools,
  McpClient,
  type ServerDefinition,
} from "langchain-mcp-runtime";
import { McpServerManager } from "langchain-mcp-runtime/manager";
import { uipathServers } from "langchain-mcp-runtime/uipath";

declare const sdkProvider: OAuthClientProvider;

export const valid: ServerDefinition[] = [
  { url: "http://localhost/mcp", auth: sdkProvider },
  {
    url: "http://localhost/mcp",
    auth: {
      grant: "jwt-bearer",
      issuer: "https://localhost",
      assertion: async ({ signal }) => `${signal.aborted}`,
    },
  },
  {
    url: "http://localhost/mcp",
    identity: ({ configurable }) => String(configurable["user"]),
    headers: async ({ purpose }) => ({ "x-purpose": purpose }),
    auth: async ({ tool }) => `token-for-${tool ?? "discovery"}`,
  },
  { url: "https://localhost/mcp", tls: { ca: ["-----BEGIN …", Buffer.from("…")], cert: "…", key: "…" } },
  { url: "wss://localhost/mcp", tls: { cert: "…", key: "…", certOrigins: ["https://login.example"] } },
  { url: "https://localhost/mcp", dispatcher: new Agent() },
  { url: "https://localhost/mcp", dispatcher: new ProxyAgent("http://localhost") },
  { url: "https://localhost/mcp", dispatcher: new MockAgent() },
  { url: "https://localhost/mcp", fetch },
  { url: "https://localhost/mcp", fetch: undiciFetch },
  {
    type: "sse",
    url: "https://localhost/mcp",
    fetch: (url, request) => fetch(url, { ...request, keepalive: true }),
  },
  { resolve: async ({ signal }) => ({ url: await (await fetch("http://localhost", { signal })).text() }) },
  { url: "http://localhost/mcp" },
  { url: new URL("http://localhost/mcp"), headers: { a: "b" }, retry: false, circuitBreaker: false },
  { type: "streamable-http", url: "http://localhost/mcp" },
  { transport: "sse", url: "http://localhost/sse" },
  { url: "ws://localhost" },
  { command: "npx", args: ["-y", "server"], env: { KEY: "value" } },
  { functionName: "tools", region: "eu-north-1" },
  { server: new McpServer({ name: "s", version: "1" }) },
  { server: () => new McpServer({ name: "s", version: "1" }) },
  { openTransport: () => new StreamableHTTPClientTransport(new URL("http://localhost/mcp")) },
  { url: "http://localhost/mcp", roots: [{ uri: "file:///work" }] },
  { url: "http://localhost/mcp", roots: async ({ identity }) => [{ uri: new URL(`file:///${identity}`) }] },
  { command: "npx", onSamplingRequest: ({ messages }) => ({ model: "m", content: messages[0]?.role ?? "" }) },
  { command: "npx", onElicitationRequest: ({ mode }) => ({ action: mode === "url" ? "decline" : "cancel" }) },
  {
    command: "npx",
    onElicitationRequest: { url: ({ url }) => ({ action: url === "" ? "cancel" : "accept" }) },
  },
];

export const invalid: ServerDefinition[] = [
  // @ts-expect-error an identity is a string and synchronous
  { url: "http://localhost/mcp", identity: async () => "alice" },
  // @ts-expect-error auth is for HTTP
  { command: "npx", auth: () => "token" },
  // @ts-expect-error issuer is missing
  { url: "http://localhost/mcp", auth: { grant: "jwt-bearer", assertion: "a.b.c" } },
  // @ts-expect-error two transports
  { url: "http://localhost/mcp", command: "npx" },
  // @ts-expect-error headers are for HTTP
  { command: "npx", headers: { a: "b" } },
  // @ts-expect-error tls is for HTTP
  { command: "npx", tls: { ca: "…" } },
  // @ts-expect-error not a dispatcher
  { url: "http://localhost/mcp", dispatcher: {} },
  // @ts-expect-error fetch must return a response
  { url: "http://localhost/mcp", fetch: async () => "text" },
  // @ts-expect-error unknown type
  { type: "carrier-pigeon", url: "http://localhost/mcp" },
  // @ts-expect-error command is missing
  { type: "stdio", args: [] },
  // @ts-expect-error unknown option
  { url: "http://localhost/mcp", timeout: 5 },
  // @ts-expect-error a sampling result needs the model's name
  { url: "http://localhost/mcp", onSamplingRequest: () => ({ content: "text" }) },
  // @ts-expect-error unknown action
  { url: "http://localhost/mcp", onElicitationRequest: { url: () => ({ action: "maybe" }) } },
  // @ts-expect-error a header value is a string
  { url: "http://localhost/mcp", headers: { a: 1 } },
];

// One line each: TypeScript 5.9 reports the error at the server, TypeScript 7 at the key itself.
export const unknownKeys = [
  // @ts-expect-error unknown option
  createMcpTools({ weather: { url: "http://localhost/mcp", timeout: 5 } }),
  // @ts-expect-error headers are for HTTP
  createMcpTools({ files: { command: "npx", headers: { a: "b" } } }),
  // @ts-expect-error unknown option
  createMcpTools({ mcpServers: { weather: { url: "http://localhost/mcp", timeout: 5 } } }),
  // @ts-expect-error unknown option
  new McpServerManager({ weather: { url: "http://localhost/mcp", timeout: 5 } }),
];

// @ts-expect-error name is missing
export const unnamed = new McpClient({ url: "http://localhost/mcp" });
export const named = new McpClient({ name: "a", url: "http://localhost/mcp" });
// @ts-expect-error unknown event
named.on("toolChanged", () => undefined);

export const onUipath: AgentToolsOptions = {
  servers: uipathServers({ url: "https://localhost/a/b", token: "t" }),
};
