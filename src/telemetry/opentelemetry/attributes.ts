import type { Attributes } from "@opentelemetry/api";
import type { RequestEnded } from "../../client/client-events.js";
import type { ServerEndpoint } from "../../config/server-config.js";
import type { CallerContext } from "../../client/call-options.js";
import { isPlainObject, omitUndefined } from "../../json/json.js";

type Transport = ServerEndpoint["transport"];

const NETWORK: Partial<Record<Transport, Attributes>> = {
  http: { "network.transport": "tcp", "network.protocol.name": "http" },
  sse: { "network.transport": "tcp", "network.protocol.name": "http" },
  lambda: { "network.transport": "tcp", "network.protocol.name": "http" },
  websocket: { "network.transport": "tcp", "network.protocol.name": "websocket" },
  stdio: { "network.transport": "pipe" },
};

type RequestIdentity = Pick<RequestEnded, "server" | "method"> &
  Partial<Pick<RequestEnded, "tool" | "prompt">>;

/** Follows the semantic conventions for MCP; `langchain_mcp.*` attributes are specific to this package. */
export function requestAttributes({ server, method, tool, prompt }: RequestIdentity): Attributes {
  return omitUndefined({
    "mcp.method.name": method,
    "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
    "gen_ai.tool.name": tool,
    "gen_ai.prompt.name": prompt,
    "langchain_mcp.server": server,
  });
}

type OperationOutcome = Pick<RequestEnded, "endpoint" | "protocolVersion" | "kind"> &
  Partial<Pick<RequestEnded, "error">>;

/**
 * The transport and the failure of an ended request, handshake or session: `error.type` as the conventions
 * require, and the failure kind of this package.
 */
export function outcomeAttributes({ endpoint, protocolVersion, kind, error }: OperationOutcome): Attributes {
  const { transport, host, port } = endpoint;
  const code = error?.code === undefined ? undefined : String(error.code);
  const failure = {
    "error.type": kind === "tool-error" ? "tool_error" : (code ?? kind),
    "rpc.response.status_code": code,
    "langchain_mcp.failure.kind": kind,
  };
  return omitUndefined({
    "mcp.protocol.version": protocolVersion,
    ...NETWORK[transport],
    "server.address": host,
    "server.port": port,
    ...(kind === undefined ? {} : failure),
  });
}

/**
 * Links a span to its LangChain run. A run is not an OpenTelemetry span, so tools such as LangSmith find the
 * call by these attributes.
 */
export function runAttributes(context: CallerContext | undefined): Attributes {
  const { config = {}, configurable = {}, runId } = context ?? {};
  const { toolCall } = config;
  return omitUndefined({
    "langchain.run_id": runId,
    "gen_ai.tool.call.id": nonEmptyString(isPlainObject(toolCall) ? toolCall["id"] : undefined),
    "gen_ai.conversation.id": nonEmptyString(configurable["thread_id"]),
  });
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
