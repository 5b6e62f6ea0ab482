import { z } from "zod";
import type { JsonObject } from "../json/json.js";
import { McpRuntimeError } from "../errors/mcp-runtime-error.js";
import { quoteServer } from "../errors/sanitize-text.js";
import { malformedAnswer } from "../transports/json-rpc.js";
import { META_KEYS, MODERN_VERSION } from "../transports/http/modern-era.js";
import { DISCOVER_METHOD } from "./era-detection.js";
import type { ErrorContext } from "./rpc-failure.js";
import type { ServerMetadata } from "./session.js";

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
export function toServerFacts(result: JsonObject, context: ErrorContext): ServerMetadata {
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
