import type { Attributes } from "@opentelemetry/api";
import type { RequestEnded } from "../../client/request-events.js";
import type { ServerEndpoint } from "../../config/server-endpoint.js";

type Transport = ServerEndpoint["transport"];

const NETWORK: Partial<Record<Transport, Attributes>> = {
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
  sse: { "network.transport": "tcp", "network.protocol.name": "http" },
  lambda: { "network.transport": "tcp", "network.protocol.name": "http" },
  websocket: { "network.transport": "tcp", "network.protocol.name": "websocket" },
  stdio: { "network.transport": "pipe" },
};

type Subject = Pick<RequestEnded, "server" | "method"> & Partial<Pick<RequestEnded, "tool" | "prompt">>;

/** Attributes by the names of the semantic conventions for MCP; `langchain_mcp.*` are our own. */
export function attributesOfRequest({ server, method, tool, prompt }: Subject): Attributes {
  return withoutUnknown({
    "mcp.method.name": method,
    "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.prompt.name": prompt,
    "langchain_mcp.server": server,
  });
}

/** Where it went, and over what. */
export function attributesOfWay({
  endpoint: { transport, host, port },
  protocolVersion,
}: Pick<RequestEnded, "endpoint" | "protocolVersion">) {
  return withoutUnknown({
    "mcp.protocol.version": protocolVersion,
    ...NETWORK[transport],
    "server.address": host,
    "server.port": port,
  });
}

/** `error.type` as the conventions have it; our own word for every failure beside it. */
export function attributesOfFailure({
  kind,
  error,
}: Pick<RequestEnded, "kind"> & Partial<Pick<RequestEnded, "error">>) {
  if (kind === undefined) return {};
  const code = error?.code === undefined ? undefined : String(error.code);
  return withoutUnknown({
    "error.type": kind === "tool-error" ? "tool_error" : (code ?? kind),
    "rpc.response.status_code": code,
    "langchain_mcp.failure.kind": kind,
  });
}

export function withoutUnknown(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
