import { z } from "zod";
import { CLIENT_INFO } from "../definitions/client-info.js";
import type { JsonObject } from "../definitions/json.js";
import type { ServerRequestHandlers } from "../definitions/server-requests.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/server-text.js";
import { CALLER_STATUSES } from "../transports/caller-statuses.js";
import { malformedAnswer } from "../transports/json-rpc.js";
import { META_KEYS, MODERN_VERSION } from "../transports/request-envelope.js";
import { toCapabilities } from "./client-capabilities.js";
import type { ErrorContext } from "./rpc-failure.js";
import type { ServerFacts } from "./session.js";

/** Asks a server what it is: the revision without sessions has this in place of a handshake. */
export const DISCOVER_METHOD = "server/discover";

/** What every request of that revision says of itself. */
export function toEnvelope(handlers: ServerRequestHandlers): JsonObject {
  return {
    [META_KEYS.protocolVersion]: MODERN_VERSION,
    [META_KEYS.clientInfo]: CLIENT_INFO,
    [META_KEYS.clientCapabilities]: toCapabilities(handlers),
  };
}

const SERVER_INFO = z.object({ name: z.string(), version: z.string(), title: z.string().optional() });

const DISCOVERED = z.object({
  supportedVersions: z.array(z.string()),
  capabilities: z.record(z.string(), z.unknown()),
  instructions: z.string().optional().catch(undefined),
  _meta: z
    .object({ [META_KEYS.serverInfo]: SERVER_INFO.optional().catch(undefined) })
    .optional()
    .catch(undefined),
});

/** What a server says of itself. Throws where it speaks no revision without sessions that we speak. */
export function toFacts(result: JsonObject, context: ErrorContext): ServerFacts {
  const parsed = DISCOVERED.safeParse(result);
  if (!parsed.success) throw malformedAnswer(context, `it answers ${DISCOVER_METHOD} with something else`);
  const { supportedVersions, capabilities, instructions, _meta } = parsed.data;
  if (!supportedVersions.includes(MODERN_VERSION)) throw speaksOthers(supportedVersions, context);
  return {
    serverInfo: _meta?.[META_KEYS.serverInfo],
    capabilities,
    instructions,
    protocolVersion: MODERN_VERSION,
  };
}

function speaksOthers(versions: readonly string[], { server, redactor }: ErrorContext): McpRuntimeError {
  const said = quoteServer(redactor.text(versions.join(", ")));
  const text = `Server "${server}" speaks MCP ${said === "" ? "of no version" : said}; this client speaks ${MODERN_VERSION} and those before it.`;
  return new McpRuntimeError("unsupported-protocol", text, { server });
}

/** Whether a server has refused because it does not speak the revision, rather than for who asks, or when. */
export function refusesModern(failure: unknown): failure is McpRuntimeError {
  if (!(failure instanceof McpRuntimeError)) return false;
  const { kind, status, code } = failure;
  if (kind === "unsupported-protocol" || kind === "malformed") return true;
  if (status === undefined) return code !== undefined;
  return status >= 400 && status < 500 && !CALLER_STATUSES.has(status);
}
