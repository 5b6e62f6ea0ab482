import type { ServerRequestHandlers } from "../config/server-request-handlers.js";

type Yes = Record<string, never>;

/** As the protocol writes them; both lines of the SDK take them. */
type ClientCapabilities = {
  readonly roots?: Yes;
  readonly sampling?: Yes;
  readonly elicitation?: { readonly form?: Yes; readonly url?: Yes };
};

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
