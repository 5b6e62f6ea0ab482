import { redactUrl } from "../errors/redaction.js";
import { isAuthGrant, type ParsedGrant } from "./auth-grant.js";
import type { JsonObject } from "../json/json.js";
import { parseServer } from "./parse-server.js";
import type { ServerDefinition } from "./server-definition.js";

/**
 * Where a server is, as it was written and without anything secret: what tells two servers of one
 * name apart, and stays the same when a token changes.
 */
export function publicAddress(name: string, definition: ServerDefinition): JsonObject {
  const { address } = parseServer(name, definition);
  const { kind } = address;
  switch (kind) {
    case "http":
    case "sse":
    case "websocket":
      return {
        kind,
        url: redactUrl(address.url),
        headers: Object.keys(address.headers).toSorted(),
        ...(isAuthGrant(address.auth) ? { auth: publicGrant(address.auth) } : {}),
      };
    case "stdio": {
      const { command, args, cwd, env } = address;
      return { kind, command, args, cwd, env: Object.keys(env).toSorted() };
    }
    case "lambda": {
      const { functionName, qualifier, region, endpoint } = address;
      return { kind, functionName, qualifier, region, endpoint: redactUrl(endpoint ?? "") };
    }
    case "custom":
    case "in-process":
    case "dynamic":
      return { kind };
  }
}

/** As whom, and where: a token that is got so may show other things than another. */
function publicGrant({ grant, issuer, clientId, scope }: ParsedGrant): JsonObject {
  return { grant, issuer: redactUrl(issuer), clientId, scope };
}
