import type { ClientCapabilities } from "@modelcontextprotocol/sdk/types.js";
import type { ServerRequestHandlers } from "../definitions/server-requests.js";

/** What a server is told that it may ask for: exactly what has a handler. */
export function toCapabilities(handlers: ServerRequestHandlers): ClientCapabilities {
  const { roots, sample, elicitForm, elicitUrl } = handlers;
  const elicitation = {
    ...(elicitForm === undefined ? {} : { form: {} }),
    ...(elicitUrl === undefined ? {} : { url: {} }),
  };
  return {
    ...(roots === undefined ? {} : { roots: {} }),
    ...(sample === undefined ? {} : { sampling: {} }),
    ...(Object.keys(elicitation).length === 0 ? {} : { elicitation }),
  };
}
