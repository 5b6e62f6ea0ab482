import { createHash } from "node:crypto";
import type { Attributes } from "@opentelemetry/api";
import type { RequestEnded } from "../../client/client-events.js";
import type { ServerEndpoint } from "../../config/server-config.js";
import type { CallerContext } from "../../client/call-options.js";
import { RPC_CODES } from "../../errors/rpc-codes.js";
import { takeStart } from "../../errors/sanitize-text.js";
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

/** Stands for all values beyond a limit, as in the semantic conventions. */
const OTHER = "_OTHER";
const STANDARD_CODES: ReadonlySet<number> = new Set(Object.values(RPC_CODES));
/** Limits the label sets of metrics: a server or a model can invent any number of names. */
const MAX_NAMES = 100;
const MAX_NAME_LENGTH = 256;
/** The limit for the ids of a run, which a model or an application chooses. */
const MAX_ID_LENGTH = 1_024;

/** Replaces what a server or a model chooses and what has too many values for a metric. */
export class MetricLabels {
  /** The recorded names of tools and prompts, by server. */
  readonly #names = new Map<string, Set<string>>();

  /** The first names of a server are kept. */
  limitNames({ server, method, tool, prompt }: RequestIdentity): RequestIdentity {
    return { server, method, tool: this.#limit(server, tool), prompt: this.#limit(server, prompt) };
  }

  #limit(server: string, name: string | undefined): string | undefined {
    if (name === undefined) return undefined;
    const names = this.#names.get(server) ?? new Set();
    this.#names.set(server, names);
    if (names.has(name)) return name;
    if (names.size >= MAX_NAMES || name.length > MAX_NAME_LENGTH) return OTHER;
    names.add(name);
    return name;
  }
}

/** The attributes of an outcome for metrics: of the error codes only those of JSON-RPC and MCP. */
export function outcomeLabels(outcome: OperationOutcome): Attributes {
  const attributes = outcomeAttributes(outcome);
  const code = outcome.error?.code;
  if (code === undefined || STANDARD_CODES.has(code)) return attributes;
  const type = outcome.kind === "tool-error" ? {} : omitUndefined({ "error.type": outcome.kind });
  return { ...attributes, ...type, "rpc.response.status_code": OTHER };
}

/** The id of a session may give access to it, so only a hash is recorded. */
export function sessionAttributes(sessionId: string | undefined): Attributes {
  if (sessionId === undefined) return {};
  return { "mcp.session.id": createHash("sha256").update(sessionId).digest("hex").slice(0, 32) };
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
  return typeof value === "string" && value !== "" ? takeStart(value, MAX_ID_LENGTH) : undefined;
}
